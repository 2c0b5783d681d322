package discover_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/diagnosis"
	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/discover/hosttree"
	"github.com/yuuki/hostping/internal/topology"
)

// describe reads a host of testdata/hosts.
func describe(t testing.TB, host string) *hosttree.Tree {
	t.Helper()
	tree, err := hosttree.Load(filepath.Join("..", "..", "testdata", "hosts", host+".host"))
	require.NoError(t, err)
	return tree
}

// inMemory says where to read a tree.
func inMemory(tree *hosttree.Tree) discover.Options {
	return discover.Options{SysFiles: tree.Files("sys"), ProcFiles: tree.Files("proc")}
}

// onDisk writes a tree and says where to read it.
func onDisk(t testing.TB, tree *hosttree.Tree) discover.Options {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, tree.Write(dir))
	return discover.Options{Sysfs: filepath.Join(dir, "sys"), Procfs: filepath.Join(dir, "proc")}
}

func read(t testing.TB, o discover.Options) discover.Host {
	t.Helper()
	host, err := discover.Discover(o)
	require.NoError(t, err)
	require.NoError(t, host.Topology.Validate())
	return host
}

func hostOf(t testing.TB, name string) discover.Host {
	t.Helper()
	return read(t, inMemory(describe(t, name)))
}

// matrix is the classes of a topology, a line per RNIC that has paths.
func matrix(top topology.Topology) string {
	var b strings.Builder
	last := ""
	for _, p := range top.Paths {
		if p.RNIC != last {
			fmt.Fprintf(&b, "\n%s:", p.RNIC)
			last = p.RNIC
		}
		fmt.Fprintf(&b, " %s", p.Class)
	}
	return strings.TrimSpace(b.String())
}

// TestClasses reads every kind of host and compares all distance classes, in the
// order memory nodes, GPUs.
func TestClasses(t *testing.T) {
	tests := []struct {
		host, what string
		software   bool
		want       string
	}{
		{host: "two-sockets", what: "switches below switches, as in the paper", want: `
			mlx5_0: mem_local mem_remote pxb pix phb phb sys sys sys sys
			mlx5_1: mem_local mem_remote phb phb pxb pix sys sys sys sys
			mlx5_2: mem_remote mem_local sys sys sys sys pxb pix phb phb
			mlx5_3: mem_remote mem_local sys sys sys sys phb phb pxb pix`},
		{host: "nps4", what: "a package is a socket, a NUMA node is not", want: `
			mlx5_0: mem_remote mem_remote mem_remote mem_remote mem_local mem_socket mem_socket mem_socket sys sys node node`},
		{host: "numa-unknown", what: "the bridge, then the local CPUs, tell the node", want: `
			by_bridge: mem_socket mem_local mem_remote mem_remote
			by_cpus: mem_remote mem_remote mem_local mem_socket
			by_socket: mem_remote mem_remote mem_socket mem_socket
			not_at_all: virt virt virt virt`},
		{host: "one-node-numa-unknown", what: "a single node is everybody's", want: `
			mlx5_0: mem_local`},
		{host: "no-numa", what: "a kernel without NUMA is one node", want: `
			mlx5_0: mem_local`},
		{host: "hgx-h200", what: "a switch for each pair", want: `
			mlx5_0: mem_local mem_remote pix node sys
			mlx5_1: mem_local mem_remote node pix sys
			mlx5_2: mem_remote mem_local sys sys pix`},
		{host: "hgx-h200-vm", what: "emulated switches that mirror the host's", want: `
			mlx5_0: mem_local pix node node
			mlx5_1: mem_local node pix node
			mlx5_2: mem_local node node pix`},
		{host: "mi300x", what: "the bridge inside the GPU's module and the two stages of the NIC's switch do not count", want: `
			mlx5_0: mem_local mem_remote pix node node node sys sys sys sys
			mlx5_1: mem_local mem_remote node pix node node sys sys sys sys
			mlx5_2: mem_local mem_remote node node pix node sys sys sys sys
			mlx5_3: mem_local mem_remote node node node pix sys sys sys sys
			mlx5_4: mem_remote mem_local sys sys sys sys pix node node node
			mlx5_5: mem_remote mem_local sys sys sys sys node pix node node
			mlx5_6: mem_remote mem_local sys sys sys sys node node pix node
			mlx5_7: mem_remote mem_local sys sys sys sys node node node pix`},
		{host: "amd-card", what: "a card's own switch does not count", want: `
			mlx5_0: mem_local phb`},
		{host: "flat-vm", what: "a tree without bridges tells nothing about GPUs", want: `
			mlx5_0: mem_local mem_remote virt virt
			mlx5_5: mem_remote mem_local virt virt`},
		{host: "grace", what: "coherent GPUs, nodes without CPUs, sparse packages", want: `
			mlx5_0: mem_local mem_remote c2c c2c`},
		{host: "soft-roce", what: "software RNICs stand where their netdevs do", software: true, want: `
			rxe0: mem_local mem_remote
			rxe1: mem_local mem_remote
			rxe2: mem_remote mem_local
			rxe3: mem_remote mem_local`},
		{host: "soft-roce", what: "software RNICs have no paths unless asked for", want: ``},
	}
	for _, tt := range tests {
		t.Run(tt.host+"/"+tt.what, func(t *testing.T) {
			var host discover.Host
			if tt.software {
				o := inMemory(describe(t, tt.host))
				o.SoftwareRNICs = true
				host = read(t, o)
			} else {
				host = hostOf(t, tt.host)
			}
			want := strings.TrimSpace(strings.ReplaceAll(tt.want, "\t", ""))
			assert.Equal(t, want, matrix(host.Topology))
			assert.NotContains(t, codes(host), diagnosis.TopologyUnreadable)
		})
	}
}

