package main

import (
	"errors"
	"fmt"

	"gateway/model"
	"gateway/publish"
	"gateway/resourcesync"
)

type snapshotCommand struct {
	storeFlags `embed:""`

	Name string `arg:"" help:"The set's name."`
}

// Help is shown by snapshot --help.
func (*snapshotCommand) Help() string {
	return `Publishes the set's state as a new Resource List without waiting until one is due. A set that has not changed since its last snapshot gets no new one.

Example:

    gateway snapshot theses`
}

func (s *snapshotCommand) Run(c *call) error {
	st, err := s.open(c, false)
	if err != nil {
		return err
	}
	defer st.Close()
	set, err := st.Set(c.ctx, s.Name)
	if errors.Is(err, model.ErrNotFound) {
		return usagef("there is no set %q", s.Name)
	}
	if err != nil {
		return err
	}
	if err := st.publisher.Publish(c.ctx, set.ID, publish.Snapshot); err != nil {
		return err
	}
	v, err := st.View(c.ctx, s.Name, "")
	if err != nil {
		return err
	}
	base, err := st.BaseURL(c.ctx)
	if err != nil {
		return err
	}
	n := v.Snapshot
	fmt.Fprintf(c.con.err, "snapshot %d of %s, of change %d: %s\n", n.Number, s.Name, n.Position, base+resourcesync.ResourceListPath(s.Name))
	_, err = fmt.Fprintf(c.con.out, "snapshot=%d position=%d resources=%d\n", n.Number, n.Position, n.Resources)
	return err
}
