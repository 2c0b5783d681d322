package discover

import (
	"fmt"
	"strconv"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/topology"
)

// trait is a property that like RNICs of a host should share.
type trait struct {
	code  diagnosis.Code
	what  string
	value func(topology.RNIC) string // "" is unknown
	hint  string
}

func traits() []trait {
	number := func(v *int) string {
		if v == nil {
			return ""
		}
		return strconv.Itoa(*v)
	}
	return []trait{
		{diagnosis.OddFirmware, "firmware", func(r topology.RNIC) string { return r.FWVersion },
			"bring the RNICs of one model to one firmware version"},
		{diagnosis.OddMTU, "RDMA MTU", func(r topology.RNIC) string { return number(r.MTU) },
			"set the MTU of its network device as on the others"},
		{diagnosis.OddMaxReadRequest, "PCIe read request size", func(r topology.RNIC) string { return number(r.MaxReadRequest) },
			"compare the firmware's PCIe settings of the slots; `lspci -vv` shows MaxReadReq"},
		{diagnosis.OddMaxPayload, "PCIe payload size", func(r topology.RNIC) string { return number(r.MaxPayload) },
			"compare the firmware's PCIe settings of the slots; `lspci -vv` shows MaxPayload"},
	}
}

// oddOnes tells of RNICs that differ from the like ones of this host. Like are physical functions
// of one model on one kind of link whose port is up; most of at least three decide what is usual.
func oddOnes(t topology.Topology) (list []diagnosis.Finding) {
	groups := map[string][]topology.RNIC{}
	for _, rnic := range t.RNICs {
		if rnic.Role == topology.RoleRNIC && rnic.Function == topology.FunctionPF && rnic.Model != "" && rnic.State == "ACTIVE" {
			key := rnic.Model + " " + rnic.LinkLayer
			groups[key] = append(groups[key], rnic)
		}
	}
	for _, trait := range traits() {
		for _, key := range topology.SortedKeys(groups) {
			list = append(list, trait.odd(groups[key])...)
		}
	}
	return list
}

func (t trait) odd(like []topology.RNIC) []diagnosis.Finding {
	count := map[string]int{}
	known := 0
	for _, rnic := range like {
		if v := t.value(rnic); v != "" {
			count[v]++
			known++
		}
	}
	usual := ""
	for v, n := range count {
		if n*2 > known {
			usual = v
		}
	}
	if usual == "" || known < 3 {
		return nil
	}
	var parts []suspect
	for _, rnic := range like {
		if v := t.value(rnic); v != "" && v != usual {
			parts = append(parts, suspect{rnic.ID, fmt.Sprintf("%s has %s %s, %d of %d RNICs of model %s have %s",
				rnic.ID, t.what, v, count[usual], known, rnic.Model, usual)})
		}
	}
	return each(t.code, parts, "its "+t.what+" differs from that of the like RNICs", t.hint)
}
