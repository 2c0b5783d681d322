package monitor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// SourceState is how a source of the monitor is doing.
type SourceState string

// States of a source.
const (
	SourceOK          SourceState = "ok"
	SourceUnavailable SourceState = "unavailable"
	SourceFailing     SourceState = "failing"
)

// Source is one row of the list of sources.
type Source struct {
	Name   string      `json:"name"`
	State  SourceState `json:"state"`
	Reason string      `json:"reason"`
}

// Trouble is what one device does not tell. Device is "" for a source as a whole.
type Trouble struct {
	Source string      `json:"source"`
	Device string      `json:"device"`
	State  SourceState `json:"state"` // unavailable or failing
	Reason string      `json:"reason"`
}

// Names of the sources, as reports and metrics use them.
const (
	sourceRNICPort   = "rnic_port"
	sourceRNICPause  = "rnic_pause"
	sourceRNICDrops  = "rnic_drops"
	sourceRNICErrors = "rnic_errors"
	sourceGPU        = "gpu"
	sourcePCIe       = "pcie"
	sourceRNICConfig = "rnic_config"
	sourceMemoryBus  = "memory_bus"
	sourceSocketBus  = "inter_socket_bus"
)

// SourceNames lists the sources in the order of every list of them.
func SourceNames() []string {
	return []string{
		sourceRNICPort, sourceRNICPause, sourceRNICDrops, sourceRNICErrors, sourceGPU, sourcePCIe, sourceRNICConfig,
		sourceMemoryBus, sourceSocketBus,
	}
}

// source looks at one kind of hardware.
type source interface {
	look(ctx context.Context) look
}

// look is what a source saw. It is a value: two of them tell what went on in
// between, whoever else looked meanwhile.
type look interface {
	// since enters what went on since an earlier look of the same source, nil
	// for none, into the account.
	since(earlier look, into *account)
}

// problem is what one device does not tell, and why.
type problem struct {
	device string
	err    error
}

// isMissing reports whether an error means that there is nothing to read,
// rather than that reading went wrong.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUnavailable) || errors.Is(err, syscall.ENODEV)
}

// summarise is a source's state from its devices': ok when all of them could
// be read, unavailable when there was nothing to read, failing otherwise.
// nothing says why a source without devices has none.
func summarise(name string, devices int, problems []problem, nothing string) (Source, []Trouble) {
	switch {
	case devices == 0:
		return Source{name, SourceUnavailable, nothing}, []Trouble{{name, "", SourceUnavailable, nothing}}
	case len(problems) == 0:
		return Source{name, SourceOK, ""}, nil
	}
	missing := 0
	var troubles []Trouble
	for _, p := range problems {
		state := SourceFailing
		if isMissing(p.err) {
			missing++
			state = SourceUnavailable
		}
		troubles = append(troubles, Trouble{name, p.device, state, p.err.Error()})
	}
	reason := problems[0].err.Error()
	if problems[0].device != "" {
		reason = problems[0].device + ": " + reason
	}
	if more := len(problems) - 1; more > 0 {
		reason = fmt.Sprintf("%s (and %d more)", reason, more)
	}
	if missing == devices {
		return Source{name, SourceUnavailable, reason}, troubles
	}
	return Source{name, SourceFailing, reason}, troubles
}
