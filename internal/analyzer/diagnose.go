package analyzer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// diagnose blames one hop for the slow paths. rivals are the other covers,
// own is the weight of this one.
func (r *run) diagnose(h int, code diagnosis.Code, paths []int, rivals []rival, own float64) {
	rivals = append(r.lookAlikes(h, code, paths), rivals...)
	r.diagnoses = append(r.diagnoses, diagnosis.Diagnosis{
		Code:         code,
		Severity:     r.severity(paths),
		Component:    r.hops[h].Hop,
		Components:   []string{r.hops[h].Hop},
		Confidence:   confidence(own, rivals),
		Summary:      r.summary(h, code, paths, 1+equals(rivals, r.hops[h].Hop, own)),
		Evidence:     r.evidence(h, code, paths),
		Alternatives: alternatives(rivals),
		Runbook:      diagnosis.Runbook(code),
	})
}

// equals counts the rivals that explain the paths as well as the hop does, whose weight is own.
func equals(rivals []rival, hop string, own float64) (n int) {
	for _, x := range rivals {
		n += btoi(x.weight >= own && !slices.Contains(x.Components, hop))
	}
	return n
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// severity is critical when a close path is slow: those are the ones that jobs use.
func (r *run) severity(paths []int) diagnosis.Severity {
	if slices.ContainsFunc(paths, func(i int) bool { return r.paths[i].Path.Close }) {
		return diagnosis.Critical
	}
	return diagnosis.Warning
}

func alternatives(rivals []rival) []diagnosis.Alternative {
	list := []diagnosis.Alternative{}
	for _, x := range rivals {
		if len(list) < maxAlternatives {
			list = append(list, x.Alternative)
		}
	}
	return list
}

// telling returns the close ones of the slow paths, all of them when none is
// close: the paths whose figures say most about a hop.
func (r *run) telling(paths []int) (shown []int, noun string) {
	for _, i := range paths {
		if r.paths[i].Path.Close {
			shown = append(shown, i)
		}
	}
	if len(shown) > 0 {
		return shown, "close path"
	}
	return paths, "path"
}

// summary is one sentence: the part, its figure against the expected one, and
// why it is blamed, if it is one of several explanations that are as good.
func (r *run) summary(h int, code diagnosis.Code, paths []int, explanations int) string {
	shown, noun := r.telling(paths)
	best := &r.paths[slices.MaxFunc(shown, func(a, b int) int { return cmp.Compare(r.paths[a].gbps, r.paths[b].gbps) })]
	carried := fmt.Sprintf("%s Gb/s of an expected %s", figure(best.gbps), figure(*best.ReferenceGbps))
	id, rnics, n := r.hops[h].Hop, joined(r.rnicsOf(shown)), len(shown)
	switch code {
	case diagnosis.P2PMisconfiguration:
		if best.LatencyVerdict != Abnormal {
			return fmt.Sprintf("%s reaches %s at %s: settings send their traffic through the root complex", rnics, best.Path.Endpoint, carried)
		}
		return fmt.Sprintf("%s reaches %s at %s and is answered after %s µs instead of %s: their traffic takes the way through the root complex",
			rnics, best.Path.Endpoint, carried, figure(best.latencyUs), latencyReference(best))
	case diagnosis.RNICSlowStart:
		return fmt.Sprintf("%s sends %s on each of its %s, and its slow start is on", rnics, carried, count(n, noun))
	case diagnosis.MemoryChannelOverload, diagnosis.InterSocketOverload:
		return fmt.Sprintf("%s is used at %s and leaves %s: %s of %s across it%s slow",
			id, share(*r.hops[h].Utilization), carried, count(n, noun), rnics, isAre(n))
	case diagnosis.RNICTxWindow:
		return fmt.Sprintf("%s sends %s on each of its %s, and its Tx window is too small", rnics, carried, count(n, noun))
	}
	if r.hops[h].Kind == topology.HopRNICPCIe && r.allCloseAbnormal(&r.hops[h]) {
		if n == 1 {
			return fmt.Sprintf("%s carries %s: the only %s of %s is slow", id, carried, noun, rnics)
		}
		return fmt.Sprintf("%s carries %s: all %s of %s are slow", id, carried, count(n, noun), rnics)
	}
	why := "it is the likeliest hop to explain " + itThem(n)
	if explanations > 1 {
		why = fmt.Sprintf("it is one of %d explanations that fit equally well", explanations)
	}
	return fmt.Sprintf("%s carries %s: %s of %s across it%s slow, and %s", id, carried, count(n, noun), rnics, isAre(n), why)
}

func isAre(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func latencyReference(p *path) string {
	if p.ReferenceUs == nil {
		return "less"
	}
	return figure(*p.ReferenceUs)
}

// rnicsOf names the RNICs of the paths, each once.
func (r *run) rnicsOf(paths []int) []string {
	names := map[string]bool{}
	for _, i := range paths {
		names[r.paths[i].Path.RNIC] = true
	}
	return topology.SortedKeys(names)
}

// evidence lists what speaks for the blame: the slow paths, what their
// latency and settings say, the link as seen under load, and the hops that are ruled out.
func (r *run) evidence(h int, code diagnosis.Code, paths []int) []string {
	lines := listed(paths, r.slowPath)
	if r.hops[h].Kind == topology.HopGPUPCIe {
		lines = append(lines, listed(r.withLatency(paths), r.latencyEvidence)...)
	}
	if code == diagnosis.P2PMisconfiguration {
		lines = append(lines, r.peerEvidence(paths)...)
	}
	if line := r.hops[h].link.line; line != "" {
		lines = append(lines, r.hops[h].Hop+": "+line)
	}
	if line := r.utilizationLine(&r.hops[h]); line != "" {
		lines = append(lines, line)
	}
	if r.hops[h].Kind == topology.HopRNICPCIe {
		lines = append(lines, r.smallReadRequests(paths)...)
	}
	shown, _ := r.telling(paths)
	return append(lines, listed(r.ruledOut(h, shown), r.witnessed)...)
}

// smallReadRequests names the RNICs of the paths whose PCIe read requests are
// smaller than those of RNICs alike: the RNIC then fetches payload more slowly,
// and the setting is known to fall back when a device is reset.
func (r *run) smallReadRequests(paths []int) (lines []string) {
	for _, id := range r.rnicsOf(paths) {
		var own *rnic
		most := 0
		for i := range r.rnics {
			x := &r.rnics[i]
			if x.ID == id {
				own = x
			}
		}
		like, ok := own.alike()
		if !ok || own.MaxReadRequest == nil {
			continue
		}
		for i := range r.rnics {
			if other, ok := r.rnics[i].alike(); ok && other == like && r.rnics[i].MaxReadRequest != nil {
				most = max(most, *r.rnics[i].MaxReadRequest)
			}
		}
		if *own.MaxReadRequest < most {
			lines = append(lines, fmt.Sprintf("%s requests at most %d bytes per PCIe read, RNICs alike up to %d", id, *own.MaxReadRequest, most))
		}
	}
	return lines
}

// slowPath is one abnormal path with its margin and its reads.
func (r *run) slowPath(i int) string {
	p := &r.paths[i]
	return fmt.Sprintf("%s carries %s; %d of %d reads are low", p.name(), p.margin(), p.LowReads, p.Reads)
}

// withLatency keeps the peer paths whose latency can be compared.
func (r *run) withLatency(paths []int) (kept []int) {
	for _, i := range paths {
		if p := &r.paths[i]; p.peer() && p.ReferenceUs != nil {
			kept = append(kept, i)
		}
	}
	return kept
}

func (r *run) latencyEvidence(i int) string {
	p := &r.paths[i]
	return fmt.Sprintf("%s answers after %s µs, expected are %s: its latency is %s",
		p.name(), figure(p.latencyUs), figure(*p.ReferenceUs), p.LatencyVerdict)
}

// ruledOut returns the other hops of the slow paths that a normal path clears.
func (r *run) ruledOut(blamed int, paths []int) (hops []int) {
	seen := make([]bool, len(r.hops))
	for _, i := range paths {
		for _, h := range r.paths[i].hops {
			if !seen[h] && h != blamed && r.cleared(h, &r.paths[i]) {
				seen[h] = true
				hops = append(hops, h)
			}
		}
	}
	return hops
}

func (r *run) witnessed(h int) string {
	return r.hops[h].Hop + " is healthy: " + r.carries(r.hops[h].witness)
}

// reportUnexplained tells of slow paths all of whose hops other paths clear.
// h is a hop that they share.
func (r *run) reportUnexplained(h int, paths []int, rivals []rival) {
	component := r.hops[h].Hop
	what := count(len(paths), "path") + " across " + component + isAre(len(paths)) + " slow"
	if len(paths) == 1 {
		component = r.paths[paths[0]].name()
		what = component + " is slow"
	}
	r.diagnoses = append(r.diagnoses, diagnosis.Diagnosis{
		Code:         diagnosis.PathUnexplained,
		Severity:     r.severity(paths),
		Component:    component,
		Components:   []string{component},
		Confidence:   confidence(1, rivals),
		Summary:      what + ", yet normal paths clear every hop on the way",
		Evidence:     append(listed(paths, r.slowPath), listed(r.ruledOut(-1, paths), r.witnessed)...),
		Alternatives: alternatives(rivals),
		Runbook:      diagnosis.Runbook(diagnosis.PathUnexplained),
	})
}

// reportRedirects tells of ACS that is known to be on where peer traffic
// should turn, although no diagnosis blames it: a GPU without a slow path, or
// one whose latency has no healthy path to be compared with.
func (r *run) reportRedirects() {
	byGPU := map[int][]int{}
	for i := range r.paths {
		if p := &r.paths[i]; p.peer() && p.measured() && r.acsIsOn(i) && !r.in.Plain.Evidence {
			h := p.hops[len(p.hops)-1]
			byGPU[h] = append(byGPU[h], i)
		}
	}
	for h := range r.hops {
		paths, id := byGPU[h], r.hops[h].Hop
		blamed := func(d diagnosis.Diagnosis) bool {
			return d.Code == diagnosis.P2PMisconfiguration && d.Component == id
		}
		if len(paths) == 0 || slices.ContainsFunc(r.diagnoses, blamed) {
			continue
		}
		r.diagnoses = append(r.diagnoses, diagnosis.Diagnosis{
			Code:       diagnosis.P2PMisconfiguration,
			Severity:   diagnosis.Warning,
			Component:  id,
			Components: []string{id},
			Confidence: confidence(sameComponent, []rival{{weight: sameComponent}}), // the setting is sure, its effect is not
			Summary: fmt.Sprintf("ACS is on between %s and %s; no slow path is explained by it",
				joined(r.rnicsOf(paths)), r.hops[h].part()),
			Evidence:     r.peerEvidence(paths),
			Alternatives: []diagnosis.Alternative{},
			Runbook:      diagnosis.Runbook(diagnosis.P2PMisconfiguration),
		})
	}
}

// reportDowngradedLinks tells of links that ran below what both ends can do
// although no diagnosis blames them.
func (r *run) reportDowngradedLinks() {
	for i := range r.hops {
		h := &r.hops[i]
		blamed := func(d diagnosis.Diagnosis) bool { return slices.Contains(d.Components, h.Hop) }
		if !h.link.downgraded || r.in.Plain.Evidence || slices.ContainsFunc(r.diagnoses, blamed) {
			continue
		}
		r.diagnoses = append(r.diagnoses, diagnosis.Diagnosis{
			Code:         diagnosis.PCIeLinkDowngraded,
			Severity:     diagnosis.Warning,
			Component:    h.Hop,
			Components:   []string{h.Hop},
			Confidence:   certainty,
			Summary:      h.Hop + ": " + h.link.line + "; no slow path is explained by it",
			Evidence:     slices.Clone(h.Evidence),
			Alternatives: []diagnosis.Alternative{},
			Runbook:      diagnosis.Runbook(diagnosis.PCIeLinkDowngraded),
		})
	}
}
