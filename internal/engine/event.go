package engine

import (
	"github.com/yuuki/hostping/internal/probe"
	"github.com/yuuki/hostping/internal/topology"
)

// EventKind says what happened in a run.
type EventKind string

// Kinds of event, in the order in which a run sends them. EventRound comes
// before each round of reads, EventStarted before each probe, and EventRead
// or EventFailed once a path's read is over, tried or not.
const (
	EventPlanned  EventKind = "planned"
	EventRound    EventKind = "round"
	EventStarted  EventKind = "started"
	EventRead     EventKind = "read"
	EventFailed   EventKind = "failed"
	EventFinished EventKind = "finished"
)

// Event is one step of a run's progress.
type Event struct {
	Kind  EventKind
	Round int              // 1 reads every path, later ones read suspects again
	Path  topology.PathKey // of EventStarted, EventRead and EventFailed
	// Done of Total paths of the present round are over; in EventFinished,
	// of the whole plan, how many paths have a reading.
	Done, Total int
	Reading     *probe.Reading // of EventRead
	Failure     *probe.Failure // of EventFailed
	End         EndReason      // of EventFinished
}
