package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/suggest"
	"github.com/yuuki/hostping/internal/topology"
)

// ParseFault reads KIND:TARGET or KIND:TARGET=SEVERITY as a fault of this
// topology. The error says in one line what is wrong with the text, which it
// leaves to the caller to name, and what would be right.
func ParseFault(text string, t topology.Topology) (Fault, error) {
	healthy, err := newPhysics(t)
	if err != nil {
		return Fault{}, err
	}
	kind, target, ok := strings.Cut(text, ":")
	if !ok && isDigits(text) {
		return Fault{}, decimalComma(text)
	}
	if !ok {
		return Fault{}, fmt.Errorf("want KIND:TARGET[=SEVERITY], such as rnic_pcie:%s", exampleTarget(healthy))
	}
	f := Fault{Kind: kind, Target: target, Severity: DefaultSeverity}
	if i := strings.LastIndexByte(target, '='); i >= 0 {
		f.Target = target[:i]
		if f.Severity, err = parseShare(target[i+1:]); err != nil {
			return Fault{}, fmt.Errorf("severity %w", err)
		}
	}
	return healthy.settle(f)
}

func exampleTarget(p *physics) string {
	if rnics := probedRNICs(p); len(rnics) > 0 {
		return rnics[0]
	}
	return "rnic0"
}

// isDigits is true of what a decimal comma leaves behind.
func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func decimalComma(digits string) error {
	return fmt.Errorf("commas separate entries; write a number with a decimal point, as 0.%s", digits)
}

// parseShare reads a decimal number from 0 to 1.
func parseShare(text string) (float64, error) {
	if share, err := strconv.ParseFloat(text, 64); err == nil && isShare(share) && !strings.ContainsAny(text, "xX") {
		return share, nil
	}
	return 0, fmt.Errorf("%q is not a number from 0 to 1", text)
}

// isShare is false for what is not a number as well.
func isShare(v float64) bool { return v >= 0 && v <= 1 }

// settle checks the fault against the host and gives its target the name by
// which the kind lists it.
func (p *physics) settle(f Fault) (Fault, error) {
	kind, err := kindOf(f.Kind)
	if err != nil {
		return Fault{}, err
	}
	if !isShare(f.Severity) {
		return Fault{}, fmt.Errorf("severity %g is not a number from 0 to 1", f.Severity)
	}
	if kind.comes {
		if f.Target, err = p.flappingTarget(f.Target); err != nil {
			return Fault{}, err
		}
	}
	targets := kind.targetsOn(p)
	if slices.Contains(targets, f.Target) {
		return f, nil
	}
	if hop, ok := p.hopServing(kind.hop, f.Target); ok && slices.Contains(targets, hop) {
		f.Target = hop
		return f, nil
	}
	hint := suggest.For(f.Target, targets)
	if hop, ok := p.linkAbove(f.Target); ok && kind.hop != "" {
		hint = "did you mean " + hop + "?"
	}
	return Fault{}, fmt.Errorf("no %s %q for %s faults; %s", kind.target, f.Target, f.Kind, hint)
}

// linkAbove is the hop of the link above a switch, which may bear the name of the root port.
func (p *physics) linkAbove(switchID string) (hop string, ok bool) {
	for _, kind := range []topology.HopKind{topology.HopSwitch, topology.HopRootPort} {
		if part, ok := p.hopServing(kind, switchID); ok {
			return topology.HopID(kind, part), true
		}
	}
	return "", false
}

func kindOf(name string) (faultKind, error) {
	var names []string
	for _, k := range faultKinds() {
		if k.name == name {
			return k, nil
		}
		names = append(names, k.name)
	}
	return faultKind{}, fmt.Errorf("unknown fault kind %q; %s", name, suggest.For(name, names))
}

// targetsOn lists the kind's targets, "all" included.
func (k faultKind) targetsOn(p *physics) []string {
	targets := k.list(p)
	if k.takesAll && len(targets) > 0 {
		targets = append(targets, allTargets)
	}
	return targets
}

// hopServing finds a hop by one of its members: any RNIC on a shared link, the
// switch below a root port.
func (p *physics) hopServing(kind topology.HopKind, member string) (part string, ok bool) {
	for _, h := range p.hops {
		if h.Kind == kind && kind != topology.HopInterSocket && slices.Contains(h.Members, member) {
			return hopPart(h), true
		}
	}
	return "", false
}

// inject returns the host with the faults, those that come and go only if they
// are there just now.
func (p *physics) inject(faults []Fault, there bool) (*physics, error) {
	sick := p.clone()
	for _, f := range faults {
		settled, err := p.settle(f)
		if err != nil {
			return nil, fmt.Errorf("fault %v: %w", f, err)
		}
		f = settled
		if f.Severity == 0 {
			continue
		}
		kind, err := kindOf(f.Kind)
		if err != nil {
			return nil, err
		}
		if kind.comes && !there {
			continue
		}
		targets := []string{f.Target}
		if kind.takesAll && f.Target == allTargets {
			targets = kind.list(p)
		}
		for _, target := range targets {
			kind.apply(sick, target, f.Severity)
		}
	}
	return sick, nil
}

// KindTargets is a kind of fault and where it shows on a topology.
type KindTargets struct {
	Kind            string   `json:"kind"`
	Changes         string   `json:"changes"` // what it does to the host, in one line
	Target          string   `json:"target"`  // what a target is: "RNIC", "switch"
	DefaultSeverity float64  `json:"default_severity"`
	OnOrOff         bool     `json:"on_or_off"` // any severity above 0 is the same
	Targets         []string `json:"targets"`
}

// visibleShare is how much bandwidth a path must lose for a target to be
// listed: what makes a path abnormal in the paper.
const visibleShare = 0.2

// Targets lists every kind of fault with those targets on which, at default
// severity, it takes more than a fifth of some path's bandwidth. A link that
// is much wider than all that cross it is not among them.
func Targets(t topology.Topology) ([]KindTargets, error) {
	healthy, err := newPhysics(t)
	if err != nil {
		return nil, err
	}
	var list []KindTargets
	for _, kind := range faultKinds() {
		row := KindTargets{
			Kind: kind.name, Changes: kind.changes, Target: kind.target,
			DefaultSeverity: DefaultSeverity, OnOrOff: kind.onOrOff, Targets: []string{},
		}
		for _, target := range kind.targetsOn(healthy) {
			sick, err := healthy.inject([]Fault{{kind.name, target, DefaultSeverity}}, true)
			if err != nil {
				return nil, err
			}
			if sick.worseThan(healthy) {
				row.Targets = append(row.Targets, target)
			}
		}
		list = append(list, row)
	}
	return list, nil
}

// worseThan reports whether any path lost its visible share.
func (p *physics) worseThan(healthy *physics) bool {
	return slices.ContainsFunc(healthy.routes, func(r route) bool {
		return p.figure(&r, load{}).bandwidthGbps < (1-visibleShare)*healthy.figure(&r, load{}).bandwidthGbps
	})
}
