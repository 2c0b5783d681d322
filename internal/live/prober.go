package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yuuki/hostping/internal/native"
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// Loopback is the native call behind a Prober.
type Loopback func(context.Context, native.LoopbackConfig) (native.LoopbackResult, error)

// Prober measures paths to host memory with the RDMA loopback of the data
// plane. It is safe for concurrent use.
type Prober struct {
	rnics    map[string]topology.RNIC
	memory   map[string]topology.MemoryNode
	linkDirs map[string]string // hop id to the sysfs directory of its link
	loopback Loopback
}

// NewProber measures on the RNICs of t; linkDirs names the directory whose
// current_link_speed belongs to a hop, where there is one.
func NewProber(t topology.Topology, linkDirs map[string]string, loopback Loopback) *Prober {
	p := &Prober{
		rnics:    map[string]topology.RNIC{},
		memory:   map[string]topology.MemoryNode{},
		linkDirs: linkDirs,
		loopback: loopback,
	}
	for _, r := range t.RNICs {
		p.rnics[r.ID] = r
	}
	for _, m := range t.MemoryNodes {
		p.memory[m.ID] = m
	}
	return p
}

// Probe implements engine.Prober.
func (p *Prober) Probe(ctx context.Context, req probe.Request) (probe.Reading, error) {
	key := req.Path.Key()
	rnic, known := p.rnics[key.RNIC]
	if !known {
		return probe.Reading{}, &probe.Failure{Reason: probe.ReasonUnusable, Detail: fmt.Sprintf("%s is not an RNIC of this host", key.RNIC)}
	}
	if !rnic.Usable {
		return probe.Reading{}, &probe.Failure{Reason: probe.ReasonUnusable, Detail: fmt.Sprintf("%s: %s", rnic.ID, rnic.Reason)}
	}
	memory, known := p.memory[key.Endpoint]
	if !known {
		return probe.Reading{}, &probe.Failure{Reason: probe.ReasonUnsupported, Detail: fmt.Sprintf("%s is not a memory node of this host; this version probes host memory only", key.Endpoint)}
	}
	if err := ctx.Err(); err != nil {
		return probe.Reading{}, &probe.Failure{Reason: reasonOf(err), Detail: fmt.Sprintf("probe of %s not started", key)}
	}

	config := configure(rnic, memory, req)
	var hops []string
	for _, hop := range req.Path.Hops {
		if dir := p.linkDirs[hop]; dir != "" && len(hops) < native.HopsMax {
			hops = append(hops, hop)
			config.HopDirs = append(config.HopDirs, dir)
		}
	}
	if deadline, ok := ctx.Deadline(); ok {
		config.Deadline = max(time.Millisecond, min(config.Deadline, time.Until(deadline)))
	}
	result, err := p.loopback(ctx, config)
	if err != nil {
		return probe.Reading{}, failure(key, err)
	}
	return reading(config, result, hops), nil
}

// toolCheckShare: a figure below this share of what is expected makes the
// data plane repeat with twice the connections before anybody believes it.
// It is above the 0.8 of the path threshold, so that every figure that could
// be called abnormal was checked.
const toolCheckShare = 0.85

// configure fits one probe to the RNIC and into the request's budget.
func configure(rnic topology.RNIC, memory topology.MemoryNode, req probe.Request) native.LoopbackConfig {
	lineRateGbps := 0.0 // unknown: as the slowest
	if rnic.RateGbps != nil {
		lineRateGbps = *rnic.RateGbps
	}
	config := native.DefaultLoopbackConfig(rnic.Name, rnic.Port, lineRateGbps)
	config.MemoryNode = &memory.NUMANode
	config.RNICNode = rnic.NUMANode
	if rnic.LAGPorts != nil {
		// One connection is hashed to one port.
		config.Connections = min(max(config.Connections, *rnic.LAGPorts), native.ConnectionsMax)
	}
	if req.ExpectedGbps != nil {
		config.ToolCheckBelowBytesPerSecond = uint64(toolCheckShare * *req.ExpectedGbps * 1e9 / 8)
	}
	budget := req.Budget
	if budget.Bytes > 0 {
		config.BandwidthBytesMax = min(config.BandwidthBytesMax, uint64(budget.Bytes))
	}
	if budget.Duration > 0 {
		config.BandwidthBudget = budget.Duration
	}
	if budget.QueuePairs > 0 {
		const ends, toolCheck = 2, 2
		config.Connections = max(1, min(config.Connections, budget.QueuePairs/(ends*toolCheck)))
	}
	if budget.PinnedBytes > 0 {
		const regions = 2
		config.RegionBytes = max(config.MessageBytes, min(config.RegionBytes, int(budget.PinnedBytes/regions)))
	}
	return config
}