// codes lists the findings of a host, each code once.
func codes(host discover.Host) []diagnosis.Code {
	list := []diagnosis.Code{}
	for _, f := range host.Findings {
		if !slices.Contains(list, f.Code) {
			list = append(list, f.Code)
		}
	}
	return list
}

// TestHops compares the hops of chosen paths.
func TestHops(t *testing.T) {
	tests := []struct {
		host, path, want string
	}{
		{"two-sockets", "mlx5_0→mem0", "rnic_pcie:mlx5_0 switch:0000:14:00.0 root_port:0000:10:01.0 memory:mem0"},
		{"two-sockets", "mlx5_0→mem1", "rnic_pcie:mlx5_0 switch:0000:14:00.0 root_port:0000:10:01.0 inter_socket:0-1 memory:mem1"},
		{"two-sockets", "mlx5_0→gpu0", "rnic_pcie:mlx5_0 switch:0000:14:00.0 gpu_pcie:gpu0"},
		{"two-sockets", "mlx5_0→gpu1", "rnic_pcie:mlx5_0 gpu_pcie:gpu1"},
		{"two-sockets", "mlx5_0→gpu3", "rnic_pcie:mlx5_0 switch:0000:14:00.0 root_port:0000:10:01.0 root_port:0000:10:02.0 switch:0000:23:00.0 gpu_pcie:gpu3"},
		{"two-sockets", "mlx5_2→gpu3", "rnic_pcie:mlx5_2 switch:0000:84:00.0 root_port:0000:80:01.0 inter_socket:0-1 root_port:0000:10:02.0 switch:0000:23:00.0 gpu_pcie:gpu3"},
		{"nps4", "mlx5_0→mem4", "rnic_pcie:mlx5_0 memory:mem4"},
		{"nps4", "mlx5_0→mem5", "rnic_pcie:mlx5_0 memory:mem5"},
		{"nps4", "mlx5_0→gpu0", "rnic_pcie:mlx5_0 inter_socket:0-1 gpu_pcie:gpu0"},
		{"nps4", "mlx5_0→gpu3", "rnic_pcie:mlx5_0 gpu_pcie:gpu3"},
		{"numa-unknown", "not_at_all→mem2", "rnic_pcie:not_at_all memory:mem2"},
		{"hgx-h200", "mlx5_0→mem0", "rnic_pcie:mlx5_0 root_port:0000:15:01.0 memory:mem0"},
		{"hgx-h200-vm", "mlx5_0→mem0", "rnic_pcie:mlx5_0 switch:0000:65:00.0 memory:mem0"},
		{"mi300x", "mlx5_0→mem0", "rnic_pcie:mlx5_0 root_port:0000:04:01.0 memory:mem0"},
		{"mi300x", "mlx5_0→gpu0", "rnic_pcie:mlx5_0 gpu_pcie:gpu0"},
		{"mi300x", "mlx5_0→gpu1", "rnic_pcie:mlx5_0 root_port:0000:04:01.0 root_port:0000:0d:01.0 gpu_pcie:gpu1"},
		{"amd-card", "mlx5_0→gpu0", "rnic_pcie:mlx5_0 gpu_pcie:gpu0"},
		{"flat-vm", "mlx5_0→gpu1", "rnic_pcie:mlx5_0 inter_socket:0-1 gpu_pcie:gpu1"},
		{"grace", "mlx5_0→mem1", "rnic_pcie:mlx5_0 inter_socket:60-84 memory:mem1"},
		{"shared-links", "irdma3→mem0", "rnic_pcie:irdma0 memory:mem0"},
		{"shared-links", "mlx4_0:2→mem0", "rnic_pcie:mlx4_0 memory:mem0"},
		{"shared-links", "mlx5_10→mem0", "rnic_pcie:mlx5_1 memory:mem0"},
	}
	for _, tt := range tests {
		t.Run(tt.host+"/"+tt.path, func(t *testing.T) {
			hops := map[string]string{}
			for _, p := range hostOf(t, tt.host).Topology.Paths {
				hops[p.Key().String()] = strings.Join(p.Hops, " ")
			}
			assert.Equal(t, tt.want, hops[tt.path])
		})
	}
}

