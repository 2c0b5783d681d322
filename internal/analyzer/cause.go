package analyzer

import (
	"cmp"
	"math"
	"slices"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// maxAlternatives bounds the alternatives that one diagnosis lists.
const maxAlternatives = 8

// certainty is the confidence of an explanation without any rival: a reading
// is evidence, never proof.
const certainty = 0.95

// rival is another explanation with its weight: 1 explains all the paths as
// well as the chosen one, 0 explains none.
type rival struct {
	diagnosis.Alternative
	weight float64
}

// sameComponent is the weight of a rival that blames the same part for
// another reason: the part is certain, only the reason is open.
const sameComponent = 0.5

// confidence is the chosen explanation's share of all the explanations'
// weights, times certainty.
func confidence(own float64, rivals []rival) float64 {
	all := own
	for _, x := range rivals {
		all += x.weight
	}
	return math.Round(100*certainty*own/all) / 100
}

// findCauses goes from hops to causes. Peer paths that are slow and late are
// a matter of settings, which no hop explains. Of the others, hops that alone
// can explain an abnormal path come first, then the smallest sets of abnormal
// hops that cover the rest, in the paper's order, one diagnosis per hop. Last
// come the paths that no abnormal hop explains, and links that are degraded
// without effect.
func (r *run) findCauses() {
	var abnormal []int
	for i := range r.paths {
		if r.paths[i].abnormal() {
			abnormal = append(abnormal, i)
		}
	}
	var explicable, cleared []int
	var sets [][]int
	for _, i := range r.explainByPeerSettings(abnormal) {
		if candidates := r.candidates(&r.paths[i]); len(candidates) > 0 {
			explicable, sets = append(explicable, i), append(sets, candidates)
		} else {
			cleared = append(cleared, i)
		}
	}
	prefer := r.preference()
	for _, z := range solve(sets, prefer) {
		for i := range z.paths {
			z.paths[i] = explicable[z.paths[i]]
		}
		r.blame(z, prefer)
	}
	r.explainCleared(cleared, prefer)
	r.reportDowngradedLinks()
	diagnosis.Sort(r.diagnoses)
}

// preference orders hops that explain the data equally well: those whose link
// was seen degraded, then the paper's order of root causes.
func (r *run) preference() func(a, b int) int {
	order := make([]int, len(r.hops))
	for h := range order {
		order[h] = h
	}
	rank := make([]int, len(r.hops))
	for h := range rank {
		rank[h] = r.rank(h)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), topology.CompareNatural(r.hops[a].Hop, r.hops[b].Hop))
	})
	position := make([]int, len(r.hops))
	for i, h := range order {
		position[h] = i
	}
	return func(a, b int) int { return position[a] - position[b] }
}

func (r *run) rank(i int) int {
	h := &r.hops[i]
	if h.link.downgraded {
		return 0
	}
	switch h.Kind {
	case topology.HopRNICPCIe:
		if r.allCloseAbnormal(h) {
			return 1
		}
		return 7
	case topology.HopGPUPCIe:
		return 2
	case topology.HopSwitch:
		return 3
	case topology.HopRootPort:
		return 4
	case topology.HopInterSocket:
		return 5
	}
	return 6
}

// allCloseAbnormal reports whether every close path with a verdict across an RNIC's link is abnormal.
func (r *run) allCloseAbnormal(h *hop) bool {
	abnormal := 0
	for _, i := range h.paths {
		p := &r.paths[i]
		if !p.Path.Close || !p.measured() {
			continue
		}
		if !p.abnormal() {
			return false
		}
		abnormal++
	}
	return abnormal > 0
}

// plausible reports whether the hop can be what slows the path: a hop that
// carried clearly more on another path cannot.
func (r *run) plausible(h, p int) bool {
	return !r.low(r.paths[p].gbps, *r.hops[h].EstimatedCapacityGbps)
}

// fit is the share of the paths that some hop of the cover plausibly explains.
func (r *run) fit(cover, paths []int) float64 {
	n := 0
	for _, p := range paths {
		if slices.ContainsFunc(cover, func(h int) bool {
			return slices.Contains(r.paths[p].hops, h) && r.plausible(h, p)
		}) {
			n++
		}
	}
	return float64(n) / float64(len(paths))
}

// blame chooses the cover that fits the figures best, the preferred one of
// equals, and makes a diagnosis of each of its hops.
func (r *run) blame(z puzzle, prefer func(a, b int) int) {
	type scored struct {
		hops []int
		fit  float64
	}
	covers := make([]scored, len(z.covers))
	for i, hops := range z.covers {
		covers[i] = scored{hops, r.fit(hops, z.paths)}
	}
	slices.SortStableFunc(covers, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.fit, a.fit), slices.CompareFunc(a.hops, b.hops, prefer))
	})
	chosen := covers[0]
	for _, h := range chosen.hops {
		paths := crossing(r, h, z.paths)
		var rivals []rival
		for _, other := range covers[1:] {
			if slices.Contains(other.hops, h) {
				continue
			}
			rivals = append(rivals, r.rivalCover(other.hops, chosen.hops, z.paths, other.fit))
		}
		own := max(chosen.fit, 0.1) // even a bad fit is the best there is
		if !z.exact {
			own /= 2 // covers as small may have been missed
		}
		r.diagnose(h, r.code(h, paths), paths, rivals, own)
	}
}

