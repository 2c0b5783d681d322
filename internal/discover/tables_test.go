package discover_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
	"github.com/yuuki/hostping/internal/report"
	"github.com/yuuki/hostping/internal/topology"
)

// published lists hosts whose pairing of GPUs and RNICs was published, with what the source says: the
// pairs that share switches, and the class of all other pairs on one socket and on two. Where the
// source's tool calls two NUMA nodes of one package remote, ours is the package's class.
var published = []struct {
	host, table    string
	pix, pxb       string // "gpu0-mlx5_8 gpu1-mlx5_7 ..."
	same, other    topology.Class
	unknown        topology.Class // of pairs with a device of which no socket is known
	rnics, gpus    int
	memory, hidden int // memory nodes; NUMA nodes that are none
}{
	{
		host: "hgx-h100", table: "T01", rnics: 9, gpus: 8, memory: 2,
		pix:  "gpu0-mlx5_8 gpu1-mlx5_7 gpu2-mlx5_6 gpu3-mlx5_5 gpu4-mlx5_4 gpu5-mlx5_3 gpu6-mlx5_2 gpu7-mlx5_1",
		same: topology.ClassNode, other: topology.ClassSys, unknown: topology.ClassVirt,
	},
	{
		host: "a800", table: "T02", rnics: 9, gpus: 8, memory: 2,
		pix:  "gpu0-mlx5_2 gpu1-mlx5_4 gpu2-mlx5_6 gpu3-mlx5_8 gpu4-mlx5_1 gpu5-mlx5_3 gpu6-mlx5_5 gpu7-mlx5_7",
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "hgx-h200", table: "T03 host", rnics: 3, gpus: 3, memory: 2,
		pix: "gpu0-mlx5_0 gpu1-mlx5_1 gpu2-mlx5_2", same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "hgx-h200-vm", table: "T03 VM", rnics: 3, gpus: 3, memory: 1,
		pix: "gpu0-mlx5_0 gpu1-mlx5_1 gpu2-mlx5_2", same: topology.ClassNode,
	},
	{
		host: "dgx-a100", table: "T04", rnics: 12, gpus: 8, memory: 8,
		pxb: "gpu0-mlx5_0 gpu0-mlx5_1 gpu1-mlx5_0 gpu1-mlx5_1 gpu2-mlx5_2 gpu2-mlx5_3 gpu3-mlx5_2 gpu3-mlx5_3 " +
			"gpu4-mlx5_6 gpu4-mlx5_7 gpu5-mlx5_6 gpu5-mlx5_7 gpu6-mlx5_8 gpu6-mlx5_9 gpu7-mlx5_8 gpu7-mlx5_9",
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "a100-four-rnics", table: "T05", rnics: 6, gpus: 8, memory: 2,
		pxb:  "gpu0-mlx5_3 gpu1-mlx5_3 gpu2-mlx5_2 gpu3-mlx5_2 gpu4-mlx5_1 gpu5-mlx5_1 gpu6-mlx5_0 gpu7-mlx5_0",
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "mi300x", table: "T06", rnics: 8, gpus: 8, memory: 2,
		pix:  "gpu0-mlx5_0 gpu1-mlx5_1 gpu2-mlx5_2 gpu3-mlx5_3 gpu4-mlx5_4 gpu5-mlx5_5 gpu6-mlx5_6 gpu7-mlx5_7",
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "mi300x-vm", table: "T07", rnics: 8, gpus: 8, memory: 2,
		same: topology.ClassVirt, other: topology.ClassVirt,
	},
	{
		host: "rome-nps4", table: "T09", rnics: 1, gpus: 8, memory: 8,
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "rome-nps4-two-rnics", table: "T09 variant", rnics: 2, gpus: 8, memory: 8,
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "aws-p5", table: "T10 p5", rnics: 16, gpus: 4, memory: 2,
		pix: "gpu0-rdmap79s0 gpu0-rdmap80s0 gpu0-rdmap81s0 gpu0-rdmap82s0 gpu1-rdmap96s0 gpu1-rdmap97s0 gpu1-rdmap98s0 gpu1-rdmap99s0 " +
			"gpu2-rdmap147s0 gpu2-rdmap148s0 gpu2-rdmap149s0 gpu2-rdmap150s0 gpu3-rdmap164s0 gpu3-rdmap165s0 gpu3-rdmap166s0 gpu3-rdmap167s0",
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "aws-p5en", table: "T10 p5en", rnics: 16, gpus: 8, memory: 2,
		pix: "gpu0-rdmap85s0 gpu0-rdmap86s0 gpu0-rdmap87s0 gpu0-rdmap88s0 gpu1-rdmap85s0 gpu1-rdmap86s0 gpu1-rdmap87s0 gpu1-rdmap88s0 " +
			"gpu2-rdmap110s0 gpu2-rdmap111s0 gpu2-rdmap112s0 gpu2-rdmap113s0 gpu3-rdmap110s0 gpu3-rdmap111s0 gpu3-rdmap112s0 gpu3-rdmap113s0 " +
			"gpu4-rdmap135s0 gpu4-rdmap136s0 gpu4-rdmap137s0 gpu4-rdmap138s0 gpu5-rdmap135s0 gpu5-rdmap136s0 gpu5-rdmap137s0 gpu5-rdmap138s0 " +
			"gpu6-rdmap160s0 gpu6-rdmap161s0 gpu6-rdmap162s0 gpu6-rdmap163s0 gpu7-rdmap160s0 gpu7-rdmap161s0 gpu7-rdmap162s0 gpu7-rdmap163s0",
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "aws-p4d", table: "T10 p4d", rnics: 4, gpus: 8, memory: 2,
		same: topology.ClassVirt, other: topology.ClassVirt,
	},
	{
		host: "aws-g5", table: "T10 g5", rnics: 1, gpus: 8, memory: 2, unknown: topology.ClassVirt,
	},
	{
		host: "gh200", table: "T11 GH200", rnics: 1, gpus: 1, memory: 1, hidden: 8, same: topology.ClassC2C,
	},
	{
		host: "gh200-quad", table: "T11 4×GH200", rnics: 4, gpus: 4, memory: 4, hidden: 32,
		same: topology.ClassC2C, other: topology.ClassC2C,
	},
	{
		host: "gb200", table: "T11 GB200", rnics: 6, gpus: 4, memory: 2, hidden: 32,
		same: topology.ClassC2C, other: topology.ClassC2C,
	},
	{
		host: "aws-p6e-gb200", table: "T11 p6e", rnics: 5, gpus: 2, memory: 2, hidden: 28,
		pix:  "gpu0-rdmap39s0 gpu0-rdmap40s0 gpu1-rdmap61s0 gpu1-rdmap62s0",
		same: topology.ClassC2C, other: topology.ClassC2C,
	},
	{
		host: "azure-nd-h100", table: "T12", rnics: 8, gpus: 8, memory: 2,
		same: topology.ClassVirt, other: topology.ClassVirt,
	},
	{
		host: "dgx2", table: "T13 DGX-2", rnics: 10, gpus: 16, memory: 2,
		pix: "gpu0-mlx5_0 gpu1-mlx5_0 gpu2-mlx5_1 gpu3-mlx5_1 gpu4-mlx5_2 gpu5-mlx5_2 gpu6-mlx5_3 gpu7-mlx5_3 " +
			"gpu8-mlx5_4 gpu9-mlx5_4 gpu10-mlx5_5 gpu11-mlx5_5 gpu12-mlx5_6 gpu13-mlx5_6 gpu14-mlx5_7 gpu15-mlx5_7",
		pxb: "gpu0-mlx5_1 gpu1-mlx5_1 gpu2-mlx5_0 gpu3-mlx5_0 gpu4-mlx5_3 gpu5-mlx5_3 gpu6-mlx5_2 gpu7-mlx5_2 " +
			"gpu8-mlx5_5 gpu9-mlx5_5 gpu10-mlx5_4 gpu11-mlx5_4 gpu12-mlx5_7 gpu13-mlx5_7 gpu14-mlx5_6 gpu15-mlx5_6",
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "fourteen-rnics", table: "T13 14 NICs", rnics: 14, gpus: 8, memory: 2,
		pix:  "gpu0-mlx5_0 gpu1-mlx5_1 gpu2-mlx5_2 gpu3-mlx5_7 gpu4-mlx5_8 gpu5-mlx5_9 gpu6-mlx5_10 gpu7-mlx5_11",
		same: topology.ClassNode, other: topology.ClassSys,
	},
	{
		host: "dgx1-v100", table: "T13 DGX-1", rnics: 1, gpus: 2, memory: 2,
		pix: "gpu0-mlx5_0 gpu1-mlx5_0",
	},
	{host: "mixed-drivers", table: "T13 irdma and mlx5", rnics: 5, memory: 1},
	{host: "arm-x8", table: "T13 ARM", rnics: 2, memory: 4},
}

