// Package hosttree makes the /sys and /proc of a host from a short text that
// a person can read, so that tests can show a host in the few lines that make
// it special.
//
// A description is a list of lines; indentation means "below", # begins a comment.
//
//	node 0 cpus 0-55 package 0 memory 512      a NUMA node; memory in GiB; "cpus -", "package -": none, unknown
//	bus pci0000:16 node 0                      a host bridge
//	  16:01.0 root_port 8086:352a 32x16        a PCI function: address, type, vendor:device, GT/s x lanes
//	    17:00.0 nic 15b3:1021 16x8 max 32x16   running below what it can do
//	      rdma mlx5_0 400 net ens1             an RDMA device: rate in Gb/s, netdev
//	      net ens9                             a netdev without RDMA
//	rxe rxe0 on ens9                           a soft-RoCE device
//
// Also: "node 0 ... distance 10,21" (to the nodes in order), "proc pid 4026531836" (the reader's PID
// namespace; this is the host's own).
//
// The types are root_port, upstream, downstream, bridge, nic, gpu and other.
// More words of a function: "class 020700", "sub 15b3:0087", "driver vfio-pci",
// "node -1", "pf 17:00.0" (it is a VF of that), "config short" (cut as for
// plain users), "config basic" (without the extended space), "config none", "acs on", "acs off",
// "ats on", "ats off" (without: no such capability), "mps 256", "mrrs 4096". Without a link it has
// no link files; "max unknown" is what the kernel shows of a port that does not tell.
// More words of an RDMA device: a state ("DOWN", "INIT"), "ib", "iwarp", "off" (its netdev is not up),
// "port 2", "sf mlx5_core.sf.4", "fw 28.39.1002", "mtu 1500", "image 0200:5eff:fe00:0001" (GUID),
// "gids none" (an empty table), "gids v1", "net none". A RoCE device without "net" gets one of its own.
//
// Lines that begin with a path change single files after all else is written:
//
//	/sys/class/infiniband/mlx5_0/fw_ver = 28.1     a file (a newline is added)
//	17:00.0/config = "\x86\x80"                     its exact bytes, quoted as in Go
//	17:00.0/numa_node = -1                         a file of a PCI function
//	/sys/class/net/bond0 -> ../../devices/x        a link
//	17:00.0/max_link_speed gone                    no such file, link or folder
//	/sys/class/infiniband folder                   an empty folder
//	17:00.0/config fails EACCES                    it cannot be read (not on disk: root may read all)
package hosttree

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/yuuki/hostping/internal/discover/memory"
)

// Tree is the files of a host, by path below its root ("sys/...", "proc/...").
type Tree struct {
	files   map[string]string
	links   map[string]string
	folders map[string]bool
	fails   map[string]error
	gone    []string
}

// Load reads a description.
func Load(description string) (*Tree, error) {
	text, err := os.ReadFile(description)
	if err != nil {
		return nil, err
	}
	t, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", description, err)
	}
	return t, nil
}

