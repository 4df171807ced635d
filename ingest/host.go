package ingest

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"gateway/model"
)

// host takes in the content of a resource: it describes it in x, and keeps it in
// body, or in an object when it is large or would not fit into room.
func (w *worker) host(ctx context.Context, set model.SetID, x *model.Resource, src *source, body *model.Body, room int, warn func(field, reason string)) error {
	from, err := w.open(src)
	if err != nil {
		return err
	}
	defer from.close()
	isAtom := x.Role == model.Representation && strings.EqualFold(model.BaseType(x.Type), atomType)
	if from.size > int64(w.im.inline) {
		if isAtom {
			if err := w.refuseEntry(src.field, from); err != nil {
				return err
			}
		}
		return w.hostLarge(ctx, set, x, src, from, body)
	}

	b, err := w.read(src, from)
	if err != nil {
		return err
	}
	if isAtom {
		if b, err = w.entry(b, src, warn); err != nil {
			return err
		}
	}
	var kept []byte
	x.Content, kept = w.deflate.keep(b)
	if !isAtom {
		if err := src.declared.verify(&x.Content, func() []byte { sum := sha1.Sum(b); return sum[:] }); err != nil {
			return err
		}
	}
	if len(kept) <= room {
		body.Bytes = kept
		return nil
	}
	body.Object, _, err = w.im.place(ctx, set, bytes.NewReader(kept))
	return err
}

// entry makes the self links of an Atom entry via links. What was declared is
// held against the bytes before that.
func (w *worker) entry(b []byte, src *source, warn func(field, reason string)) ([]byte, error) {
	c := describe(b)
	if err := src.declared.verify(&c, func() []byte { sum := sha1.Sum(b); return sum[:] }); err != nil {
		return nil, err
	}
	changed, err := selfToVia(b)
	if errors.Is(err, errDocumentType) {
		return nil, &model.FieldError{Field: resourceFields[src.field], Reason: err.Error()}
	}
	if err != nil {
		warn(resourceFields[src.field], "is no well-formed XML and was left as it is: "+err.Error())
	}
	return changed, nil
}

// refuseEntry refuses an Atom entry that is too large to be searched for its
// links.
func (w *worker) refuseEntry(field int, from opened) error {
	r, err := from.start()
	if err != nil {
		return readError(field, err)
	}
	entry, err := isEntryDocument(r)
	if errors.Is(err, errDocumentType) {
		return &model.FieldError{Field: resourceFields[field], Reason: err.Error()}
	}
	if entry {
		return &model.FieldError{Field: resourceFields[field], Reason: fmt.Sprintf("is an Atom entry document of %d bytes; at most %d", from.size, w.im.inline)}
	}
	return nil
}

// read returns the whole of a small content, until the next call.
func (w *worker) read(src *source, from opened) ([]byte, error) {
	if src.field == fieldContentFile {
		r, err := from.start()
		if err == nil {
			buf := bytes.NewBuffer(w.content[:0])
			_, err = buf.ReadFrom(io.LimitReader(r, int64(w.im.inline)+1))
			w.content = buf.Bytes()
		}
		if err == nil && len(w.content) > w.im.inline {
			err = fmt.Errorf("%s grew while it was read", shorten(src.file))
		}
		if err != nil {
			return nil, readError(src.field, err)
		}
		return w.content, nil
	}
	b := src.text.raw
	if src.text.escaped {
		w.content, _ = unescape(w.content[:0], b, math.MaxInt)
		b = w.content
	}
	if src.field == fieldContent {
		return b, nil
	}
	var err error
	if w.decoded, err = base64.StdEncoding.AppendDecode(w.decoded[:0], b); err != nil {
		return nil, readError(src.field, err)
	}
	return w.decoded, nil
}

// hostLarge streams content into an object.
func (w *worker) hostLarge(ctx context.Context, set model.SetID, x *model.Resource, src *source, from opened, body *model.Body) error {
	r, err := from.start()
	if err != nil {
		return readError(src.field, err)
	}
	s, err := newStream(untilDone{ctx, r}, w.deflate, src.declared.sha1 != nil)
	if err != nil {
		return readError(src.field, err)
	}
	key, stored, err := w.im.place(ctx, set, s)
	if s.failed != nil {
		return readError(src.field, s.failed)
	}
	if err != nil {
		return err
	}
	body.Object = key
	x.Content = s.content(stored)
	return src.declared.verify(&x.Content, func() []byte { return s.sha1.Sum(nil) })
}