// TestLinks compares what hops say about their PCIe links: speed x width now,
// then expected, the capacity rounded to Gb/s, and the trust. "-" is unknown.
func TestLinks(t *testing.T) {
	tests := []struct {
		host, hop, want string
	}{
		{"two-sockets", "rnic_pcie:mlx5_0", "16x16 16x16 252 static"},
		{"two-sockets", "switch:0000:14:00.0", "16x16 16x16 252 static"},
		{"two-sockets", "memory:mem0", "-x- -x- - unknown"},
		{"bad-link-files", "rnic_pcie:missing", "-x- -x- - unknown"},
		{"bad-link-files", "rnic_pcie:unknown", "-x- -x- - unknown"},
		{"bad-link-files", "rnic_pcie:without_decimals", "8x16 8x16 126 static"},
		{"bad-link-files", "rnic_pcie:junk", "-x- -x- - unknown"},
		{"bad-link-files", "rnic_pcie:slot_limited", "16x8 16x8 126 static"},
		{"bad-link-files", "rnic_pcie:downtrained", "8x16 16x16 252 static"},
		{"bad-link-files", "rnic_pcie:gen6", "64x16 64x16 968 static"},
		{"hgx-h200-vm", "rnic_pcie:mlx5_0", "32x16 32x16 - nonsense"},
		{"hgx-h200-vm", "gpu_pcie:gpu0", "32x16 32x16 - nonsense"},
		{"hgx-h200-vm", "switch:0000:65:00.0", "2.5x1 -x- - nonsense"},
		{"amd-card", "gpu_pcie:gpu0", "16x8 32x8 252 static"},
		{"mi300x", "gpu_pcie:gpu0", "32x16 32x16 504 static"},
		{"shared-links", "rnic_pcie:mlx4_0", "8x8 8x8 63 static"},
	}
	for _, tt := range tests {
		t.Run(tt.host+"/"+tt.hop, func(t *testing.T) {
			for _, h := range hostOf(t, tt.host).Topology.Hops {
				if h.ID == tt.hop {
					assert.Equal(t, tt.want, fmt.Sprintf("%sx%s %sx%s %s %s",
						number(h.SpeedGTs, 1), number(h.Width, 0), number(h.ExpectedSpeedGTs, 1),
						number(h.ExpectedWidth, 0), number(h.CapacityGbps, 0), h.Trust))
					return
				}
			}
			t.Fatal("no such hop")
		})
	}
}