// reading turns the data plane's result block into the engine's words.
func reading(config native.LoopbackConfig, r native.LoopbackResult, hops []string) probe.Reading {
	best := r.Sustained
	limited := r.ToolCheck == native.ToolCheckToolLimited && r.Repeat != nil
	if limited {
		best = *r.Repeat
	}
	noise := float64(r.SelfNoiseP50.Nanoseconds())
	out := probe.Reading{
		BandwidthGbps: best.Gbps(),
		Latency: probe.Latency{
			P50Us: microseconds(r.Small.P50), P99Us: microseconds(r.Small.P99),
			MinUs: microseconds(r.Small.Min), MaxUs: microseconds(r.Small.Max), Samples: r.Small.Count,
		},
		ToolLimited: limited,
		SelfNoiseNs: &noise,
		Setup: &probe.Setup{
			QueuePairs: best.Connections * 2, Depth: best.Window, MessageBytes: config.MessageBytes,
			MTUBytes: r.MTUBytes, Pages: pages(r.PageKind),
		},
	}
	if r.PaperBytesPerSecond != nil {
		gbps := float64(*r.PaperBytesPerSecond) * 8 / 1e9
		out.PaperBandwidthGbps = &gbps
	}
	if r.GIDIndex != nil {
		index := int(*r.GIDIndex)
		out.Setup.GIDIndex = &index
	}
	for i, hop := range hops {
		if i >= len(r.Hops) {
			break
		}
		sample := probe.LinkSample{Hop: hop}
		if speed := r.Hops[i].During.SpeedMTs; speed != nil {
			gts := float64(*speed) / 1000
			sample.SpeedGTs = &gts
		}
		if lanes := r.Hops[i].During.WidthLanes; lanes != nil {
			width := int(*lanes)
			sample.Width = &width
		}
		out.Links = append(out.Links, sample)
	}
	return out
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func pages(kind native.PageKind) string {
	if kind == native.PagesHuge2MiB {
		return "2m"
	}
	return "base"
}

// reasons maps what the data plane reports to the words of reports. Statuses
// that are missing here are programming errors of ours: ReasonInternal.
var reasons = map[native.Status]probe.Reason{
	native.StatusCancelled:              probe.ReasonCancelled,
	native.StatusDeadlineExceeded:       probe.ReasonDeadline,
	native.StatusAbandoned:              probe.ReasonDeadline,
	native.StatusDeviceNotFound:         probe.ReasonDeviceRemoved,
	native.StatusUverbsMissing:          probe.ReasonNotAccessible,
	native.StatusPermissionDenied:       probe.ReasonNotPermitted,
	native.StatusDeviceUnusable:         probe.ReasonUnusable,
	native.StatusDeviceRemoved:          probe.ReasonDeviceRemoved,
	native.StatusDeviceUnsupported:      probe.ReasonUnsupported,
	native.StatusPortNotActive:          probe.ReasonPortNotActive,
	native.StatusPortChanged:            probe.ReasonPortNotActive,
	native.StatusNoUsableGID:            probe.ReasonNoUsableGID,
	native.StatusMemlockLimit:           probe.ReasonMemlockLimit,
	native.StatusMemoryRefused:          probe.ReasonResourceRefused,
	native.StatusPlacementFailed:        probe.ReasonPlacementFailed,
	native.StatusRegistrationRefused:    probe.ReasonRegistrationRefused,
	native.StatusCompletionQueueRefused: probe.ReasonResourceRefused,
	native.StatusQueuePairRefused:       probe.ReasonQueuePairRefused,
	native.StatusPostRefused:            probe.ReasonQueuePairRefused,
	native.StatusCompletionLost:         probe.ReasonLostCompletion,
	native.StatusCompletionFailed:       probe.ReasonFailedCompletion,
	native.StatusWrongData:              probe.ReasonWrongData,
}

// failure names why a probe gave no reading.
func failure(key topology.PathKey, err error) *probe.Failure {
	var status native.Status
	var detail *native.Error
	switch {
	case errors.As(err, &detail):
		status = detail.Status
	case errors.As(err, &status):
	default:
		return &probe.Failure{Reason: probe.ReasonInternal, Detail: fmt.Sprintf("probe of %s: %v", key, err)}
	}
	reason, known := reasons[status]
	if !known {
		reason = probe.ReasonInternal
	}
	return &probe.Failure{Reason: reason, Detail: err.Error()}
}

// reasonOf tells a cancelled context from one whose time is up.
func reasonOf(err error) probe.Reason {
	if errors.Is(err, context.DeadlineExceeded) {
		return probe.ReasonDeadline
	}
	return probe.ReasonCancelled
}