// crossing keeps the paths that cross the hop.
func crossing(r *run, h int, paths []int) (across []int) {
	for _, p := range paths {
		if slices.Contains(r.paths[p].hops, h) {
			across = append(across, p)
		}
	}
	return across
}

// rivalCover is the alternative that other hops are to blame than the chosen ones.
func (r *run) rivalCover(hops, chosen, paths []int, fit float64) rival {
	x := rival{weight: fit}
	reason := "explains the same slow paths"
	for _, h := range hops {
		if slices.Contains(chosen, h) {
			continue
		}
		x.Components = append(x.Components, r.hops[h].Hop)
		if x.Code == "" {
			x.Code = r.code(h, crossing(r, h, paths))
		}
		if p := crossing(r, h, paths); len(p) > 0 && !r.plausible(h, slowest(r, p)) {
			reason = "crosses the same slow paths, but " + r.carries(r.hops[h].fastest) + " across " + r.hops[h].Hop
		}
	}
	if len(x.Components) > 1 {
		reason = "together: " + reason
	}
	x.Reason = reason
	return x
}

func slowest(r *run, paths []int) int {
	return slices.MinFunc(paths, func(a, b int) int { return cmp.Compare(r.paths[a].gbps, r.paths[b].gbps) })
}

// explainCleared handles abnormal paths all of whose hops are cleared by
// other paths. What is left to blame depends on the pair or on the port, not on a link.
func (r *run) explainCleared(paths []int, prefer func(a, b int) int) {
	paths = r.explainByPortSettings(paths)
	sets := make([][]int, len(paths))
	for i, p := range paths {
		sets[i] = r.paths[p].hops
	}
	for _, z := range solve(sets, prefer) {
		left := make([]int, len(z.paths))
		for i, j := range z.paths {
			left[i] = paths[j]
		}
		for _, h := range z.covers[0] {
			across := crossing(r, h, left)
			left = slices.DeleteFunc(left, func(p int) bool { return slices.Contains(across, p) })
			r.reportUnexplained(h, across, r.comingAndGoing(z.covers))
		}
	}
}

// explainByPeerSettings takes the close GPU paths that are slow and late, one
// diagnosis per GPU: a detour through the root complex, whatever else is slow.
func (r *run) explainByPeerSettings(paths []int) (rest []int) {
	byGPU := map[int][]int{}
	var gpus []int
	for _, i := range paths {
		if !r.detours(i) {
			rest = append(rest, i)
			continue
		}
		h := r.paths[i].hops[len(r.paths[i].hops)-1]
		if byGPU[h] == nil {
			gpus = append(gpus, h)
		}
		byGPU[h] = append(byGPU[h], i)
	}
	for _, h := range gpus {
		r.diagnose(h, diagnosis.P2PMisconfiguration, byGPU[h], nil, 1)
	}
	return rest
}

// explainByPortSettings takes the paths of an RNIC that is slow on all its
// close paths although the link that it shares with other ports is not: what
// is left are the port's own settings.
func (r *run) explainByPortSettings(paths []int) (rest []int) {
	byRNIC := map[int][]int{}
	for _, p := range paths {
		byRNIC[r.paths[p].rnic] = append(byRNIC[r.paths[p].rnic], p)
	}
	for x := range r.rnics {
		own := byRNIC[x]
		if len(own) == 0 {
			continue
		}
		link := r.paths[own[0]].hops[0]
		slow := r.slowClosePaths(&r.rnics[x])
		switch s := r.settings(own); {
		case slow > 0 && (s.slowStart.yes() || s.txWindow.yes()):
			r.diagnose(link, r.code(link, own), own, nil, 1)
		case slow > 1 && (s.slowStart.unknown() || s.txWindow.unknown()):
			r.reportUnexplained(link, own, r.lookAlikes(link, diagnosis.RNICPCIeFailure, own))
		default:
			rest = append(rest, own...)
		}
	}
	slices.Sort(rest)
	return rest
}

// slowClosePaths counts the abnormal close paths of an RNIC; 0 when any is not.
func (r *run) slowClosePaths(x *rnic) (abnormal int) {
	for _, i := range x.paths {
		p := &r.paths[i]
		if !p.Path.Close || !p.measured() {
			continue
		}
		if !p.abnormal() {
			return 0
		}
		abnormal++
	}
	return abnormal
}

