package main

import (
	"fmt"
	"strings"

	"gateway/store"
)

type fsckCommand struct {
	storeFlags `embed:""`
}

// Help is shown by fsck --help.
func (*fsckCommand) Help() string {
	return `Reads the whole store and verifies it: positions without holes, rising times, segments, the digests of content and of stored documents, and that everything published is there. It changes nothing and may run beside serve and import.

Each damage is a line on standard output; with one or more, the exit status is 1.

Example:

    gateway fsck --data /srv/gateway`
}

func (f *fsckCommand) Run(c *call) error {
	st, err := f.open(c, false)
	if err != nil {
		return err
	}
	defer st.Close()
	damages := 0
	err = st.Check(c.ctx, func(p store.Problem) {
		damages++
		where := strings.Join(strings.Fields(p.Set+" "+p.Where), " ")
		fmt.Fprintf(c.con.out, "%s: %s\n", where, p.What)
	})
	if err != nil {
		return fmt.Errorf("check %s: %w", st.name, err)
	}
	fmt.Fprintf(c.con.out, "damages=%d\n", damages)
	fmt.Fprintln(c.con.err, st.name)
	if damages > 0 {
		return errReported
	}
	return nil
}