// Parse reads a description. An error begins with the line's number.
func Parse(text string) (*Tree, error) {
	p := parser{
		tree: &Tree{
			files: map[string]string{}, links: map[string]string{}, fails: map[string]error{},
			folders: map[string]bool{"sys": true, "proc": true},
		},
		at:    map[string]string{},
		ports: map[string]string{},
		nets:  map[string]string{},
	}
	for i, line := range strings.Split(text, "\n") {
		if m := quoted.FindStringSubmatch(line); m != nil {
			value, err := strconv.Unquote(m[2])
			if err == nil {
				err = p.edit(m[1], "bytes", value)
			}
			if err != nil {
				return nil, fmt.Errorf("%d: %w", i+1, err)
			}
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	for _, edit := range p.edits {
		edit()
	}
	return p.tree, nil
}

// Write makes the tree below dir.
func (t *Tree) Write(dir string) error {
	for name := range t.fails {
		return fmt.Errorf("%s fails in memory only", name)
	}
	for folder := range t.folders {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	for name, content := range t.files {
		if t.isGone(name) {
			continue
		}
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			return err
		}
	}
	for name, target := range t.links {
		if t.isGone(name) {
			continue
		}
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, name); err != nil {
			return err
		}
	}
	return nil
}

// Files returns the part of the tree below top, "sys" or "proc". To write a host to
// disk takes far longer than to read it.
func (t *Tree) Files(top string) *memory.Files {
	files := memory.New()
	below := func(name string) (string, bool) {
		rest, ok := strings.CutPrefix(name, top+"/")
		return rest, ok && !t.isGone(name)
	}
	for name := range t.folders {
		if name, ok := below(name); ok {
			files.AddFolder(name)
		}
	}
	for name, content := range t.files {
		if name, ok := below(name); ok {
			files.AddFile(name, content)
		}
	}
	for name, target := range t.links {
		if name, ok := below(name); ok {
			files.AddLink(name, target)
		}
	}
	for name, err := range t.fails {
		if name, ok := below(name); ok {
			files.AddFailing(name, err)
		}
	}
	return files
}

func (t *Tree) isGone(name string) bool {
	return slices.ContainsFunc(t.gone, func(g string) bool { return name == g || strings.HasPrefix(name, g+"/") })
}

type parser struct {
	tree  *Tree
	stack []frame
	at    map[string]string // address to folder
	ports map[string]string // RDMA device to folder
	nets  map[string]string // netdev to folder
	verbs int
	// addresses counts the ports that got one.
	addresses int
	edits     []func()
}

// frame is a line that others can stand below.
type frame struct {
	indent int
	dir    string // in the tree
	node   string
}

var (
	edit    = regexp.MustCompile(`^(\S+)\s+(->|=|gone|folder|fails)\s*(.*)$`)
	quoted  = regexp.MustCompile(`^\s*(\S+/\S+)\s+=\s+(".*")\s*$`)
	address = regexp.MustCompile(`^([0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	link    = regexp.MustCompile(`^([0-9.]+)x([0-9]+)$`)
)

func (p *parser) line(line string) error {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	line = strings.TrimSpace(line)
	for len(p.stack) > 0 && p.stack[len(p.stack)-1].indent >= indent {
		p.stack = p.stack[:len(p.stack)-1]
	}
	if m := edit.FindStringSubmatch(line); m != nil && strings.Contains(m[1], "/") {
		return p.edit(m[1], m[2], m[3])
	}
	words := strings.Fields(line)
	switch {
	case words[0] == "node":
		return p.node(words)
	case words[0] == "bus":
		return p.bus(indent, words)
	case words[0] == "rdma":
		return p.rdma(words)
	case words[0] == "proc" && len(words) == 3 && words[1] == "pid":
		p.tree.links["proc/self"] = "1000"
		p.tree.folders["proc/1000/ns"] = true
		p.tree.links["proc/1000/ns/pid"] = "pid:[" + words[2] + "]"
		return nil
	case words[0] == "net" && len(words) == 2:
		return p.net(words[1], "9000")
	case words[0] == "net" && len(words) == 4 && words[2] == "mtu":
		return p.net(words[1], words[3])
	case words[0] == "rxe" && len(words) == 4 && words[2] == "on":
		return p.rxe(words[1], words[3])
	case address.MatchString(words[0]):
		return p.function(indent, words)
	}
	return fmt.Errorf("%q begins no line of a description", words[0])
}

var failures = map[string]error{"EACCES": syscall.EACCES, "EINVAL": syscall.EINVAL, "EIO": syscall.EIO, "ENODEV": syscall.ENODEV}

func (p *parser) edit(name, what, value string) error {
	name, ok := strings.CutPrefix(name, "/")
	if !ok {
		at, rest, _ := strings.Cut(name, "/")
		dir := p.at[full(at)]
		if dir == "" {
			return fmt.Errorf("no PCI function %s above this line", at)
		}
		name = dir + "/" + rest
	}
	var apply func(name string)
	switch what {
	case "->":
		apply = func(name string) { delete(p.tree.files, name); p.tree.links[name] = value }
	case "=":
		apply = func(name string) { delete(p.tree.links, name); p.file(name, value) }
	case "bytes":
		apply = func(name string) { delete(p.tree.links, name); p.tree.files[name] = value }
	case "fails":
		why, ok := failures[value]
		if !ok {
			return fmt.Errorf("%q is no way to fail", value)
		}
		apply = func(name string) { p.tree.fails[name] = why }
	case "gone":
		apply = func(name string) { p.tree.gone = append(p.tree.gone, name); delete(p.tree.folders, name) }
	case "folder":
		apply = func(name string) { p.tree.folders[name] = true }
	}
	p.edits = append(p.edits, func() { apply(p.behindLinks(name)) })
	return nil
}

// behindLinks is the name with the links among the folders on its way followed.
func (p *parser) behindLinks(name string) string {
	const enough = 40
	for range enough {
		followed := false
		for i := range name {
			if name[i] != '/' {
				continue
			}
			if target, ok := p.tree.links[name[:i]]; ok {
				name = path.Join(path.Dir(name[:i]), target) + name[i:]
				followed = true
				break
			}
		}
		if !followed {
			break
		}
	}
	return name
}

func (p *parser) node(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("node needs a number")
	}
	options, err := pairs(words[2:], "cpus", "package", "memory", "distance")
	if err != nil {
		return err
	}
	gib, err := strconv.Atoi(options["memory"])
	if err != nil {
		return fmt.Errorf("memory %q is no number of GiB", options["memory"])
	}
	dir := "sys/devices/system/node/node" + words[1]
	p.file(dir+"/meminfo", fmt.Sprintf("Node %s MemTotal: %14d kB\nNode %s MemFree: %15d kB", words[1], gib<<20, words[1], gib<<19))
	if distance := options["distance"]; distance != "" {
		p.file(dir+"/distance", strings.ReplaceAll(distance, ",", " "))
	}
	if options["cpus"] == "-" {
		p.file(dir+"/cpulist", "")
		return nil
	}
	p.file(dir+"/cpulist", options["cpus"])
	for span := range strings.SplitSeq(options["cpus"], ",") {
		lo, hi, isRange := strings.Cut(span, "-")
		if !isRange {
			hi = lo
		}
		first, errFirst := strconv.Atoi(lo)
		last, errLast := strconv.Atoi(hi)
		if errFirst != nil || errLast != nil {
			return fmt.Errorf("%q is no list of CPUs", options["cpus"])
		}
		for cpu := first; cpu <= last && options["package"] != "-"; cpu++ {
			p.file(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu), options["package"])
		}
	}
	return nil
}

func (p *parser) bus(indent int, words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("bus needs a name")
	}
	options, err := pairs(words[2:], "node")
	if err != nil {
		return err
	}
	f := frame{indent: indent, dir: "sys/devices/" + words[1], node: "-1"}
	if n := options["node"]; n != "" {
		f.node = n
	}
	p.tree.folders[f.dir] = true
	p.stack = append(p.stack, f)
	return nil
}

// function writes a PCI function.
func (p *parser) function(indent int, words []string) error {
	if len(p.stack) == 0 || len(words) < 3 {
		return fmt.Errorf("a PCI function needs a bus above it, a type and vendor:device")
	}
	above := p.stack[len(p.stack)-1]
	name, kind := full(words[0]), words[1]
	vendor, device, _ := strings.Cut(words[2], ":")
	rest := words[3:]
	var current string
	if len(rest) > 0 && link.MatchString(rest[0]) {
		current, rest = rest[0], rest[1:]
	}
	options, err := pairs(rest, "max", "class", "sub", "driver", "node", "pf", "config", "acs", "ats", "mps", "mrrs")
	if err != nil {
		return err
	}
	defaults, ok := functionTypes[kind]
	if !ok {
		return fmt.Errorf("%q is no type of PCI function", kind)
	}
	f := frame{indent: indent, dir: above.dir + "/" + name, node: above.node}
	if n := options["node"]; n != "" {
		f.node = n
	}
	p.stack = append(p.stack, f)
	p.at[name] = f.dir
	option := func(key, otherwise string) string {
		if v := options[key]; v != "" {
			return v
		}
		return otherwise
	}

	class := defaults.class
	if kind == "gpu" && vendor == "1002" {
		class = "120000"
	}
	p.file(f.dir+"/vendor", "0x"+vendor)
	p.file(f.dir+"/device", "0x"+device)
	p.file(f.dir+"/class", "0x"+option("class", class))
	p.file(f.dir+"/numa_node", f.node)
	if sub, subDevice, ok := strings.Cut(options["sub"], ":"); ok {
		p.file(f.dir+"/subsystem_vendor", "0x"+sub)
		p.file(f.dir+"/subsystem_device", "0x"+subDevice)
	}
	driver := defaults.driver
	if kind == "gpu" && vendor == "1002" {
		driver = "amdgpu"
	}
	if driver = option("driver", driver); driver != "none" {
		p.tree.links[f.dir+"/driver"] = relative(f.dir, "sys/bus/pci/drivers/"+driver)
		p.tree.folders["sys/bus/pci/drivers/"+driver] = true
	}
	if pf := options["pf"]; pf != "" {
		p.tree.links[f.dir+"/physfn"] = "../" + full(pf)
	}
	p.link(f.dir, "current", current)
	p.link(f.dir, "max", option("max", current))
	payload, errPayload := exponent(option("mps", "256"))
	request, errRequest := exponent(option("mrrs", "512"))
	if errPayload != nil || errRequest != nil {
		return fmt.Errorf("mps %q, mrrs %q: a size is 128, 256, ... 4096", options["mps"], options["mrrs"])
	}
	space := configSpace(defaults.port, payload, request, options["acs"], options["ats"])
	if length, ok := map[string]int{"full": 4096, "basic": 256, "short": 64}[option("config", "full")]; ok {
		p.tree.files[f.dir+"/config"] = space[:length]
	}
	p.tree.links["sys/bus/pci/devices/"+name] = relative("sys/bus/pci/devices", f.dir)
	return nil
}

var functionTypes = map[string]struct {
	class, driver string
	port          byte // Device/Port Type of the PCI Express capability
}{
	"root_port":  {"060400", "pcieport", 4},
	"upstream":   {"060400", "pcieport", 5},
	"downstream": {"060400", "pcieport", 6},
	"bridge":     {"060400", "none", 7},
	"nic":        {"020000", "mlx5_core", 0},
	"gpu":        {"030200", "nvidia", 0},
	"other":      {"ff0000", "none", 0},
}

// configSpace is a function's configuration space with nothing in it but its PCI Express
// capability and, where asked for, those of ACS and ATS.
func configSpace(port, payload, request byte, acs, ats string) string {
	space := make([]byte, 4096)
	space[0x06] = 1 << 4
	space[0x34] = 0x60
	space[0x60] = 0x10
	space[0x62] = port<<4 | 2
	space[0x68] = payload << 5
	space[0x69] = request << 4
	at := 0x100
	extended := func(id byte, control uint16, setting string) {
		if setting == "" {
			return
		}
		if at > 0x100 {
			space[0x103] = byte(at >> 4) // the capability before leads here
		}
		space[at], space[at+2] = id, 1
		if setting == "on" {
			space[at+6], space[at+7] = byte(control), byte(control>>8)
		}
		at += 0x50
	}
	extended(0x0d, 0x1d, acs) // validation, request and completion redirect, upstream forwarding
	extended(0x0f, 0x8000, ats)
	return string(space)
}

// exponent is the register's value for a size of 128 << n bytes.
func exponent(size string) (n byte, err error) {
	for ; n < 6; n++ {
		if size == strconv.Itoa(128<<n) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%q is no size", size)
}

func (p *parser) link(dir, when, value string) {
	if value == "unknown" {
		p.file(dir+"/"+when+"_link_speed", "Unknown")
		p.file(dir+"/"+when+"_link_width", "0")
		return
	}
	m := link.FindStringSubmatch(value)
	if m == nil {
		return
	}
	speed := m[1]
	if !strings.Contains(speed, ".") {
		speed += ".0"
	}
	p.file(dir+"/"+when+"_link_speed", speed+" GT/s PCIe")
	p.file(dir+"/"+when+"_link_width", m[2])
}

func (p *parser) rdma(words []string) error {
	if len(p.stack) == 0 || len(words) < 3 {
		return fmt.Errorf("rdma needs a PCI function above it, a name and a rate")
	}
	name, rate, state, layer := words[1], words[2], "ACTIVE", "Ethernet"
	nodeType, up := "1: CA", true
	rest := words[3:]
	for more := true; more && len(rest) > 0; {
		switch word := rest[0]; {
		case states[word] != 0:
			state = word
		case word == "ib":
			layer = "InfiniBand"
		case word == "iwarp":
			nodeType = "4: RNIC"
		case word == "off":
			up = false
		default:
			more = false
			continue
		}
		rest = rest[1:]
	}
	options, err := pairs(rest, "port", "net", "sf", "fw", "mtu", "image", "gids")
	if err != nil {
		return err
	}
	parent := p.stack[len(p.stack)-1].dir
	if sf := options["sf"]; sf != "" {
		parent += "/" + sf
	}
	dir := parent + "/infiniband/" + name
	if p.ports[name] == "" {
		p.device(name, dir, options["fw"])
		p.tree.links[dir+"/device"] = "../../../" + path.Base(parent)
		p.file(dir+"/node_type", nodeType)
		if image := options["image"]; image != "" {
			p.file(dir+"/sys_image_guid", image)
		}
	}
	port := options["port"]
	if port == "" {
		port = "1"
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("port %q is no number", port)
	}
	net := options["net"]
	switch {
	case net == "none":
		net = ""
	case net == "" && layer == "Ethernet":
		net = "net-" + name
	}
	if net != "" {
		mtu := options["mtu"]
		if mtu == "" {
			mtu = "9000"
		}
		p.netdev(net, parent+"/net/"+net, mtu, up)
		p.file(parent+"/net/"+net+"/dev_port", strconv.Itoa(n-1))
	}
	gids := options["gids"]
	if gids == "" && layer == "InfiniBand" {
		gids = "ib"
	}
	p.port(dir+"/ports/"+port, layer, state, rate+" Gb/sec (4X)")
	p.gids(dir+"/ports/"+port, gids, net)
	return nil
}

// gids writes the first eight entries of a port's table, in the order of mlx5: link-local and
// IPv4-mapped, each as RoCE v1 and v2. soft-RoCE knows v2 alone. Type and netdev of an empty entry cannot be read.
func (p *parser) gids(dir, kind, net string) {
	p.addresses++
	local := fmt.Sprintf("fe80:0000:0000:0000:0200:5eff:fe00:%04x", p.addresses)
	mapped := fmt.Sprintf("0000:0000:0000:0000:0000:ffff:c000:02%02x", p.addresses&0xff)
	table := [8]struct{ gid, kind string }{{local, "IB/RoCE v1"}, {local, "RoCE v2"}, {mapped, "IB/RoCE v1"}, {mapped, "RoCE v2"}}
	if kind == "rxe" {
		table = [8]struct{ gid, kind string }{{local, "RoCE v2"}, {mapped, "RoCE v2"}}
	}
	for i, entry := range table {
		slot := strconv.Itoa(i)
		if kind == "none" || kind == "ib" && i > 0 || kind == "v1" && entry.kind == "RoCE v2" || entry.gid == "" {
			p.file(dir+"/gids/"+slot, "0000:0000:0000:0000:0000:0000:0000:0000")
			continue
		}
		p.file(dir+"/gids/"+slot, entry.gid)
		p.file(dir+"/gid_attrs/types/"+slot, entry.kind)
		if net != "" {
			p.file(dir+"/gid_attrs/ndevs/"+slot, net)
		}
	}
}

var states = map[string]int{"DOWN": 1, "INIT": 2, "ARMED": 3, "ACTIVE": 4}

func (p *parser) rxe(name, net string) error {
	if p.nets[net] == "" {
		return fmt.Errorf("no netdev %s above this line", net)
	}
	dir := "sys/devices/virtual/infiniband/" + name
	p.device(name, dir, "")
	p.file(dir+"/node_type", "1: CA")
	p.file(dir+"/parent", net)
	p.port(dir+"/ports/1", "Ethernet", "ACTIVE", "2.5 Gb/sec (1X SDR)")
	p.gids(dir+"/ports/1", "rxe", net)
	return nil
}

// device enters an RDMA device in the classes.
func (p *parser) device(name, dir, firmware string) {
	p.ports[name] = dir
	p.file(dir+"/fw_ver", firmware)
	p.tree.links["sys/class/infiniband/"+name] = relative("sys/class/infiniband", dir)
	verbs := fmt.Sprintf("uverbs%d", p.verbs)
	p.verbs++
	p.file("sys/class/infiniband_verbs/"+verbs+"/ibdev", name)
}

func (p *parser) port(dir, layer, state, rate string) {
	p.file(dir+"/link_layer", layer)
	p.file(dir+"/state", fmt.Sprintf("%d: %s", states[state], state))
	physical := "5: LinkUp"
	switch {
	case state == "DOWN" && layer == "Ethernet":
		physical = "3: Disabled"
	case state == "DOWN":
		physical = "2: Polling"
	}
	p.file(dir+"/phys_state", physical)
	p.file(dir+"/rate", rate)
}

func (p *parser) net(name, mtu string) error {
	if len(p.stack) == 0 {
		return fmt.Errorf("net needs a PCI function above it")
	}
	p.netdev(name, p.stack[len(p.stack)-1].dir+"/net/"+name, mtu, true)
	return nil
}

func (p *parser) netdev(name, dir, mtu string, up bool) {
	p.nets[name] = dir
	p.file(dir+"/mtu", mtu)
	p.file(dir+"/flags", map[bool]string{false: "0x1002", true: "0x1003"}[up])
	p.tree.links[dir+"/device"] = "../../../" + path.Base(path.Dir(path.Dir(dir)))
	p.tree.links["sys/class/net/"+name] = relative("sys/class/net", dir)
}

func (p *parser) file(name, content string) { p.tree.files[name] = content + "\n" }

// full is a PCI address with its domain.
func full(a string) string {
	if strings.Count(a, ":") == 1 {
		return "0000:" + a
	}
	return a
}

// relative is the link from a folder below sys to a path below sys.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + strings.TrimPrefix(to, "sys/")
}

// pairs reads "key value key value".
func pairs(words []string, keys ...string) (map[string]string, error) {
	options := map[string]string{}
	for i := 0; i < len(words); i += 2 {
		if !slices.Contains(keys, words[i]) || i+1 == len(words) {
			return nil, fmt.Errorf("%q is none of %v, or lacks a value", words[i], keys)
		}
		options[words[i]] = words[i+1]
	}
	return options, nil
}
