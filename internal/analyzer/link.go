package analyzer

import (
	"fmt"

	"github.com/yuuki/hostping/internal/topology"
)

// link is what the probes saw of a hop's PCIe link while they loaded it.
type link struct {
	downgraded bool   // slower or narrower than both ends could be
	line       string // the sentence for people; "" when nothing was seen
}

// loadedLink compares the best speed and width that any probe saw under load
// with the expected ones. The best, because a link may be caught between two
// states; a link at an emulated port says nothing.
func (r *run) loadedLink(i int) link {
	facts := r.hops[i].facts
	if facts.Trust == topology.TrustNonsense || facts.Trust == topology.TrustUnknown {
		return link{}
	}
	var speedGTs *float64
	var width *int
	for _, j := range r.hops[i].paths {
		for _, read := range r.paths[j].reads {
			for _, sample := range read.Links {
				if sample.Hop != facts.ID {
					continue
				}
				if s := sample.SpeedGTs; s != nil && (speedGTs == nil || *s > *speedGTs) {
					speedGTs = s
				}
				if w := sample.Width; w != nil && (width == nil || *w > *width) {
					width = w
				}
			}
		}
	}
	var l link
	slow := speedGTs != nil && facts.ExpectedSpeedGTs != nil && *speedGTs < *facts.ExpectedSpeedGTs
	narrow := width != nil && facts.ExpectedWidth != nil && *width < *facts.ExpectedWidth
	if slow || narrow {
		l.downgraded = true
		l.line = fmt.Sprintf("its link ran at %s under load, both ends can do %s",
			linkState(speedGTs, width), linkState(facts.ExpectedSpeedGTs, facts.ExpectedWidth))
	} else if speedGTs != nil && width != nil {
		l.line = fmt.Sprintf("its link ran at %s under load", linkState(speedGTs, width))
	}
	return l
}

func linkState(speedGTs *float64, width *int) string {
	speed, lanes := "an unknown speed", "unknown width"
	if speedGTs != nil {
		speed = fmt.Sprintf("%g GT/s", *speedGTs)
	}
	if width != nil {
		lanes = fmt.Sprintf("x%d", *width)
	}
	return speed + " " + lanes
}
