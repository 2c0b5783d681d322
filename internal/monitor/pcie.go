package monitor

import (
	"context"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yuuki/hostping/internal/topology"
)

// pcieLinks is the source of the links' speed and width and of the errors
// that were reported on them.
type pcieLinks struct {
	hops   []topology.Hop // those with a folder
	guards []*guard[LinkSample]

	mu   sync.Mutex
	last linkLook
	at   time.Time
}

// linkPause lies between two readings of the links: each asks the devices
// themselves, and nothing is decided by them.
const linkPause = 10 * time.Second

func newPCIeLinks(topo topology.Topology, dirs map[string]string) *pcieLinks {
	p := &pcieLinks{}
	for _, hop := range topo.Hops {
		dir := dirs[hop.ID]
		if dir == "" {
			continue
		}
		p.hops = append(p.hops, hop)
		p.guards = append(p.guards, &guard[LinkSample]{id: hop.ID, open: func(context.Context) (reader[LinkSample], error) {
			return linkReader{hop, dir}, nil
		}})
	}
	return p
}

// linkReader reads the folder of a PCI device. It keeps nothing open: at its
// pace that is cheaper than to hold five files for each link.
type linkReader struct {
	hop topology.Hop
	dir string
}

func (r linkReader) read(context.Context) (LinkSample, error) {
	s := LinkSample{Hop: r.hop.ID, ExpectedSpeedGTs: r.hop.ExpectedSpeedGTs, ExpectedWidth: r.hop.ExpectedWidth}
	speed, err := readSmall(r.dir + "/current_link_speed")
	if err != nil {
		return s, err
	}
	s.SpeedGTs = linkSpeed(speed)
	width, err := readSmall(r.dir + "/current_link_width")
	if err != nil {
		return s, err
	}
	s.Width = linkWidth(width)
	// Where the device has no AER, or the kernel leaves it to the firmware,
	// the files are missing (ABI/testing/sysfs-bus-pci-devices-aer_stats).
	s.CorrectableErrors = aerTotal(r.dir+"/aer_dev_correctable", "TOTAL_ERR_COR")
	s.NonfatalErrors = aerTotal(r.dir+"/aer_dev_nonfatal", "TOTAL_ERR_NONFATAL")
	s.FatalErrors = aerTotal(r.dir+"/aer_dev_fatal", "TOTAL_ERR_FATAL")
	if s.SpeedGTs == nil || s.Width == nil {
		return s, Unavailable("the link shows %q x%q", speed, width)
	}
	return s, nil
}

func (linkReader) close() {}

// readSmall reads the beginning of a file; AER's tables are some hundred bytes.
func readSmall(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	var buffer [2048]byte
	n, err := file.Read(buffer[:])
	if err != nil && n == 0 {
		return "", err
	}
	return strings.TrimSpace(string(buffer[:n])), nil
}

// linkSpeed is the number of "16.0 GT/s PCIe".
func linkSpeed(text string) *float64 {
	number, _, ok := strings.Cut(text, " GT/s")
	gts, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(gts > 0) || math.IsInf(gts, 1) {
		return nil
	}
	return &gts
}

// linkWidth is a number of lanes; 0 and 255 are links that are down.
func linkWidth(text string) *int {
	width, err := strconv.Atoi(text)
	if err != nil || width < 1 || width > 32 {
		return nil
	}
	return &width
}

func aerTotal(path, name string) *uint64 {
	text, err := readSmall(path)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			if n, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
				return &n
			}
		}
	}
	return nil
}

func (p *pcieLinks) close() {
	for _, g := range p.guards {
		g.close()
	}
}

func (p *pcieLinks) look(ctx context.Context) look {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.links == nil || time.Since(p.at) >= linkPause {
		p.last, p.at = linkLook{p.hops, readAll(ctx, p.guards)}, time.Now()
	}
	return p.last
}

type linkLook struct {
	hops  []topology.Hop
	links []outcome[LinkSample]
}

func (now linkLook) since(_ look, into *account) {
	var problems []problem
	for i, link := range now.links {
		if link.problem != nil {
			// A port that a hypervisor makes up need not have a link.
			if now.hops[i].Trust != topology.TrustNonsense {
				problems = append(problems, problem{link.id, link.problem})
			}
			continue
		}
		into.links = append(into.links, link.value)
	}
	into.enter(sourcePCIe, len(now.links), problems, "no PCIe link with a folder in sysfs")
}
