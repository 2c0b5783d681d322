package analyzer

import (
	"slices"

	"github.com/yuuki/hostping/internal/topology"
)

// answer is a yes or no that may be unknown (nil).
type answer struct{ value *bool }

func (a answer) yes() bool     { return a.value != nil && *a.value }
func (a answer) unknown() bool { return a.value == nil }

// anyOf is yes when one of the answers is, else unknown when one of them is.
func anyOf(answers []answer) answer {
	if i := slices.IndexFunc(answers, answer.yes); i >= 0 {
		return answers[i]
	}
	if i := slices.IndexFunc(answers, answer.unknown); i >= 0 {
		return answers[i]
	}
	return answer{new(false)}
}

// portSettings are the settings of RNICs that slow all their paths alike.
type portSettings struct{ slowStart, txWindow answer }

// settings returns those of the RNICs that the paths belong to.
func (r *run) settings(paths []int) portSettings {
	var slowStart, txWindow []answer
	for _, i := range paths {
		config := r.in.RNICConfig[r.paths[i].Path.RNIC] // absent: both nil
		slowStart = append(slowStart, answer{config.SlowStart})
		txWindow = append(txWindow, answer{config.SmallTxWindow})
	}
	return portSettings{anyOf(slowStart), anyOf(txWindow)}
}

// peerEvidence says what the settings tell about slow and late peer paths.
func (r *run) peerEvidence(paths []int) (lines []string) {
	bridges := map[string]bool{}
	for _, i := range paths {
		for _, id := range r.turns(i) {
			if r.in.P2P.ACS[id] {
				bridges[id] = true
			}
		}
	}
	lines = listed(topology.SortedKeys(bridges), func(id string) string {
		return "ACS is on at " + id + ", where this traffic should turn"
	})
	rnics := map[string]bool{}
	for _, i := range paths {
		if on, known := r.in.P2P.ATS[r.paths[i].Path.RNIC]; known && !on {
			rnics[r.paths[i].Path.RNIC] = true
		}
	}
	return append(lines, listed(topology.SortedKeys(rnics), func(id string) string { return "ATS is off on " + id })...)
}

// peerSettingsAreRight reports whether ACS and ATS are known on all of these
// paths and none sends their traffic through the root complex.
func (r *run) peerSettingsAreRight(paths []int) bool {
	for _, i := range paths {
		if ats, known := r.in.P2P.ATS[r.paths[i].Path.RNIC]; !known || !ats {
			return false
		}
		known := false
		for _, id := range r.turns(i) {
			if acs, read := r.in.P2P.ACS[id]; read {
				if acs {
					return false
				}
				known = true
			}
		}
		if !known {
			return false
		}
	}
	return true
}

// slowWithoutATS reports whether ATS is known to be off on an RNIC of which
// all peer paths are slow, two at least, and some other path is not. ATS that
// is off alone says nothing: many hosts need none.
func (r *run) slowWithoutATS(x *rnic) bool {
	if on, known := r.in.P2P.ATS[x.ID]; !known || on {
		return false
	}
	peers, others := 0, 0
	for _, i := range x.paths {
		switch p := &r.paths[i]; {
		case !p.measured():
		case !p.memory && p.peer():
			if !p.abnormal() {
				return false
			}
			peers++
		case !p.abnormal():
			others++
		}
	}
	return peers > 1 && others > 0
}

// acsIsOn reports whether ACS is known to be on where this path should turn.
func (r *run) acsIsOn(i int) bool {
	return slices.ContainsFunc(r.turns(i), func(id string) bool { return r.in.P2P.ACS[id] })
}

// turns returns the names by which the settings may know the switch where a
// peer path turns: the first link on the RNIC's way up that the path leaves
// out is the one above that switch.
func (r *run) turns(i int) []string {
	p := &r.paths[i]
	for _, j := range r.rnics[p.rnic].paths {
		way := &r.paths[j]
		if !way.memory {
			continue
		}
		for _, h := range way.hops[1:] {
			kind := r.hops[h].Kind
			if kind != topology.HopSwitch && kind != topology.HopRootPort {
				break
			}
			if !slices.Contains(p.hops, h) {
				return append([]string{r.hops[h].part()}, r.hops[h].facts.Members...)
			}
		}
	}
	return nil
}
