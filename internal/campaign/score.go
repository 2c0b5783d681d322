package main

import (
	"slices"

	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/diagnosis"
)

// answer is what a diagnosis says: the causes that it blames, and those that
// it offers as alternatives.
type answer struct {
	blamed  explanation
	offered []diagnosis.Alternative
}

// answerOf reads the analyzer's answer.
func answerOf(r analyzer.Result) (a answer) {
	var blamed []cause
	for _, d := range r.Diagnoses {
		for _, component := range d.Components {
			blamed = append(blamed, cause{d.Code, component})
		}
		a.offered = append(a.offered, d.Alternatives...)
	}
	a.blamed = explain(blamed...)
	return a
}

// names reports whether the answer blames or offers the cause. An
// alternative of several components has the code of the first only.
func (a answer) names(c cause) bool {
	return slices.Contains(a.blamed, c) || slices.ContainsFunc(a.offered, func(x diagnosis.Alternative) bool {
		i := slices.Index(x.Components, c.component)
		return i > 0 || i == 0 && x.Code == c.code
	})
}

// namesAll reports whether the answer blames or offers every cause.
func (a answer) namesAll(e explanation) bool {
	return !slices.ContainsFunc(e, func(c cause) bool { return !a.names(c) })
}

// grade is how good an answer is. Exact, offered and missed exclude each other.
type grade struct {
	exact   bool // blames one of the right explanations, or the truth, and names all the others
	offered bool // names one at least, among its alternatives or its blames
	missed  bool // names none of them
	wrong   bool // blames a part that neither they nor the truth blame
}

// grade compares the answer with the right ones.
func (a answer) grade(v view) (g grade) {
	g.exact, g.missed = true, true
	blamesOne := slices.Equal(v.truth, a.blamed)
	guilty := map[string]bool{}
	for _, c := range v.truth {
		guilty[c.component] = true
	}
	for _, e := range v.right {
		for _, c := range e {
			guilty[c.component] = true
		}
		blamesOne = blamesOne || slices.Equal(e, a.blamed)
		if a.namesAll(e) {
			g.missed = false
		} else {
			g.exact = false
		}
	}
	g.exact = g.exact && blamesOne
	g.offered = !g.exact && !g.missed
	g.wrong = slices.ContainsFunc(a.blamed, func(c cause) bool { return !guilty[c.component] })
	return g
}

// plain is the view of somebody who names parts, not what is read beside
// the probes: a slow RNIC is its link's failure, a loaded bus its own. The
// literal algorithm is graded by it.
func (v view) plain() view {
	fold := func(e explanation) explanation {
		causes := slices.Clone(e)
		for i, c := range causes {
			switch c.code {
			case diagnosis.RNICSlowStart, diagnosis.RNICTxWindow:
				causes[i].code = diagnosis.RNICPCIeFailure
			case diagnosis.MemoryChannelOverload:
				causes[i].code = diagnosis.MemoryChannelFailure
			case diagnosis.InterSocketOverload:
				causes[i].code = diagnosis.InterSocketFailure
			}
		}
		return explain(causes...)
	}
	p := view{truth: fold(v.truth), edge: v.edge}
	for _, e := range v.right {
		p.right = append(p.right, fold(e))
	}
	return p
}

// result is what became of one run.
type result struct {
	scene         scene
	view          view
	ours, literal answer
}

// judge plays the scene and gathers what is needed to grade it.
func judge(s scene, g *gallery) (result, error) {
	in, analyzed, err := s.play()
	if err != nil {
		return result{}, err
	}
	v := view{right: []explanation{{}}}
	if len(s.faults) > 0 {
		if v, err = g.view(s.faults); err != nil {
			return result{}, err
		}
	}
	return result{s, v, answerOf(analyzed), answer{blamed: literal(in)}}, nil
}
