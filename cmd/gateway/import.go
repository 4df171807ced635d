package main

import (
	"errors"
	"fmt"

	"gateway/ingest"
)

type importCommand struct {
	storeFlags `embed:""`

	BaseURL    string   `name:"base-url" placeholder:"URL" help:"URL under which the public reaches the gateway, for a store that has none yet."`
	Set        string   `placeholder:"NAME" xor:"set" help:"Set that takes the records; it is made if it is not there."`
	SetFrom    string   `placeholder:"FIELD" xor:"set" help:"Take the set's name from this field of each line: an extra one, or collections, of which the first counts."`
	Files      string   `placeholder:"DIR" help:"Directory below which content_file is looked up. Without it content_file is refused."`
	Complete   bool     `help:"The input is everything there is: delete records of the set that it lacks. Nothing is deleted after a rejected line."`
	MaxDeletes string   `placeholder:"N" help:"How many records of a set --complete may delete before it deletes none: a number, or all (default: a tenth of the set, at least 10)."`
	File       []string `arg:"" placeholder:"FILE" help:"JSON Lines: plain, gzip or zstd; - is standard input."`
}

// Help is shown by import --help.
func (*importCommand) Help() string {
	return `Loads records, one JSON object per line, into a set, beside a running serve or without one. A line replaces the record's whole state; what equals the state already there writes nothing, so an import that was interrupted is simply run again.

A wrong line is reported as FILE:LINE: field: reason, the rest is loaded, and the exit status is 1. The last line on standard output counts what was done: created=… updated=… deleted=… unchanged=… rejected=….

Examples:

    gateway import --set theses theses.jsonl.gz
    gateway import --set theses --files scans/ theses.jsonl
    gateway import --set theses --complete --max-deletes 50 everything.jsonl.zst
    xz -dc dump.jsonl.xz | gateway import --set-from repository -`
}

func (i *importCommand) Run(c *call) error {
	if i.Set == "" && i.SetFrom == "" {
		return usagef("name the set that takes the records, with --set NAME or --set-from FIELD")
	}
	if i.MaxDeletes != "" && !i.Complete {
		return usagef("--max-deletes is about --complete, which is not given")
	}
	inputs, err := ingest.Files(i.File, c.con.in)
	if err != nil {
		return usageError{err}
	}
	bar := newProgress(c.con.err)
	report := &findings{to: c.con.err, above: bar}
	st := newStore()
	into := newLoader(st)
	// It checks the flags, so it comes before anything is made.
	importer, err := ingest.New(into, st.objects, ingest.Config{
		Set: i.Set, SetFrom: i.SetFrom, Files: i.Files, Complete: i.Complete, MaxDeletes: i.MaxDeletes,
		Rejected: report.rejected, Warned: report.warned, Committed: into.committed, Progress: bar.show,
	})
	if err != nil {
		return usageError{err}
	}
	if err := st.open(c, &i.storeFlags, true); err != nil {
		return err
	}
	defer st.Close()
	base, err := st.settleBaseURL(c.ctx, i.BaseURL, "http://"+defaultListen, false)
	if err != nil {
		return err
	}
	result, err := importer.Run(c.ctx, inputs)
	bar.done()
	report.done()
	// What was committed is there, whatever ended the import.
	err = errors.Join(err, into.publish(c.ctx))
	fmt.Fprintf(c.con.out, "created=%d updated=%d deleted=%d unchanged=%d rejected=%d\n",
		result.Created, result.Updated, result.Deleted, result.Unchanged, result.Rejected)
	fmt.Fprintln(c.con.err, st.name)
	into.showSets(c.con.err, base)
	switch {
	case c.ctx.Err() != nil:
		return errors.New("interrupted; what is counted above is in the store, and the same import again does the rest")
	case err == nil && result.Rejected > 0:
		return errReported
	}
	return err
}