func number[T int | float64](v *T, decimals int) string {
	if v == nil {
		return "-"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.*f", decimals, float64(*v)), ".0")
}

// TestUnusable compares why RNICs and GPUs are not probed; "" is usable.
func TestUnusable(t *testing.T) {
	tests := []struct {
		host, device, want string
	}{
		{"not-to-probe", "switch_manager", "nvswitch_management: "},
		{"not-to-probe", "rdmap20s0", "unsupported_by_device"},
		{"not-to-probe", "cable_out", "port_not_active: the port is DOWN"},
		{"not-to-probe", "no_subnet_manager", "port_not_active: the port is INIT"},
		{"not-to-probe", "no_state", "port_state_unknown: "},
		{"not-to-probe", "no_ports", "ports_unreadable: "},
		{"not-to-probe", "soft", "software_rnic: "},
		{"not-to-probe", "healthy", ""},
		{"not-to-probe", "gpu0", "wrong_driver: bound to vfio-pci"},
		{"shared-links", "irdma1", ""},
		{"shared-links", "mlx5_0", ""},
		{"shared-links", "mlx5_3", ""}, // SF
		{"shared-links", "mlx5_4", "virtual_function: one per port is probed, here mlx5_3"},
		{"shared-links", "mlx5_5", "virtual_function: one per port is probed, here mlx5_3"}, // VF
		{"shared-links", "mlx5_2", "port_not_active: the port is DOWN"},                     // VF
		{"shared-links", "mlx5_9", ""},                                                      // the lowest VF that works
		{"shared-links", "mlx5_10", "virtual_function: one per port is probed, here mlx5_9"},
	}
	for _, tt := range tests {
		t.Run(tt.host+"/"+tt.device, func(t *testing.T) {
			top := hostOf(t, tt.host).Topology
			reasons := map[string]string{}
			for _, r := range top.RNICs {
				reasons[r.ID] = r.Reason
			}
			for _, g := range top.GPUs {
				reasons[g.ID] = g.Reason
			}
			require.Contains(t, reasons, tt.device)
			if tt.want == "" {
				assert.Empty(t, reasons[tt.device])
			} else {
				assert.True(t, strings.HasPrefix(reasons[tt.device], tt.want), reasons[tt.device])
			}
		})
	}
}

func TestFactsOfRNICs(t *testing.T) {
	top := hostOf(t, "two-sockets").Topology
	assert.Equal(t, topology.RNIC{
		ID: "mlx5_0", Name: "mlx5_0", PCI: "0000:16:00.0", Port: 1, LinkLayer: "Ethernet", State: "ACTIVE",
		PhysState: "LinkUp", AdminUp: new(true), RateGbps: new(200.0), NUMANode: new(0), Socket: new(0), Netdevs: []string{"ens10"}, Driver: "mlx5_core", Model: "15b3:101b",
		Role: topology.RoleRNIC, Function: topology.FunctionPF, Usable: true,
		FWVersion: "20.39.1002", MTU: new(4096), MaxReadRequest: new(512), MaxPayload: new(256), SamePort: []string{},
	}, top.RNICs[0])
	assert.Equal(t, "InfiniBand", top.RNICs[3].LinkLayer)
	assert.Nil(t, top.RNICs[3].MTU, "InfiniBand's MTU is not in sysfs")
	assert.Equal(t, "NVIDIA A100-SXM4-40GB", top.GPUs[0].Model)
	assert.Equal(t, "10de:20b0", top.GPUs[1].Model)

	top = hostOf(t, "not-to-probe").Topology
	for _, r := range top.RNICs {
		switch r.ID {
		case "cable_out":
			assert.Nil(t, r.RateGbps, "a port that is down has no rate, whatever it says")
		case "switch_manager":
			assert.Equal(t, topology.RoleNVSwitchMgmt, r.Role)
		case "soft":
			assert.Equal(t, topology.RoleSoftware, r.Role)
			assert.Equal(t, "rdma_rxe", r.Driver)
			assert.Empty(t, r.PCI)
		}
	}
	for _, p := range top.Paths {
		assert.NotContains(t, []string{"switch_manager", "soft"}, p.RNIC)
	}

	functions := map[string]topology.Function{}
	top = hostOf(t, "shared-links").Topology
	for _, r := range top.RNICs {
		functions[r.ID] = r.Function
	}
	assert.Equal(t, topology.FunctionPF, functions["mlx5_0"])
	assert.Equal(t, topology.FunctionVF, functions["mlx5_9"])
	assert.Equal(t, topology.FunctionSF, functions["mlx5_3"])
	assert.Equal(t, []string{"irdma0", "irdma2", "irdma3", "irdma1"}, top.Hops[0].Members, "from the lowest function up")
}

func TestNoRDMA(t *testing.T) {
	tests := []struct {
		host string
		want error
	}{
		{"no-class", discover.ErrNoRDMAClass},
		{"empty-class", discover.ErrNoRDMADevices},
		{"dangling-class", discover.ErrNoRDMADevices},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			host, err := discover.Discover(inMemory(describe(t, tt.host)))
			require.ErrorIs(t, err, tt.want)
			assert.ErrorIs(t, err, discover.ErrNoRDMA)
			assert.Empty(t, host.Topology.RNICs)
			assert.Len(t, host.Topology.MemoryNodes, 1, "the rest of the host is still told")
		})
	}
	_, err := discover.Discover(discover.Options{Sysfs: filepath.Join(t.TempDir(), "nothing")})
	assert.ErrorContains(t, err, "cannot read sysfs at")
}

