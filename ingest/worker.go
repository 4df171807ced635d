package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"gateway/model"
)

// result is what became of one line.
type result struct {
	line     int64
	set      *target
	incoming model.Incoming
	weight   int // bytes it takes, roughly: kept content and metadata
	// err, when not nil, ends the import, unless it is a [*model.FieldError]:
	// that rejects the line.
	err      error
	warnings []model.FieldError
}

// worker turns lines into what a commit takes. It serves one goroutine.
type worker struct {
	im      *Importer
	targets *targets
	root    *os.Root // of content files; nil: there are none
	decoder *decoder
	deflate *deflater
	content []byte // of the resource being worked on
	decoded []byte
}

// chunk works on the lines of c.
func (w *worker) chunk(ctx context.Context, c *chunk) {
	defer close(c.out)
	defer c.release()
	var results []result
	weight := 0
	handOn := func() bool {
		if len(results) == 0 {
			return true
		}
		select {
		case c.out <- results:
			results, weight = nil, 0
			return true
		case <-ctx.Done():
			return false
		}
	}
	if c.tooLong > 0 {
		results = append(results, result{line: c.line, err: w.tooLong(c.tooLong)})
	}
	number := c.line
	for rest := c.data; len(rest) > 0; number++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if line = bytes.Trim(line, " \t\r"); len(line) == 0 {
			continue
		}
		r := w.line(ctx, number, line)
		results = append(results, r)
		if weight += r.weight; weight >= resultBytes && !handOn() {
			return
		}
	}
	handOn()
}

func (w *worker) tooLong(length int64) error {
	return &model.FieldError{Reason: fmt.Sprintf("the line has %d bytes; at most %d", length, w.im.config.MaxLine)}
}

func (w *worker) line(ctx context.Context, number int64, line []byte) result {
	r := result{line: number}
	if len(line) > w.im.config.MaxLine {
		r.err = w.tooLong(int64(len(line)))
		return r
	}
	in, err := w.decoder.decode(line)
	if err == nil {
		err = w.record(ctx, in, &r)
	}
	if err != nil {
		w.im.discard(ctx, r.incoming.Bodies)
		r.incoming, r.err = model.Incoming{}, err
		if ctx.Err() != nil {
			r.err = ctx.Err() // no fault of the line
		}
	}
	return r
}

// record checks the record and makes it what a commit takes.
func (w *worker) record(ctx context.Context, in *input, r *result) error {
	warn := func(field, reason string) {
		r.warnings = append(r.warnings, model.FieldError{Field: field, Reason: reason})
	}
	if err := in.check(w.im.config.SetFrom, warn); err != nil {
		return err
	}
	name, err := w.setOf(in)
	if err != nil {
		return err
	}
	if r.set, err = w.targets.open(ctx, name); err != nil {
		return err
	}
	r.incoming.Record = in.Record
	r.incoming.Bodies = make([]model.Body, len(in.Resources))
	room := w.im.inline
	for i := range in.Resources {
		x, body := &in.Resources[i], &r.incoming.Bodies[i]
		var err error
		if x.External() {
			err = external(x, &in.sources[i], r.set.policy.External)
		} else {
			err = w.host(ctx, r.set.id, x, &in.sources[i], body, room, func(field, reason string) { warn(in.resourceField(i)+"."+field, reason) })
		}
		if err != nil {
			return within(in.resourceField(i), err)
		}
		room -= len(body.Bytes)
	}
	r.weight = weigh(&r.incoming)
	return nil
}

// setOf is the name of the set that the record goes to.
func (w *worker) setOf(in *input) (string, error) {
	from := w.im.config.SetFrom
	if from == "" {
		return w.im.config.Set, nil
	}
	if in.set == "" {
		return "", &model.FieldError{Field: from, Reason: "is missing; it names the set"}
	}
	if !model.ValidSetName(in.set) {
		return "", &model.FieldError{Field: from, Reason: fmt.Sprintf("%s is not a set's name; want 1 to 64 of a-z 0-9 - _", shorten(in.set))}
	}
	return in.set, nil
}

// external notes what an external resource declares, as the policy allows.
func external(x *model.Resource, src *source, policy string) error {
	if policy == model.ExternalReject {
		return &model.FieldError{Field: "href", Reason: "the set takes hosted content only (its policy external is reject)"}
	}
	x.Content.Length = src.declared.length
	copy(x.Content.MD5[:], src.declared.md5)
	copy(x.Content.SHA256[:], src.declared.sha256)
	return nil
}

// weigh is about what r takes in memory and in a transaction.
func weigh(r *model.Incoming) int {
	const perRecord, perPart = 256, 128
	n := perRecord + len(r.Record.Identifier) + len(r.Record.Title) + len(r.Record.Summary)
	for _, c := range r.Record.Collections {
		n += len(c) + perPart
	}
	for i := range r.Record.Links {
		l := &r.Record.Links[i]
		n += perPart + len(l.Rel) + len(l.Href) + len(l.Type) + len(l.Title)
	}
	for i := range r.Record.Resources {
		x := &r.Record.Resources[i]
		n += perPart + len(x.Name) + len(x.Type) + len(x.Profile) + len(x.Href) + len(r.Bodies[i].Bytes)
	}
	return n
}

// discard removes the objects among bodies that no commit refers to. What it
// fails to remove, or a crash leaves, is collected when its reservation ends.
func (im *Importer) discard(ctx context.Context, bodies []model.Body) {
	for i := range bodies {
		if key := bodies[i].Object; key != "" {
			_ = im.objects.Delete(context.WithoutCancel(ctx), key)
		}
	}
}

// failed tells whether err is a failure of ours, not a mistake in a line.
func failed(err error) bool {
	_, mistake := errors.AsType[*model.FieldError](err)
	return err != nil && !mistake
}
