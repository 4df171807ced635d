package resourcesync

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gateway/internal/httpx"
	"gateway/model"
)

// maxURI is the greatest length of a line of URIs. No resource has a longer one.
const maxURI = 4096

// readURIs reads up to most URIs: a JSON array of strings, or one URI a line
// (text/uri-list, RFC 2483 §5, where lines that begin with # are comments).
func readURIs(ctx context.Context, r io.Reader, most int) ([]string, error) {
	in := bufio.NewReaderSize(&bounded{ctx, r}, maxURI+2) // and the end of the line
	read := readLines
	if first, err := firstByte(in); err == nil && first == '[' {
		read = readArray
	}
	uris, err := read(in, most)
	switch {
	case err != nil:
		return nil, err
	case len(uris) == 0:
		return nil, &model.FieldError{Reason: fmt.Sprintf("the body names no resource; want 1 to %d URIs, as a JSON array or one a line", most)}
	}
	return uris, nil
}

// bounded ends with its context.
type bounded struct {
	ctx context.Context
	r   io.Reader
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}

// firstByte is the first byte that is no white space, which stays to be read.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, in.UnreadByte()
		}
	}
}

func tooMany(most int) error {
	return httpx.TooLarge(fmt.Sprintf("at most %d URIs are taken", most))
}

func readLines(in *bufio.Reader, most int) ([]string, error) {
	var uris []string
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, &model.FieldError{Field: fmt.Sprintf("line %d", number), Reason: fmt.Sprintf("is longer than %d bytes", maxURI)}
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			if len(uris) == most {
				return nil, tooMany(most)
			}
			uris = append(uris, string(line))
		}
		if err == io.EOF {
			return uris, nil
		}
	}
}

func readArray(in *bufio.Reader, most int) ([]string, error) {
	d := json.NewDecoder(in)
	if _, err := d.Token(); err != nil { // the bracket
		return nil, notJSON(err)
	}
	var uris []string
	for d.More() {
		if len(uris) == most {
			return nil, tooMany(most)
		}
		var uri *string
		if err := d.Decode(&uri); err != nil {
			return nil, notJSON(err)
		}
		if uri == nil {
			return nil, &model.FieldError{Field: fmt.Sprintf("[%d]", len(uris)), Reason: "is null; want a URI"}
		}
		uris = append(uris, *uri)
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(err)
	}
	switch _, err := d.Token(); err {
	case io.EOF:
		return uris, nil
	case nil:
		return nil, &model.FieldError{Reason: "the body has something after the array"}
	default:
		return nil, notJSON(err)
	}
}

// notJSON tells a mistake of the client from a body that could not be read.
func notJSON(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax), errors.As(err, &kind), err == io.EOF, err == io.ErrUnexpectedEOF:
		return &model.FieldError{Reason: "the body is no JSON array of URIs: " + err.Error()}
	}
	return err
}
