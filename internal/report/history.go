package report

import (
	"github.com/yuuki/hostping/internal/analyzer"
	"github.com/yuuki/hostping/internal/topology"
)

// Past is the history that the report holds, its own run last: what the next
// run of the host looks back on.
func (r *Report) Past() analyzer.History {
	h := analyzer.History{ActivePorts: make(map[string]bool, len(r.Monitor.ActivePorts))}
	for _, port := range r.Monitor.ActivePorts {
		h.ActivePorts[port] = true
	}
	for _, s := range r.History {
		h.Hops = append(h.Hops, analyzer.HopSeries{Hop: s.Hop, Verdicts: words[analyzer.Verdict](s.Verdicts)})
	}
	for _, s := range r.PathHistory {
		h.Paths = append(h.Paths, analyzer.PathSeries{
			Path: topology.PathKey{RNIC: s.RNIC, Endpoint: s.Endpoint}, Verdicts: words[analyzer.Verdict](s.Verdicts),
		})
	}
	return h
}

// keepHistory writes a history into the report.
func (r *Report) keepHistory(h analyzer.History) {
	for _, s := range h.Hops {
		r.History = append(r.History, HopHistory{Hop: s.Hop, Verdicts: words[string](s.Verdicts)})
	}
	for _, s := range h.Paths {
		r.PathHistory = append(r.PathHistory, PathHistory{
			RNIC: s.Path.RNIC, Endpoint: s.Path.Endpoint, Verdicts: words[string](s.Verdicts),
		})
	}
}

func words[To, From ~string](list []From) []To {
	converted := make([]To, len(list))
	for i, w := range list {
		converted[i] = To(w)
	}
	return converted
}
