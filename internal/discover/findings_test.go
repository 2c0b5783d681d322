package discover_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/discover/hosttree"
)

// siblings describes RNICs below root ports of their own; each is the words
// behind its ids and those behind its rate, with a bar between.
func siblings(rnics ...string) string {
	var b strings.Builder
	b.WriteString(oneSocket + "bus pci0000:10 node 0\n")
	for i, words := range rnics {
		function, rdma, _ := strings.Cut(words, "|")
		fmt.Fprintf(&b, "  10:%02x.0 root_port 8086:352a 16x16\n    %02x:00.0 nic 15b3:101b 16x16 %s\n      rdma mlx5_%d 200 %s\n", i+1, 0x11+i, function, i, rdma)
	}
	return b.String()
}

// TestFindings lists what is found about a host, as code and component.
func TestFindings(t *testing.T) {
	tests := []struct {
		name, tree string
		want       []string
	}{
		{"like RNICs", siblings("|fw 1.1", "|fw 1.1", "|fw 1.1"), nil},
		{"another firmware", siblings("|fw 1.1", "|fw 1.2", "|fw 1.1"), []string{"odd_firmware mlx5_1"}},
		{"firmware unknown", siblings("|fw 1.1", "|", "|fw 1.1", "|fw 1.1"), nil},
		{"two RNICs that differ", siblings("|fw 1.1", "|fw 1.2"), nil},
		{"no version that most have", siblings("|fw 1.1", "|fw 1.2", "|fw 1.1", "|fw 1.2"), nil},
		{"another firmware on another model", strings.Replace(siblings("|fw 1.1", "|fw 1.2", "|fw 1.1", "|fw 1.1"), "12:00.0 nic 15b3:101b", "12:00.0 nic 15b3:1021", 1), nil},
		{"another firmware on a port that is down", siblings("|fw 1.1", "|DOWN fw 1.2", "|fw 1.1", "|fw 1.1"), nil},
		{"another MTU", siblings("|mtu 9000", "|mtu 9000", "|mtu 1500"), []string{"odd_mtu mlx5_2"}},
		{"MTUs that give the same RDMA MTU", siblings("|mtu 9000", "|mtu 9000", "|mtu 4200"), nil},
		{"another read request size", siblings("mrrs 4096|", "mrrs 4096|", "mrrs 512|"), []string{"odd_max_read_request mlx5_2"}},
		{"another payload size", siblings("mps 512|", "mps 128|", "mps 512|"), []string{"odd_max_payload mlx5_1"}},
		{"configuration space of plain users", siblings("config short|", "config short|", "|"), nil},
		{
			"many that differ share a finding",
			siblings(append(slices.Repeat([]string{"|fw 1.1"}, 12), slices.Repeat([]string{"|fw 1.2"}, 10)...)...), []string{"odd_firmware "},
		},
		{"memlock limit", siblings("|") + limits(8<<20, "0000000000000000"), []string{"memlock_limit "}},
		{"memlock limit of root", siblings("|") + limits(8<<20, "000001ffffffffff"), nil},
		{"memlock limit that is enough", siblings("|") + limits(64<<20, "0000000000000000"), nil},
		{"ports that wait for a subnet manager", siblings("|INIT ib", "|INIT ib"), []string{"no_subnet_manager mlx5_0", "no_subnet_manager mlx5_1"}},
		{"Ethernet knows no subnet manager", siblings("|INIT"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := hosttree.Parse(tt.tree)
			require.NoError(t, err)
			host, err := discover.Discover(inMemory(tree))
			require.NoError(t, err)
			var got []string
			for _, f := range host.Findings {
				got = append(got, string(f.Code)+" "+f.Component)
				entry, known := diagnosis.Lookup(f.Code)
				assert.True(t, known && entry.Finding, "%s is a finding of the catalogue", f.Code)
				assert.True(t, f.Code.OfHost())
				assert.NotEmpty(t, f.Evidence)
				assert.NotEmpty(t, f.Hint)
				assert.NotContains(t, f.Summary, "\n")
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// limits is what the kernel says of a process with this limit and these effective capabilities.
func limits(bytes int, capabilities string) string {
	return fmt.Sprintf("/proc/self/limits = Max locked memory         %d              %d              bytes\n/proc/self/status = CapEff:\t%s\n",
		bytes, bytes, capabilities)
}