// TestPublishedHosts checks every pair of GPU and RNIC against what its source says.
func TestPublishedHosts(t *testing.T) {
	for _, tt := range published {
		t.Run(tt.table+"/"+tt.host, func(t *testing.T) {
			top := hostOf(t, tt.host).Topology
			baseline.MarkClose(&top, baseline.Defaults(top))
			assert.Len(t, top.RNICs, tt.rnics)
			assert.Len(t, top.GPUs, tt.gpus)
			assert.Len(t, top.MemoryNodes, tt.memory)
			numaNodes, err := describe(t, tt.host).Files("sys").List("devices/system/node")
			require.NoError(t, err)
			assert.Len(t, numaNodes, tt.memory+tt.hidden)

			sockets := map[string]*int{}
			for _, r := range top.RNICs {
				sockets[r.ID] = r.Socket
			}
			for _, g := range top.GPUs {
				sockets[g.ID] = g.Socket
			}
			pix, pxb := strings.Fields(tt.pix), strings.Fields(tt.pxb)
			shared := 0
			for _, p := range top.Paths {
				if !strings.HasPrefix(p.Endpoint, "gpu") {
					continue
				}
				pair, a, b := p.Endpoint+"-"+p.RNIC, sockets[p.RNIC], sockets[p.Endpoint]
				var want topology.Class
				switch {
				case slices.Contains(pix, pair):
					want = topology.ClassPIX
					shared++
				case slices.Contains(pxb, pair):
					want = topology.ClassPXB
					shared++
				case a == nil || b == nil:
					want = tt.unknown
				case *a == *b:
					want = tt.same
				default:
					want = tt.other
				}
				assert.Equal(t, want, p.Class, pair)
				if want == topology.ClassPIX || want == topology.ClassPXB {
					assert.True(t, p.Close, pair)
				}
			}
			assert.Equal(t, len(pix)+len(pxb), shared, "a pair of the source is missing")
		})
	}
}

