package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"gateway/ingest"
)

// progress shows how far an import has come, on a terminal only.
type progress struct {
	bar *progressbar.ProgressBar // nil when it is not a terminal
}

func newProgress(to io.Writer) *progress {
	f, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(to),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetDescription("importing"),
	)}
}

func (p *progress) show(now ingest.Progress) {
	if p.bar == nil {
		return
	}
	if now.Total > 0 && p.bar.GetMax64() != now.Total {
		p.bar.ChangeMax64(now.Total)
	}
	p.bar.Describe(fmt.Sprintf("%d lines", now.Lines))
	_ = p.bar.Set64(now.Bytes) // it is only for the eye
}

// clear makes room for a line; the next step draws the bar again.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// maxFindings is how many lines are reported one by one.
const maxFindings = 1000

// findings reports what is wrong with lines: the first ones each, the rest by
// number.
type findings struct {
	to    io.Writer
	above *progress

	shown, rejects, warnings int64 // the latter two: not shown
}

func (f *findings) rejected(x ingest.Finding) {
	if !f.line("%s\n", x) {
		f.rejects++
	}
}

func (f *findings) warned(x ingest.Finding) {
	if !f.line("%s (warning)\n", x) {
		f.warnings++
	}
}

func (f *findings) line(format string, x ingest.Finding) bool {
	if f.shown >= maxFindings {
		return false
	}
	f.shown++
	f.above.clear()
	fmt.Fprintf(f.to, format, x)
	return true
}

func (f *findings) done() {
	if f.rejects > 0 {
		fmt.Fprintf(f.to, "and %d more rejected lines\n", f.rejects)
	}
	if f.warnings > 0 {
		fmt.Fprintf(f.to, "and %d more warnings\n", f.warnings)
	}
}
