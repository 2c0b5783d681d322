// Package diagnosis holds the words for causes: the codes, their catalogue
// (meaning, what to check first, how it clears) and the values that a run
// leaves behind, Diagnosis and Finding.
package diagnosis

import (
	"cmp"
	"slices"

	"github.com/yuuki/hostping/internal/topology"
)

// Code is a stable diagnosis or finding code.
type Code string

// Codes of diagnoses that name a part. The catalogue explains each.
const (
	RNICPCIeFailure       Code = "rnic_pcie_failure"
	GPUPCIeFailure        Code = "gpu_pcie_failure"
	RootPortFailure       Code = "root_port_failure"
	SwitchLinkFailure     Code = "switch_link_failure"
	MemoryChannelFailure  Code = "memory_channel_failure"
	InterSocketFailure    Code = "inter_socket_failure"
	P2PMisconfiguration   Code = "p2p_misconfiguration"
	RNICSlowStart         Code = "rnic_slow_start"
	RNICTxWindow          Code = "rnic_tx_window"
	PathUnexplained       Code = "path_unexplained"
	RNICPCIeContention    Code = "rnic_pcie_contention"
	PCIeLinkDowngraded    Code = "pcie_link_downgraded"
	MemoryChannelOverload Code = "memory_channel_overloaded"
	InterSocketOverload   Code = "inter_socket_overloaded"
	LinkFlapping          Code = "link_flapping"
	RNICPortDown          Code = "rnic_port_down"
	RNICPortDegraded      Code = "rnic_port_degraded"
)

// Codes of findings: facts that blame no part.
const (
	LatencyAbnormal Code = "latency_abnormal"
	PlatformLimit   Code = "platform_limit"
	NoReference     Code = "no_reference"
	BaselineStale   Code = "baseline_stale"
	ToolLimited     Code = "tool_limited"
	RNICUnmeasured  Code = "rnic_unmeasured"

	BaselineIncomplete Code = "baseline_incomplete"
)

// Codes of findings about the host itself, known before anything is measured.
const (
	TopologyUnreadable Code = "topology_unreadable"
	CharDevMissing     Code = "chardev_missing"
	NetdevInOtherNetns Code = "netdev_in_other_netns"
	NoUsableGID        Code = "no_usable_gid"
	NoSubnetManager    Code = "no_subnet_manager"
	MemlockLimit       Code = "memlock_limit"
	ACSUnknown         Code = "acs_unknown"
	SlotLimited        Code = "slot_limited"
	OddFirmware        Code = "odd_firmware"
	OddMTU             Code = "odd_mtu"
	OddMaxReadRequest  Code = "odd_max_read_request"
	OddMaxPayload      Code = "odd_max_payload"
)

// OfHost reports whether the code is a finding about the host itself. No
// measurement leads to it, so a report that is judged anew keeps it as it is.
func (c Code) OfHost() bool {
	return slices.ContainsFunc(hostEntries(), func(e Entry) bool { return e.Code == c })
}

// BeforeMeasuring reports whether the code is a finding that stands before
// anything is measured: about the host, or about the baselines that it is judged by.
func (c Code) BeforeMeasuring() bool { return c.OfHost() || c == BaselineIncomplete }

// Severity orders diagnoses for an operator.
type Severity string

// Severities.
const (
	Critical Severity = "critical" // close paths lose bandwidth: jobs are slower now
	Warning  Severity = "warning"
)

// Alternative is another explanation of the same data.
type Alternative struct {
	Code       Code     `json:"code"`
	Components []string `json:"components"`
	Reason     string   `json:"reason"` // why it explains the data as well
}

// Diagnosis is a cause with the part that it blames.
type Diagnosis struct {
	Code         Code          `json:"code"`
	Severity     Severity      `json:"severity"`
	Component    string        `json:"component"`  // the hop blamed, "rnic_pcie:mlx5_0"
	Components   []string      `json:"components"` // all that it names, Component first
	Confidence   float64       `json:"confidence"` // 0..1
	Summary      string        `json:"summary"`
	Evidence     []string      `json:"evidence"`
	Alternatives []Alternative `json:"alternatives"`
	Runbook      string        `json:"runbook"` // anchor in docs/runbook.md
}

// Sort orders diagnoses for an operator: worst first, then as the catalogue
// lists the codes, then by component.
func Sort(diagnoses []Diagnosis) {
	position := map[Code]int{}
	for i, e := range All() {
		position[e.Code] = i
	}
	slices.SortFunc(diagnoses, func(a, b Diagnosis) int {
		return cmp.Or(
			cmp.Compare(a.Severity.order(), b.Severity.order()),
			cmp.Compare(position[a.Code], position[b.Code]),
			topology.CompareNatural(a.Component, b.Component),
		)
	})
}

func (s Severity) order() int {
	if s == Critical {
		return 0
	}
	return 1
}

// Finding is a fact of configuration or environment that an operator should
// know. It never changes the exit status.
type Finding struct {
	Code      Code     `json:"code"`
	Component string   `json:"component"`
	Summary   string   `json:"summary"`
	Evidence  []string `json:"evidence"`
	Hint      string   `json:"hint"`
}
