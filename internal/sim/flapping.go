package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/yuuki/hostping/internal/suggest"
	"github.com/yuuki/hostping/internal/topology"
)

const flappingKind = "flapping"

const (
	// A flapping fault is there for one flapTime and gone for the next. It is
	// there when the simulation begins.
	flapTime = time.Second
	// readTime is how far one read moves the simulated clock, whatever the
	// real one does.
	readTime = 125 * time.Millisecond
)

// flapping is the kind whose fault, one of a hop, comes and goes. Its target
// is written as that fault is: flapping:memory:mem0=0.4.
func flapping() faultKind {
	return faultKind{
		name:    flappingKind,
		comes:   true,
		changes: fmt.Sprintf("lets the fault of a hop come and go, %v each in the simulation's own time; --runs 3 tells it from one that stays", flapTime),
		target:  "fault of a hop",
		list: func(p *physics) []string {
			var targets []string
			for _, k := range hopFaults() {
				for _, part := range k.list(p) {
					targets = append(targets, k.name+":"+part)
				}
			}
			return targets
		},
		apply: func(p *physics, target string, severity float64) {
			name, part, _ := strings.Cut(target, ":")
			p.limit(name+":"+part, remaining(severity)*p.fastestGbps(name+":"+part))
		},
	}
}

// flappingTarget names a flapping fault's hop as the kind lists it. The error
// tells the inner fault's mistakes as if it had been given alone.
func (p *physics) flappingTarget(target string) (string, error) {
	name, part, ok := strings.Cut(target, ":")
	var names []string
	for _, k := range hopFaults() {
		names = append(names, k.name)
		if ok && k.name == name {
			inner, err := p.settle(Fault{Kind: name, Target: part})
			return topology.HopID(k.hop, inner.Target), err
		}
	}
	if !ok {
		return "", fmt.Errorf("no fault of a hop %q that could flap; want flapping:KIND:TARGET, such as flapping:rnic_pcie:%s", target, exampleTarget(p))
	}
	return "", fmt.Errorf("%q cannot flap; %s", name, suggest.For(name, names))
}

// there reports whether flapping faults are there at a time of the simulation.
func there(at time.Duration) bool { return at/flapTime%2 == 0 }
