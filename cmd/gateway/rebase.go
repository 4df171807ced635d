package main

import (
	"fmt"

	"gateway/publish"
)

type rebaseCommand struct {
	storeFlags `embed:""`

	URL string `arg:"" placeholder:"URL" help:"The new base URL; it may have a path."`
}

// Help is shown by rebase --help.
func (*rebaseCommand) Help() string {
	return `Moves everything the store publishes to another base URL. Records keep their identifiers, positions and times; every set begins a new epoch, and the URLs of the old one answer 410. Until a set is published anew, which this command does, its moving documents answer 503.

A serve that is running on the same store follows by itself.

Example:

    gateway rebase https://sync.example.org/repository`
}

func (r *rebaseCommand) Run(c *call) error {
	url, err := parseBaseURL(r.URL)
	if err != nil {
		return usageError{err}
	}
	st, err := r.open(c, false)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := st.move(c.ctx, url, true); err != nil {
		return fmt.Errorf("rebase %s to %s: %w", st.name, url, err)
	}
	sets := 0
	for v, err := range st.sets(c.ctx) {
		if err != nil {
			return err
		}
		if err := st.publisher.Publish(c.ctx, v.Set.ID, publish.Due); err != nil {
			return fmt.Errorf("%s is at %s now; run it again to publish the rest: %w", st.name, url, err)
		}
		sets++
	}
	fmt.Fprintf(c.con.err, "%s\n%s\n", st.name, url)
	_, err = fmt.Fprintf(c.con.out, "sets=%d\n", sets)
	return err
}
