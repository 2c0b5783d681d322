package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// Noise is how much the reads of a healthy path differ.
type Noise string

// Noises. NoiseTypical is the default.
const (
	NoiseNone    Noise = "none"
	NoiseTypical Noise = "typical" // spread 2.5 %, one read in 1000 slow
	NoiseHarsh   Noise = "harsh"   // spread 4 %, one read in 100 slow
)

// Noises lists them, quietest first.
func Noises() []Noise { return []Noise{NoiseNone, NoiseTypical, NoiseHarsh} }

// level returns the standard deviation of a read as a share of its figure,
// and the share of reads that something else on the host slows down.
func (n Noise) level() (spread, slowShare float64) {
	switch n {
	case NoiseTypical:
		return 0.025, 0.001
	case NoiseHarsh:
		return 0.04, 0.01
	}
	return 0, 0
}

// A slow read keeps between these shares of its bandwidth.
const slowFrom, slowTo = 0.5, 0.9

// latencySamples is the number of 1-byte writes that a simulated read stands for.
const latencySamples = 1000

// read is the path's n-th read, from its figure. It depends on the arguments
// alone, so that neither the order nor the parallelism of probes changes it.
func (n Noise) read(f figure, seed uint64, path topology.PathKey, number uint64) probe.Reading {
	spread, slowShare := n.level()
	random := randomOf(seed, path, number)
	around := func() float64 { return max(0.1, 1+spread*random.NormFloat64()) }

	bandwidth, oneByOne, latency := around(), around(), around()
	if slow := slowFrom + (slowTo-slowFrom)*random.Float64(); random.Float64() < slowShare {
		bandwidth, oneByOne, latency = bandwidth*slow, oneByOne*slow, latency/slow
	}
	p50 := f.latencyUs * latency
	// The 1-byte writes of one read: a floor close below the median, a long tail above.
	tail := func(spreads float64) float64 { return 1 + spreads*spread*(0.5+random.Float64()) }
	p99 := p50 * tail(4)
	return probe.Reading{
		BandwidthGbps:      f.bandwidthGbps * bandwidth,
		PaperBandwidthGbps: new(f.bandwidthGbps * oneByOne),
		Latency: probe.Latency{
			P50Us:   p50,
			P99Us:   p99,
			MinUs:   p50 / tail(2),
			MaxUs:   p99 * tail(16),
			Samples: latencySamples,
		},
	}
}

// randomOf is the source of randomness of one read.
func randomOf(seed uint64, path topology.PathKey, number uint64) *rand.Rand {
	var text []byte
	text = binary.BigEndian.AppendUint64(text, seed)
	text = binary.BigEndian.AppendUint64(text, number)
	text = append(text, path.RNIC+"\x00"+path.Endpoint...)
	return rand.New(rand.NewChaCha8(sha256.Sum256(text)))
}
