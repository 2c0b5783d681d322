package picture

import (
	"fmt"
	"slices"

	"github.com/yuuki/hostping/internal/topology"
)

// Marks is what a run found, to be drawn onto the picture. The zero value
// draws the host alone.
type Marks struct {
	Hops  map[string]string           // verdict by hop id
	Paths map[topology.PathKey]string // verdict by path
	// Blames are the diagnoses, numbered in this order.
	Blames []Blame
}

// Blame is a diagnosis as the picture shows it.
type Blame struct {
	Components []string // hop or device ids
	Text       string   // "critical rnic_pcie_failure at rnic_pcie:rnic0"
}

// blamed lists the numbers of the diagnoses that name a component.
func (m Marks) blamed(component string) []int {
	var numbers []int
	for i, b := range m.Blames {
		if slices.Contains(b.Components, component) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// verdicts in the order in which a legend lists them and the worst is found.
var verdicts = []string{"abnormal", "flapping", "gray", "uncertain", "unmeasured", "normal"}

// tally sums up the verdicts of a device's paths where there is something to
// say: "3 of 10 paths abnormal". The verdict is the device's own where it
// holds for most of its paths; "" where it may well be the other end's.
func (m Marks) tally(t topology.Topology, device string) (verdict, text string) {
	counts, total := map[string]int{}, 0
	for _, p := range t.Paths {
		if p.RNIC != device && p.Endpoint != device {
			continue
		}
		total++
		if v := m.Paths[p.Key()]; v != "" {
			counts[v]++
		}
	}
	switch n := counts["abnormal"]; {
	case len(counts) == 0, n == 0 && counts["normal"] > 0:
		return "", ""
	case n > 0:
		if 2*n > total {
			verdict = "abnormal"
		}
		return verdict, fmt.Sprintf("%d of %s abnormal", n, count(total, "path"))
	case counts["uncertain"] > 0:
		return "uncertain", "no path proves anything"
	}
	return "unmeasured", "no path measured"
}