var update = flag.Bool("update", false, "write the golden topologies anew")

// TestGoldenTopologies compares `hostpingctl topology --format json` of every host.
func TestGoldenTopologies(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/topology.schema.json")
	require.NoError(t, err)
	for _, tt := range published {
		t.Run(tt.host, func(t *testing.T) {
			top := hostOf(t, tt.host).Topology
			baseline.MarkClose(&top, baseline.Defaults(top))
			var got bytes.Buffer
			require.NoError(t, report.WriteJSON(&got, top))
			golden := filepath.Join("..", "..", "testdata", "topologies", tt.host+".json")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.True(t, string(want) == got.String(), "look at the change; if it is right: go test ./internal/discover -run Golden -update")

			var document any
			require.NoError(t, json.Unmarshal(want, &document))
			assert.NoError(t, schema.Validate(document))
			parsed, err := topology.Parse(want)
			require.NoError(t, err)
			assert.True(t, reflect.DeepEqual(top, parsed), "what the file says is what was meant")
		})
	}
}

// TestFilesAreAlikeOnDiskAndInMemory reads hosts both ways.
func TestFilesAreAlikeOnDiskAndInMemory(t *testing.T) {
	for _, name := range []string{"soft-roce", "amd-card"} {
		t.Run(name, func(t *testing.T) {
			tree := describe(t, name)
			inMemory, onDisk := read(t, inMemory(tree)), read(t, onDisk(t, tree))
			assert.Equal(t, inMemory.Topology, onDisk.Topology)
			assert.Equal(t, inMemory.Findings, onDisk.Findings)
		})
	}
}
