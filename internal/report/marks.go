package report

import (
	"cmp"

	"github.com/yuuki/hostping/internal/picture"
	"github.com/yuuki/hostping/internal/topology"
)

// Marks is what the run found, for the host's picture.
func (r *Report) Marks() picture.Marks {
	m := picture.Marks{Hops: map[string]string{}, Paths: map[topology.PathKey]string{}}
	for _, h := range r.Hops {
		m.Hops[h.ID] = h.Verdict
	}
	for _, p := range r.Measurements {
		m.Paths[topology.PathKey{RNIC: p.RNIC, Endpoint: p.Endpoint}] = p.Verdict
	}
	for _, u := range r.Unmeasured {
		key := topology.PathKey{RNIC: u.RNIC, Endpoint: u.Endpoint}
		m.Paths[key] = cmp.Or(m.Paths[key], "unmeasured")
	}
	for _, d := range r.Diagnoses {
		components := d.Components
		if len(components) == 0 {
			components = []string{d.Component}
		}
		m.Blames = append(m.Blames, picture.Blame{
			Components: components,
			Text:       string(d.Severity) + " " + string(d.Code) + " at " + d.Component,
		})
	}
	return m
}
