package monitor

import (
	"context"
	"errors"
	"io/fs"

	"github.com/yuuki/hostping/internal/topology"
)

// rnicErrors is the source of evidence about an RNIC's connections and link,
// and one of drops: counters of the RDMA device.
type rnicErrors struct {
	table  []evidence
	guards []*guard[[]FileValue]
}

// evidence is a counter under the name that we give it, and the files, below
// a port's folder, in which drivers keep it. The set is closed: drivers show
// hundreds of counters under names of their own.
type evidence struct {
	name  string
	drop  bool // it counts packets that this host could not take
	files []string
}

func evidenceTable() []evidence {
	return []evidence{
		{name: "link_downed", files: []string{"counters/link_downed", "hw_counters/link_downed"}},
		{name: "retransmissions", files: []string{
			"hw_counters/local_ack_timeout_err", // mlx5, mlx4: the timeouts that lead to them
			"hw_counters/to_retransmits",        // bnxt_re
			"hw_counters/tcpRetransSegs",        // irdma
			"hw_counters/tx_rdma_ack_timeout",   // ionic
			"hw_counters/completer_retry_err",   // rxe
		}},
		{name: "out_of_sequence", files: []string{
			"hw_counters/out_of_sequence", "hw_counters/oos_drop_count", "hw_counters/resp_rx_outouf_seq", "hw_counters/out_of_seq_request",
		}},
		{name: "cnps_sent", files: []string{
			"hw_counters/np_cnp_sent", "hw_counters/tx_cnp_pkts", "hw_counters/cnpSent", "hw_counters/tx_rdma_cnp_pkts",
		}},
		{name: "cnps_received", files: []string{
			"hw_counters/rp_cnp_handled", "hw_counters/rx_cnp_pkts", "hw_counters/cnpHandled", "hw_counters/rx_rdma_cnp_pkts",
		}},
		{name: "drops", drop: true, files: []string{"hw_counters/rx_roce_discards", "hw_counters/rx_drops"}}, // bnxt_re, efa
	}
}

func newRNICErrors(root string, topo topology.Topology, open func([]string) (Files, error)) *rnicErrors {
	e := &rnicErrors{table: evidenceTable()}
	for _, rnic := range usable(topo) {
		var paths []string
		for _, row := range e.table {
			for _, file := range row.files {
				paths = append(paths, portDir(root, rnic)+"/"+file)
			}
		}
		e.guards = append(e.guards, &guard[[]FileValue]{id: rnic.ID, open: func(context.Context) (reader[[]FileValue], error) {
			there := existing(paths)
			if len(there) == 0 {
				return nil, Unavailable("its driver shows none of the counters that tell of errors")
			}
			opened, err := open(pick(paths, there))
			if err != nil {
				return nil, err
			}
			return &someFiles{files: opened, there: there, all: len(paths)}, nil
		}})
	}
	return e
}

func (e *rnicErrors) close() {
	for _, g := range e.guards {
		g.close()
	}
}

func (e *rnicErrors) look(ctx context.Context) look {
	return errorsLook{e.table, readAll(ctx, e.guards)}
}

type errorsLook struct {
	table    []evidence
	readings []outcome[[]FileValue]
}

func (now errorsLook) since(earlier look, into *account) {
	before, _ := earlier.(errorsLook)
	var problems []problem
	for i, reading := range now.readings {
		f := into.rnics[reading.id]
		if reading.problem != nil {
			problems = append(problems, problem{reading.id, reading.problem})
			continue
		}
		var previous []FileValue
		if i < len(before.readings) && before.readings[i].problem == nil {
			if _, awake := reading.at.since(before.readings[i].at); awake {
				previous = before.readings[i].value
			}
		}
		if err := f.enterErrors(now.table, reading.value, previous); err != nil {
			problems = append(problems, problem{reading.id, err})
		}
	}
	into.enter(sourceRNICErrors, len(now.readings), problems, into.noRNIC())
}

// enterErrors enters what grew. The error says that nothing of it is counted.
func (f *rnicFacts) enterErrors(table []evidence, now, before []FileValue) error {
	var counted bool
	var garbled error
	i := 0
	for _, row := range table {
		files := now[i : i+len(row.files)]
		for j, v := range files {
			if v.Err != nil {
				if !errors.Is(v.Err, fs.ErrNotExist) && !isMissing(v.Err) {
					garbled = v.Err
				}
				continue
			}
			if !v.IsNumber {
				continue // "N/A": this driver does not count it
			}
			counted = true
			if before == nil || !before[i+j].IsNumber || v.Number < before[i+j].Number {
				break
			}
			by := float64(v.Number - before[i+j].Number)
			if row.drop {
				f.sample.Drops = worse(f.sample.Drops, &by)
			} else {
				f.sample.Errors = append(f.sample.Errors, Increment{row.name, by})
			}
			break
		}
		i += len(row.files)
	}
	switch {
	case garbled != nil:
		return garbled
	case !counted:
		return Unavailable("its driver shows none of the counters that tell of errors")
	}
	return nil
}