func TestOddFilesBecomeAFinding(t *testing.T) {
	host := hostOf(t, "bad-link-files")
	require.Equal(t, []diagnosis.Code{diagnosis.TopologyUnreadable, diagnosis.SlotLimited}, codes(host))
	evidence := strings.Join(host.Findings[0].Evidence, "\n")
	assert.Contains(t, evidence, `0000:14:00.0/current_link_speed: "fast" is no link speed`)
	assert.NotContains(t, evidence, "0000:12:00.0", "the kernel's own unknown is no oddity")

	host, _ = discover.Discover(inMemory(describe(t, "dangling-class")))
	require.Len(t, host.Findings, 1)
	assert.Len(t, host.Findings[0].Evidence, 3, "each entry that leads nowhere")
}

// TestHostileFiles puts things where files should be that must neither stop
// nor hurt the reader.
func TestHostileFiles(t *testing.T) {
	o := onDisk(t, describe(t, "two-sockets"))
	device := filepath.Join(o.Sysfs, "bus/pci/devices/0000:16:00.0")
	port := filepath.Join(device, "infiniband/mlx5_0/ports/1")
	replace := func(name string, with func(string) error) {
		require.NoError(t, os.RemoveAll(name))
		require.NoError(t, with(name))
	}
	replace(filepath.Join(port, "rate"), mkfifo)
	replace(filepath.Join(device, "numa_node"), func(name string) error { return os.Symlink("numa_node", name) })
	replace(filepath.Join(device, "max_link_speed"), func(name string) error { return os.Symlink("/etc/hostname", name) })
	replace(filepath.Join(device, "max_link_width"), func(name string) error { return os.Mkdir(name, 0o755) })
	replace(filepath.Join(device, "infiniband/mlx5_0/fw_ver"), func(name string) error {
		return os.WriteFile(name, []byte("\x1b[31m\x00\xff"), 0o644)
	})
	replace(filepath.Join(device, "current_link_width"), func(name string) error {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			return err
		}
		return os.Truncate(name, 1<<30)
	})

	host := read(t, o)
	r := host.Topology.RNICs[0]
	assert.Equal(t, "mlx5_0", r.ID)
	assert.Nil(t, r.RateGbps)
	assert.Empty(t, r.FWVersion)
	assert.Equal(t, new(0), r.NUMANode, "the bridge above still tells")
	assert.Equal(t, new(16.0), host.Topology.Hops[0].SpeedGTs, "what is left of the link")
	require.Len(t, host.Findings, 1)
	assert.Len(t, host.Findings[0].Evidence, 6, "%q", host.Findings[0].Evidence)
	assert.Equal(t, new(200.0), host.Topology.RNICs[1].RateGbps, "the others lose nothing")
}

func TestVerbsNodes(t *testing.T) {
	o := onDisk(t, describe(t, "two-sockets"))
	host := read(t, o)
	assert.Equal(t, map[string]string{"mlx5_0": "uverbs0", "mlx5_1": "uverbs1", "mlx5_2": "uverbs2", "mlx5_3": "uverbs3"}, host.VerbsNodes)
	assert.True(t, host.Topology.RNICs[0].Usable, "another tree says nothing about our device nodes")

	o.Dev = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(o.Dev, "infiniband"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(o.Dev, "infiniband", "uverbs2"), nil, 0o644))
	for _, r := range read(t, o).Topology.RNICs {
		if r.ID == "mlx5_2" {
			assert.True(t, r.Usable)
			continue
		}
		assert.False(t, r.Usable, r.ID)
		assert.True(t, strings.HasPrefix(r.Reason, "not_accessible: "), r.Reason)
	}
}

func TestLinkDirs(t *testing.T) {
	o := onDisk(t, describe(t, "amd-card"))
	host := read(t, o)
	assert.Equal(t, map[string]string{
		"rnic_pcie:mlx5_0": filepath.Join(o.Sysfs, "devices/pci0000:00/0000:00:03.1/0000:04:00.0"),
		"gpu_pcie:gpu0":    filepath.Join(o.Sysfs, "devices/pci0000:00/0000:00:01.1/0000:01:00.0"),
	}, host.LinkDirs)
	for hop, dir := range host.LinkDirs {
		assert.FileExists(t, filepath.Join(dir, "current_link_speed"), hop)
	}
}
