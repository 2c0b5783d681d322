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
	exact   bool // blames one of the right explanations, perhaps more of the truth, and names all the others
	offered bool // names one at least, among its alternatives or its blames
	missed  bool // names none of them
	wrong   bool // blames a part that neither they nor the truth blame
}

// grade compares the answer with the right ones.
func (a answer) grade(v view) (g grade) {
	a, v = a.told(v.busy), v.told()
	allIn := func(these, those explanation) bool {
		return !slices.ContainsFunc(these, func(c cause) bool { return !slices.Contains(those, c) })
	}
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
		blamesOne = blamesOne || allIn(e, a.blamed) && allIn(a.blamed, append(slices.Clone(e), v.truth...))
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

// toldApart is the code by which a cause counts. What loads a link is not in the
// figures, so contention counts as a failure; under load the latency says
// nothing, so a detour counts as a slow link of the GPU.
func toldApart(code diagnosis.Code, busy bool) diagnosis.Code {
	switch {
	case code == diagnosis.RNICPCIeContention:
		return diagnosis.RNICPCIeFailure
	case code == diagnosis.P2PMisconfiguration && busy:
		return diagnosis.GPUPCIeFailure
	}
	return code
}

func (a answer) told(busy bool) answer {
	tell := func(c diagnosis.Code) diagnosis.Code { return toldApart(c, busy) }
	told := answer{blamed: a.blamed.as(tell), offered: slices.Clone(a.offered)}
	for i := range told.offered {
		told.offered[i].Code = tell(told.offered[i].Code)
	}
	return told
}

func (v view) told() view {
	return v.as(func(c diagnosis.Code) diagnosis.Code { return toldApart(c, v.busy) })
}

// plain is the view of somebody who names parts, not what is read beside
// the probes: a slow RNIC is its link's failure, a loaded bus its own. The
// literal algorithm is graded by it.
func (v view) plain() view {
	return v.as(func(code diagnosis.Code) diagnosis.Code {
		switch code {
		case diagnosis.RNICSlowStart, diagnosis.RNICTxWindow:
			return diagnosis.RNICPCIeFailure
		case diagnosis.MemoryChannelOverload:
			return diagnosis.MemoryChannelFailure
		case diagnosis.InterSocketOverload:
			return diagnosis.InterSocketFailure
		}
		return code
	})
}

// as gives every cause another code.
func (v view) as(code func(diagnosis.Code) diagnosis.Code) view {
	other := v
	var right explanations
	for _, e := range v.right {
		right.add(e.as(code))
	}
	other.truth, other.right = v.truth.as(code), right
	return other
}

func (e explanation) as(code func(diagnosis.Code) diagnosis.Code) explanation {
	causes := slices.Clone(e)
	for i := range causes {
		causes[i].code = code(causes[i].code)
	}
	return explain(causes...)
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
