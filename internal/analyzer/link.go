package analyzer

import (
	"fmt"

	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// link is what the probes saw of a hop's PCIe link while they loaded it: the
// best speed and width of all samples, because a link may be caught between
// two states. nil was never seen.
type link struct {
	speedGTs   *float64
	width      *int
	downgraded bool   // slower or narrower than both ends could be
	whole      bool   // as fast and as wide as both ends can be
	line       string // the sentence for people; "" when nothing is to be said
}

func (l *link) observe(sample probe.LinkSample) {
	if s := sample.SpeedGTs; s != nil && (l.speedGTs == nil || *s > *l.speedGTs) {
		l.speedGTs = s
	}
	if w := sample.Width; w != nil && (l.width == nil || *w > *l.width) {
		l.width = w
	}
}

// judge compares what was seen with what both ends can do. A link at an
// emulated port says nothing.
func (l *link) judge(facts topology.Hop) {
	if facts.Trust == topology.TrustNonsense || facts.Trust == topology.TrustUnknown {
		return
	}
	slow := l.speedGTs != nil && facts.ExpectedSpeedGTs != nil && *l.speedGTs < *facts.ExpectedSpeedGTs
	narrow := l.width != nil && facts.ExpectedWidth != nil && *l.width < *facts.ExpectedWidth
	switch {
	case slow || narrow:
		l.downgraded = true
		l.line = fmt.Sprintf("its link ran at %s under load, both ends can do %s",
			linkState(l.speedGTs, l.width), linkState(facts.ExpectedSpeedGTs, facts.ExpectedWidth))
	case l.speedGTs != nil && l.width != nil:
		l.whole = facts.ExpectedSpeedGTs != nil && facts.ExpectedWidth != nil
		l.line = fmt.Sprintf("its link ran at %s under load", linkState(l.speedGTs, l.width))
	}
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
