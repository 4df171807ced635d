package httpx

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"gateway/model"
)

// However a body is read, it is the same bytes.
func TestBodies(t *testing.T) {
	text := sample(20_000)
	for _, deflated := range []bool{false, true} {
		c, shelf := store(text, deflated)
		kept := bytes.NewReader(shelf.bytes)
		bodies := map[string]func() (io.Reader, string){
			"identity": func() (io.Reader, string) { return &plain{kept: kept, content: &c}, string(text) },
		}
		if deflated {
			bodies["identity"] = func() (io.Reader, string) { return newInflated(kept, &c), string(text) }
			bodies["gzip"] = func() (io.Reader, string) {
				return newGzip(kept, &c), gzipHeader + string(shelf.bytes) + string(newGzip(kept, &c).tail)
			}
		}
		for name, open := range bodies {
			for way, wrap := range map[string]func(io.Reader) io.Reader{
				"whole":        func(r io.Reader) io.Reader { return r },
				"byte by byte": iotest.OneByteReader,
				"by halves":    iotest.HalfReader,
			} {
				body, want := open()
				if got, err := io.ReadAll(wrap(body)); err != nil || string(got) != want {
					t.Errorf("deflated %v, %s, %s: %d bytes, %v", deflated, name, way, len(got), err)
				}
			}
		}
	}
}

func TestGzipTrailerOfMoreThan4GiB(t *testing.T) {
	c := model.Content{CRC32: 0x04030201, Length: 5<<32 + 0x08070605, Stored: 1}
	if got, want := newGzip(nil, &c).tail, "\x01\x02\x03\x04\x05\x06\x07\x08"; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestContentThatEndsEarly(t *testing.T) {
	for _, deflated := range []bool{false, true} {
		c, shelf := store(sample(1000), deflated)
		short := bytes.NewReader(shelf.bytes[:len(shelf.bytes)-10])
		bodies := []io.Reader{newGzip(short, &c), &plain{kept: short, content: &c}}
		if deflated {
			bodies[1] = newInflated(short, &c)
		}
		for _, body := range bodies {
			if _, err := io.ReadAll(body); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%T: %v", body, err)
			}
		}
	}
}

// A client that asks for the end of a large content and leaves does not keep us
// inflating.
func TestSkippingStopsWhenTheClientIsGone(t *testing.T) {
	c, shelf := store(sample(4<<20), true)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	body := newInflated(bytes.NewReader(shelf.bytes), &c)
	if err := body.skip(ctx, c.Length); !errors.Is(err, context.Canceled) || body.at > 2<<20 {
		t.Errorf("%v after %d bytes", err, body.at)
	}
}
