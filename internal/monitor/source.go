package monitor

import (
	"errors"
	"fmt"
	"io/fs"
)

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

// errUnavailable is the problem of a figure that nothing on this host, or in
// this version, can give; what exists and cannot be read is failing instead.
var errUnavailable = errors.New("unavailable")

// sources is the list of all sources of a live host, in a fixed order.
func sources(rnicPort, gpu Source) []Source {
	const notRead = "not read by this version"
	return []Source{
		rnicPort,
		{sourceRNICPause, SourceUnavailable, notRead},
		{sourceRNICDrops, SourceUnavailable, notRead},
		{sourceRNICErrors, SourceUnavailable, notRead},
		gpu,
		{sourcePCIe, SourceUnavailable, notRead},
		{sourceRNICConfig, SourceUnavailable, "slow start and Tx window cannot be read on a live host"},
		{sourceMemoryBus, SourceUnavailable, notRead},
		{sourceSocketBus, SourceUnavailable, notRead},
	}
}

// summarise is a source's state from its devices': ok when all could be read,
// unavailable when there was nothing to read, failing otherwise.
func summarise(name string, loads []Load, nothing string) Source {
	if len(loads) == 0 {
		return Source{name, SourceUnavailable, nothing}
	}
	var reason string
	problems, missing := 0, 0
	for _, load := range loads {
		if load.Problem == nil {
			continue
		}
		if problems++; problems == 1 {
			reason = load.ID + ": " + load.Problem.Error()
		}
		if errors.Is(load.Problem, fs.ErrNotExist) || errors.Is(load.Problem, errUnavailable) {
			missing++
		}
	}
	if problems > 1 {
		reason = fmt.Sprintf("%s (and %d more)", reason, problems-1)
	}
	switch {
	case problems == 0:
		return Source{name, SourceOK, ""}
	case missing == len(loads):
		return Source{name, SourceUnavailable, reason}
	}
	return Source{name, SourceFailing, reason}
}
