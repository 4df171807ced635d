package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"gateway/ingest"
	"gateway/model"
)

// sampleFiles are loaded one after the other, in the order of their names.
//
//go:embed sample/*.jsonl
var sampleFiles embed.FS

// sampleSet is the set of the imaginary archive in sampleFiles. Its segments are
// small, so that it has every document there is: archives, closed Change Lists,
// an open one, and a Resource List older than the last change.
func sampleSet() model.Set {
	policy := model.DefaultPolicy()
	policy.SegmentSize = 5
	return model.Set{
		Name:        "river-survey",
		Title:       "The Ellin Water Survey, 1908–1911",
		Description: "Field sheets, readings, drawings and letters of an imaginary survey of an imaginary river.",
		Author:      model.Author{Name: "The Ellin Water Archive"},
		Policy:      policy,
	}
}

// loadSample makes and fills the sample set unless it has records, whatever
// became of them.
func loadSample(c *call, st *opened) error {
	set := sampleSet()
	if _, err := st.CreateSet(c.ctx, set); err != nil && !errors.Is(err, model.ErrExists) {
		return err
	}
	v, err := st.View(c.ctx, set.Name, "")
	if err != nil || v.Head.Position > 0 {
		return err
	}
	files, err := fs.Glob(sampleFiles, "sample/*.jsonl")
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := loadSampleFile(c, st, set.Name, name); err != nil {
			return err
		}
	}
	return nil
}

func loadSampleFile(c *call, st *opened, set, name string) error {
	b, err := sampleFiles.ReadFile(name)
	if err != nil {
		return err
	}
	var wrong error
	into := newLoader(st)
	importer, err := ingest.New(into, st.objects, ingest.Config{
		Set: set, Committed: into.committed,
		Rejected: func(f ingest.Finding) { wrong = errors.Join(wrong, fmt.Errorf("%s", f)) },
	})
	if err != nil {
		return err
	}
	if _, err := importer.Run(c.ctx, []ingest.Input{ingest.Reader(name, bytes.NewReader(b))}); err != nil {
		return err
	}
	return errors.Join(wrong, into.publish(c.ctx))
}