// comingAndGoing are the faults that might have hit only some of the paths:
// one of the covers, and nothing says which.
func (r *run) comingAndGoing(covers [][]int) (rivals []rival) {
	for _, cover := range covers {
		x := rival{weight: 1 / float64(len(covers))}
		x.Code, x.Reason = diagnosis.LinkFlapping, "a fault that comes and goes would look like this; further runs tell"
		for _, i := range cover {
			x.Components = append(x.Components, r.hops[i].Hop)
		}
		rivals = append(rivals, x)
	}
	return rivals
}

// detours reports whether the path is one between peers under one root port
// that is slow and late, as with ACS on or ATS off. When the RNIC is late to
// memory as well, the delay is its own.
func (r *run) detours(i int) bool {
	p := &r.paths[i]
	if p.memory || !p.peer() || p.LatencyVerdict != Abnormal {
		return false
	}
	return !slices.ContainsFunc(r.rnics[p.rnic].paths, func(j int) bool {
		return r.paths[j].memory && r.paths[j].LatencyVerdict == Abnormal
	})
}

// peer reports whether the path stays below the root complex.
func (p *path) peer() bool {
	return p.Path.Class == topology.ClassPIX || p.Path.Class == topology.ClassPXB
}

// code is the cause that a hop stands for, given the slow paths that it explains.
func (r *run) code(i int, paths []int) diagnosis.Code {
	switch h := &r.hops[i]; h.Kind {
	case topology.HopRNICPCIe:
		if h.link.downgraded {
			return diagnosis.RNICPCIeFailure
		}
		s := r.settings(paths)
		switch {
		case s.slowStart.yes():
			return diagnosis.RNICSlowStart
		case s.txWindow.yes():
			return diagnosis.RNICTxWindow
		}
		return diagnosis.RNICPCIeFailure
	case topology.HopGPUPCIe:
		return diagnosis.GPUPCIeFailure
	case topology.HopSwitch:
		return diagnosis.SwitchLinkFailure
	case topology.HopRootPort:
		return diagnosis.RootPortFailure
	case topology.HopMemory:
		return diagnosis.MemoryChannelFailure
	case topology.HopInterSocket:
		return diagnosis.InterSocketFailure
	}
	return diagnosis.PathUnexplained
}

// lookAlikes are the other reasons for which the same part shows the same figures.
func (r *run) lookAlikes(i int, code diagnosis.Code, paths []int) (rivals []rival) {
	add := func(code diagnosis.Code, weight float64, reason string) {
		rivals = append(rivals, rival{diagnosis.Alternative{
			Code: code, Components: []string{r.hops[i].Hop}, Reason: reason,
		}, weight})
	}
	switch code {
	case diagnosis.RNICPCIeFailure:
		s := r.settings(paths)
		const unread = "slows all paths of the RNIC alike, and the setting cannot be read on this host"
		const on = "the setting is on and slows all paths of the RNIC alike"
		if s.slowStart.yes() {
			add(diagnosis.RNICSlowStart, sameComponent, on)
		} else if s.slowStart.unknown() {
			add(diagnosis.RNICSlowStart, sameComponent, unread)
		}
		if s.txWindow.yes() {
			add(diagnosis.RNICTxWindow, sameComponent, on)
		} else if s.txWindow.unknown() {
			add(diagnosis.RNICTxWindow, sameComponent, unread)
		}
	case diagnosis.RNICSlowStart:
		if r.settings(paths).txWindow.yes() {
			add(diagnosis.RNICTxWindow, sameComponent, "this setting is on as well")
		}
	case diagnosis.GPUPCIeFailure:
		unknown := func(p int) bool { return r.paths[p].peer() && r.paths[p].LatencyVerdict == Uncertain }
		if slices.ContainsFunc(paths, unknown) {
			add(diagnosis.P2PMisconfiguration, sameComponent,
				"slows peer traffic alike, and only the latency of an idle host tells them apart")
		}
	case diagnosis.P2PMisconfiguration:
		if r.peerSettingsAreRight(paths) {
			add(diagnosis.GPUPCIeFailure, sameComponent, "ACS and ATS could be read and are as they should be")
		}
	case diagnosis.InterSocketFailure:
		if r.allRemoteMemorySlow() {
			add(diagnosis.PlatformLimit, 1,
				"all remote memory is below a default baseline: the platform may be built so; calibrate on a healthy host")
		}
	}
	return rivals
}

// allRemoteMemorySlow reports whether no remote memory path meets its default
// baseline, so that only a default says that this is a fault.
func (r *run) allRemoteMemorySlow() bool {
	slow := 0
	for i := range r.paths {
		p := &r.paths[i]
		if p.Path.Class != topology.ClassMemRemote || !p.measured() {
			continue
		}
		if !p.abnormal() || p.expected.Source != baseline.SourceDefault {
			return false
		}
		slow++
	}
	return slow > 0
}
