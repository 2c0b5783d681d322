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

// findCauses goes from hops to causes. Hops that come and go, as the last runs
// show, explain what they can first. Peer paths that are slow and late are
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
	prefer := r.preference()
	abnormal = r.explainByFlapping(abnormal, prefer)
	var explicable, cleared []int
	var sets [][]int
	abnormal = r.explainByPeerSettings(abnormal)
	free := r.slowWithoutSetting(abnormal)
	for _, i := range abnormal {
		if suspects := r.suspects(i, free); len(suspects) > 0 {
			explicable, sets = append(explicable, i), append(sets, suspects)
		} else {
			cleared = append(cleared, i)
		}
	}
	for _, z := range solve(sets, prefer) {
		for i := range z.paths {
			z.paths[i] = explicable[z.paths[i]]
		}
		r.blame(z, prefer)
	}
	r.explainCleared(cleared, prefer)
	r.reportContention()
	r.reportRedirects()
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
	if h.link.downgraded && !r.in.Plain.Evidence {
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

// suspects are the hops that may explain an abnormal path: nothing clears
// them, no faster path of an RNIC in service shares them, and they carried
// no more on any other path. Where figures leave none, verdicts alone decide.
//
// A setting that is known to hold the RNIC back leaves its own link alone, or
// none if another port clears that, unless one of the hops would also explain
// the paths of an RNIC without such a setting (free).
func (r *run) suspects(i int, free map[int]bool) []int {
	suspects := r.possible(i)
	if !r.heldBack(&r.paths[i]) || slices.ContainsFunc(suspects, func(h int) bool { return free[h] }) {
		return suspects
	}
	return slices.DeleteFunc(suspects, func(h int) bool { return h != r.paths[i].hops[0] })
}

// slowWithoutSetting are the hops that may explain paths of RNICs which no
// known setting holds back.
func (r *run) slowWithoutSetting(abnormal []int) map[int]bool {
	free := map[int]bool{}
	if len(r.in.RNICConfig) == 0 || r.in.Plain.Evidence {
		return free
	}
	for _, i := range abnormal {
		if !r.heldBack(&r.paths[i]) {
			for _, h := range r.possible(i) {
				free[h] = true
			}
		}
	}
	return free
}

// possible are the suspects that verdicts and figures leave, whatever settings say.
func (r *run) possible(i int) []int {
	p := &r.paths[i]
	suspects := slices.DeleteFunc(r.candidates(p), func(h int) bool { return r.sharedWithFaster(h, p) })
	if r.in.Plain.Capacity {
		return suspects
	}
	narrow := slices.DeleteFunc(slices.Clone(suspects), func(h int) bool { return !r.plausible(h, i) })
	if len(narrow) > 0 {
		return narrow
	}
	return suspects
}

// heldBack reports whether a setting of the RNIC is known to slow all its
// paths: all its close ones are slow, and this one no more than the others.
func (r *run) heldBack(p *path) bool {
	x := &r.rnics[p.rnic]
	if !r.settingIsOn(x) || r.slowClosePaths(x) == 0 {
		return false
	}
	return !slices.ContainsFunc(x.paths, func(i int) bool {
		return r.paths[i].measured() && r.low(p.gbps, r.paths[i].gbps)
	})
}

// settingIsOn reports whether slow start or a small Tx window is known to be on.
func (r *run) settingIsOn(x *rnic) bool {
	config := r.in.RNICConfig[x.ID]
	return !r.in.Plain.Evidence && (answer{config.SlowStart}.yes() || answer{config.SmallTxWindow}.yes())
}

// plausible reports whether the hop can be what slows the path: a hop that
// carried clearly more on another path cannot. Of an RNIC in service nobody
// knows how much of a hop its service takes, and what comes and goes may have
// been gone when the hop carried more.
func (r *run) plausible(h, p int) bool {
	return r.rnics[r.paths[p].rnic].service || r.paths[p].divided && r.alsoDivided(h, p) > 0 || !r.low(r.paths[p].gbps, *r.hops[h].EstimatedCapacityGbps)
}

// alsoDivided counts the other close paths across the hop whose reads are
// divided: a fault there that comes and goes explains them too.
func (r *run) alsoDivided(h, p int) (n int) {
	if r.in.Plain.Noise {
		return 0
	}
	for _, i := range r.hops[h].paths {
		if i != p && r.paths[i].divided && r.paths[i].Path.Close {
			n++
		}
	}
	return n
}

// besides is how many more paths that come and go the cover explains, if the
// paths that it is asked to explain come and go as well.
func (r *run) besides(cover, paths []int) (most int) {
	for _, p := range paths {
		for _, h := range cover {
			if r.paths[p].divided && slices.Contains(r.paths[p].hops, h) {
				most = max(most, r.alsoDivided(h, p))
			}
		}
	}
	return most
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

// misfit is how far the paths' figures are from the capacities that the
// cover's hops then have, as a mean square in units of noise.
func (r *run) misfit(cover, paths []int) float64 {
	if r.in.Plain.Capacity {
		return 0
	}
	sum, n := 0.0, 0
	for _, i := range paths {
		p := &r.paths[i]
		if r.rnics[p.rnic].service || p.divided {
			continue
		}
		capacity := math.Inf(1)
		for _, h := range cover {
			if slices.Contains(p.hops, h) {
				capacity = min(capacity, *r.hops[h].EstimatedCapacityGbps)
			}
		}
		distance := math.Log(p.gbps/capacity) / r.spreadOf(p)
		sum += min(distance*distance, worstMisfit)
		n++
	}
	return sum / float64(max(1, n))
}

const (
	// worstMisfit bounds what one path adds to a misfit.
	worstMisfit = 100
	// clearlyWorse is the misfit that noise does not explain: beyond it a
	// cover steps behind one that fits, whatever the order of causes.
	clearlyWorse = 9
)

// explanation is a cover with how well it explains its paths.
type explanation struct {
	hops    []int
	fit     float64
	misfit  float64
	reports int
	besides int
}

// weight is how likely the cover is, relative to others.
func (r *run) weight(e explanation, best float64, besides int) float64 {
	w := e.fit / float64(1+besides-e.besides)
	if excess := e.misfit - best; excess > clearlyWorse {
		w *= math.Exp(-excess / 2)
	}
	for _, h := range e.hops {
		w *= r.physical(h)
	}
	return w
}

// physical is what a link as seen under load says for its blame: one that is
// degraded is a likelier cause, one that ran as it should a little less likely.
func (r *run) physical(i int) float64 {
	l := &r.hops[i].link
	switch {
	case r.in.Plain.Evidence:
		return 1
	case l.downgraded:
		return 3
	case l.whole:
		return 0.8
	}
	return 1
}

// blame chooses the cover that fits the figures best, the preferred one of
// equals, and makes a diagnosis of each of its hops. On busy hosts the hops
// that most RNICs reported come first.
func (r *run) blame(z puzzle, prefer func(a, b int) int) {
	covers := make([]explanation, len(z.covers))
	best, besides := math.Inf(1), 0
	for i, hops := range z.covers {
		covers[i] = explanation{hops: hops, fit: r.fit(hops, z.paths), misfit: r.misfit(hops, z.paths), besides: r.besides(hops, z.paths)}
		best, besides = min(best, covers[i].misfit), max(besides, covers[i].besides)
		if r.in.Busy {
			covers[i].reports = r.reports(hops)
		}
	}
	worse := func(e explanation) int {
		if e.misfit-best > clearlyWorse {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(covers, func(a, b explanation) int {
		return cmp.Or(
			cmp.Compare(b.reports, a.reports),
			cmp.Compare(b.fit, a.fit),
			cmp.Compare(b.besides, a.besides),
			worse(a)-worse(b),
			slices.CompareFunc(a.hops, b.hops, prefer))
	})
	chosen := covers[0]
	for _, h := range chosen.hops {
		paths := crossing(r, h, z.paths)
		var rivals []rival
		for _, other := range covers[1:] {
			if r.in.Plain.Ambiguity || slices.Contains(other.hops, h) {
				continue
			}
			rivals = append(rivals, r.rivalCover(other, chosen.hops, z.paths, r.weight(other, best, besides)))
		}
		own := max(r.weight(chosen, best, besides), 0.1) // even a bad fit is the best there is
		if !z.exact {
			own /= 2 // covers as small may have been missed
		}
		for _, part := range r.byCode(h, paths) {
			r.diagnose(h, part.code, part.paths, rivals, own)
		}
	}
}

// blamed are paths that a hop slows for one reason.
type blamed struct {
	code  diagnosis.Code
	paths []int
}

// byCode splits the paths across an RNIC's link by the reasons of its ports:
// one may be held back by a setting, another by the link itself.
func (r *run) byCode(h int, paths []int) (parts []blamed) {
	if r.hops[h].Kind != topology.HopRNICPCIe {
		return []blamed{{r.code(h, paths), paths}}
	}
	for _, i := range paths {
		own := []int{i}
		code := r.code(h, own)
		at := slices.IndexFunc(parts, func(b blamed) bool { return b.code == code })
		if at < 0 {
			parts = append(parts, blamed{code, own})
		} else {
			parts[at].paths = append(parts[at].paths, i)
		}
	}
	return parts
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
func (r *run) rivalCover(other explanation, chosen, paths []int, weight float64) rival {
	x := rival{weight: weight}
	reason := "explains the same slow paths"
	for _, h := range other.hops {
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
	if p.memory || !p.peer() {
		return false
	}
	if p.LatencyVerdict == Uncertain { // as on busy hosts
		return !r.in.Plain.Evidence && (r.acsIsOn(i) || r.slowWithoutATS(&r.rnics[p.rnic]))
	}
	if p.LatencyVerdict != Abnormal {
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
		return cmp.Or(r.overloaded(h), diagnosis.MemoryChannelFailure)
	case topology.HopInterSocket:
		return cmp.Or(r.overloaded(h), diagnosis.InterSocketFailure)
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
	if !r.in.Plain.Ambiguity && len(paths) > 0 && !slices.ContainsFunc(paths, func(p int) bool { return !r.paths[p].divided }) {
		add(diagnosis.LinkFlapping, sameComponent, "some reads of each of these paths are normal: a fault that comes and goes does that, and further runs tell")
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
	case diagnosis.RNICSlowStart, diagnosis.RNICTxWindow:
		if code == diagnosis.RNICSlowStart && r.settings(paths).txWindow.yes() {
			add(diagnosis.RNICTxWindow, sameComponent, "this setting is on as well")
		}
		rivals = append(rivals, r.besideSetting(i, paths)...)
	case diagnosis.GPUPCIeFailure:
		unknown := func(p int) bool {
			return r.paths[p].peer() && r.paths[p].LatencyVerdict == Uncertain &&
				(r.in.Plain.Evidence || !r.peerSettingsAreRight([]int{p}))
		}
		if slices.ContainsFunc(paths, unknown) {
			add(diagnosis.P2PMisconfiguration, sameComponent,
				"slows peer traffic alike, and only the latency of an idle host tells them apart")
		}
	case diagnosis.P2PMisconfiguration:
		if r.in.Busy {
			add(diagnosis.GPUPCIeFailure, sameComponent, "only the latency of an idle host tells a slow link from a detour")
			rivals = append(rivals, r.besideSetting(i, paths)...)
		} else if r.peerSettingsAreRight(paths) {
			add(diagnosis.GPUPCIeFailure, sameComponent, "ACS and ATS could be read and are as they should be")
		}
	case diagnosis.MemoryChannelFailure, diagnosis.InterSocketFailure:
		if h := &r.hops[i]; r.in.Busy && h.Utilization == nil {
			add(overloadCode(h.Kind), sameComponent, "slows the same paths, and how much the bus is used cannot be read on this host")
		}
		if code == diagnosis.InterSocketFailure && r.allRemoteMemorySlow() {
			add(diagnosis.PlatformLimit, 1,
				"all remote memory is below a default baseline: the platform may be built so; calibrate on a healthy host")
		}
	}
	return rivals
}

// besideSetting are the other hops that alone explain paths which a setting explains.
func (r *run) besideSetting(own int, paths []int) (rivals []rival) {
	if r.in.Plain.Ambiguity || len(paths) == 0 {
		return nil
	}
	shared := r.possible(paths[0])
	for _, i := range paths[1:] {
		possible := r.possible(i)
		shared = slices.DeleteFunc(shared, func(h int) bool { return !slices.Contains(possible, h) })
	}
	for _, h := range shared {
		if h != own {
			rivals = append(rivals, rival{diagnosis.Alternative{
				Code: r.code(h, paths), Components: []string{r.hops[h].Hop},
				Reason: "explains the same slow paths, if the setting that is on does not",
			}, sameComponent})
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
