package cli

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/report"
)

// progress draws one line that says which path is in hand, and wipes it when
// the run is over. It is for a terminal only.
type progress struct {
	w     io.Writer
	width int
	drawn bool
	where string // goes before what is drawn
}

// progressOn returns what draws a run's progress, or nil when w is no terminal.
func progressOn(w io.Writer, lookup func(string) (string, bool)) *progress {
	if kind, _ := lookup("TERM"); !isTerminal(w) || kind == "dumb" {
		return nil
	}
	width := styleOf(w, lookup).Width
	if width <= 0 {
		width = report.DefaultWidth
	}
	return &progress{w: w, width: width}
}

// stage says what the following is a part of.
func (p *progress) stage(where string) {
	if p != nil {
		p.where = where
	}
}

// say draws what is going on outside the engine.
func (p *progress) say(text string) {
	if p != nil {
		p.draw(text)
	}
}

// events is what the engine calls; nil without a terminal.
func (p *progress) events() func(engine.Event) {
	if p == nil {
		return nil
	}
	return p.show
}

func (p *progress) show(e engine.Event) {
	switch e.Kind {
	case engine.EventStarted:
		action := "probing"
		if e.Round > 1 {
			action = fmt.Sprintf("reading suspects again (round %d):", e.Round)
		}
		p.draw(fmt.Sprintf("%s %v, %d of %d done", action, e.Path, e.Done, e.Total))
	case engine.EventFinished:
		p.wipe()
	}
}

// draw overwrites the line, cut to the terminal so that it never scrolls.
func (p *progress) draw(text string) {
	text = p.where + text
	for utf8.RuneCountInString(text) >= p.width {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", text)
	p.drawn = true
}

// wipe clears the line.
func (p *progress) wipe() {
	if p != nil && p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
