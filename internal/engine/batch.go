package engine

import "slices"

// Conflict reports whether two steps must not run side by side: they share a
// hop, a device (whose own link they share even where no hop says so), or a port.
func Conflict(a, b Step) bool {
	var taken occupancy
	taken.take(a)
	return taken.blocks(b)
}

// Batches is the order in which a round reads every path, as indexes into
// Steps. The steps of a batch run side by side; no two of them conflict.
func (p Plan) Batches() [][]int {
	all := make([]int, len(p.Steps))
	for i := range all {
		all[i] = i
	}
	batches := [][]int{}
	for pending := p.spread(all); len(pending) > 0; {
		var batch []int
		batch, pending = p.nextBatch(pending)
		batches = append(batches, batch)
	}
	return batches
}

// spread orders steps so that devices take turns, each beginning at another
// of its endpoints: a slow device then delays its own paths last, and
// neighbours in the order seldom conflict.
func (p Plan) spread(steps []int) []int {
	devices := []string{}
	ofDevice := map[string][]int{}
	for _, step := range steps {
		device := p.Steps[step].Device
		if ofDevice[device] == nil {
			devices = append(devices, device)
		}
		ofDevice[device] = append(ofDevice[device], step)
	}
	ordered := make([]int, 0, len(steps))
	for turn := 0; len(ordered) < len(steps); turn++ {
		for i, device := range devices {
			if own := ofDevice[device]; turn < len(own) {
				ordered = append(ordered, own[(turn+i)%len(own)])
			}
		}
	}
	return ordered
}

// nextBatch takes from pending, in order, what may run side by side now.
func (p Plan) nextBatch(pending []int) (batch, rest []int) {
	var taken occupancy
	for i, step := range pending {
		if len(batch) == max(1, p.Limits.Parallel) {
			if len(rest) == 0 { // no copy: rounds of one probe at a time stay linear
				return batch, pending[i:]
			}
			return batch, append(rest, pending[i:]...)
		}
		if taken.blocks(p.Steps[step]) {
			rest = append(rest, step)
			continue
		}
		taken.take(p.Steps[step])
		batch = append(batch, step)
	}
	return batch, rest
}

// occupancy is what the steps of a batch hold.
type occupancy struct {
	hops    map[string]bool
	devices map[string]bool
}

func (o *occupancy) take(s Step) {
	if o.hops == nil {
		o.hops, o.devices = map[string]bool{}, map[string]bool{}
	}
	o.devices[s.Device] = true
	for _, hop := range s.Request.Path.Hops {
		o.hops[hop] = true
	}
}

func (o *occupancy) blocks(s Step) bool {
	if o.devices[s.Device] || slices.ContainsFunc(s.PortPeers, func(device string) bool { return o.devices[device] }) {
		return true
	}
	for _, hop := range s.Request.Path.Hops {
		if o.hops[hop] {
			return true
		}
	}
	return false
}
