package monitor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/yuuki/hostping/internal/topology"
)

// gpuLoad is the source of the GPUs' utilisation. It looks at unusable GPUs
// too: one that cannot be probed may well be computing.
type gpuLoad struct {
	gpus   []topology.GPU
	nvidia *guard[[]GPUReading] // all NVIDIA GPUs, by one library; nil without any
	amd    []*guard[GPUReading] // each AMD GPU's sysfs
}

func newGPULoad(root string, topo topology.Topology, readers Readers) *gpuLoad {
	g := &gpuLoad{gpus: topo.GPUs}
	var addresses []string
	for _, gpu := range topo.GPUs {
		switch gpu.Vendor {
		case "nvidia":
			addresses = append(addresses, gpu.PCI)
		case "amd":
			g.amd = append(g.amd, newAMD(root, gpu, readers.Files))
		}
	}
	if len(addresses) == 0 {
		return g
	}
	g.nvidia = &guard[[]GPUReading]{id: "nvidia", open: func(ctx context.Context) (reader[[]GPUReading], error) {
		if readers.NVIDIA == nil {
			return nil, Unavailable("NVIDIA's library can be asked about this host's GPUs alone")
		}
		library, err := readers.NVIDIA(ctx, addresses)
		if err != nil {
			return nil, err
		}
		return &nvidiaReader{library, len(addresses)}, nil
	}}
	return g
}

// nvidiaReader reads all GPUs of NVIDIA's library, which waits for each by itself.
type nvidiaReader struct {
	library GPUs
	gpus    int
}

func (r *nvidiaReader) read(ctx context.Context) ([]GPUReading, error) {
	// A GPU that hangs is waited for until the end; the others' answers must
	// be handed out before that of all of them is given up.
	ctx, cancel := context.WithTimeout(ctx, readDeadline*3/4)
	defer cancel()
	readings := make([]GPUReading, r.gpus)
	err := r.library.Read(ctx, readings)
	if errors.Is(err, ErrLost) {
		// Once, now; if that does not help the guard closes it and waits.
		if again := r.library.Reinit(ctx); again != nil {
			return nil, again
		}
		err = r.library.Read(ctx, readings)
	}
	if err != nil {
		return nil, err
	}
	return readings, nil
}

func (r *nvidiaReader) close() { r.library.Close() }

func newAMD(root string, gpu topology.GPU, open func([]string) (Files, error)) *guard[GPUReading] {
	dir := filepath.Join(root, "bus/pci/devices", gpu.PCI)
	// In percent, averaged by the GPU's firmware (kernel documentation, amdgpu thermal).
	busy := dir + "/gpu_busy_percent"
	return &guard[GPUReading]{id: gpu.ID, open: func(context.Context) (reader[GPUReading], error) {
		opened, err := open([]string{busy})
		if err != nil {
			return nil, err
		}
		return &amdReader{gpu.ID, counter{path: busy, unit: 1}, opened, newPCIeBandwidth(dir + "/pcie_bw")}, nil
	}}
}

type amdReader struct {
	id        string
	busy      counter
	files     Files
	bandwidth *pcieBandwidth
}

func (r *amdReader) read(ctx context.Context) (GPUReading, error) {
	var values [1]FileValue
	if err := r.files.Read(ctx, values[:]); err != nil {
		return GPUReading{}, err
	}
	percent, err := r.busy.value(values[0])
	if err == nil && percent > 100 {
		err = fmt.Errorf("%s holds %d, not a percentage", r.busy.path, percent)
	}
	if err != nil {
		return GPUReading{}, err
	}
	reading := GPUReading{Utilization: new(float64(percent) / 100)}
	reading.OutBytesPerSecond, reading.InBytesPerSecond = r.bandwidth.latest()
	return reading, nil
}

func (r *amdReader) close() { r.files.Close() }

// pcieBandwidth reads an AMD GPU's pcie_bw: the packets that it received and
// sent in one second, and the size of the largest. The driver counts for that
// second while one waits (amdgpu_device.c, pcie_bw), so the file is read apart, and the
// latest answer is used.
type pcieBandwidth struct {
	path    string
	asked   time.Time
	answers chan rate
	last    rate
	at      time.Time // of last
	waiting bool
}

func newPCIeBandwidth(path string) *pcieBandwidth {
	return &pcieBandwidth{path: path, answers: make(chan rate, 1)}
}

const (
	// bandwidthPause lies between two questions: each keeps a thread for a second.
	bandwidthPause = 10 * time.Second
	// bandwidthFresh is how old an answer may be; older ones say nothing of now.
	bandwidthFresh = 15 * time.Second
)

// latest is the newest answer; nil when there is none of late.
func (b *pcieBandwidth) latest() (out, in *float64) {
	select {
	case b.last = <-b.answers:
		b.at, b.waiting = time.Now(), false
		if b.last.outBytesPerSecond < 0 {
			b.at = time.Time{}
		}
	default:
	}
	if !b.waiting && time.Since(b.asked) >= bandwidthPause && len(existing([]string{b.path})) == 1 {
		b.waiting, b.asked = true, time.Now()
		go func() { b.answers <- readBandwidth(b.path) }()
	}
	if b.at.IsZero() || time.Since(b.at) > bandwidthFresh {
		return nil, nil
	}
	return new(b.last.outBytesPerSecond), new(b.last.inBytesPerSecond)
}

// readBandwidth is negative where the file does not tell.
func readBandwidth(path string) rate {
	opened, _ := OpenFiles([]string{path})
	defer opened.Close()
	var values [1]FileValue
	_ = opened.Read(context.Background(), values[:])
	fields := strings.Fields(values[0].Text)
	none := rate{-1, -1}
	if values[0].Err != nil || len(fields) != 3 {
		return none
	}
	var numbers [3]float64
	for i, field := range fields {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return none
		}
		numbers[i] = float64(n)
	}
	received, sent, largest := numbers[0], numbers[1], numbers[2]
	return rate{outBytesPerSecond: sent * largest, inBytesPerSecond: received * largest}
}

func (g *gpuLoad) close() {
	if g.nvidia != nil {
		g.nvidia.close()
	}
	for _, amd := range g.amd {
		amd.close()
	}
}

func (g *gpuLoad) look(ctx context.Context) look {
	seen := gpuLook{gpus: g.gpus}
	if g.nvidia != nil {
		done := make(chan outcome[[]GPUReading], 1)
		go func() { done <- readAll(ctx, []*guard[[]GPUReading]{g.nvidia})[0] }()
		seen.amd = readAll(ctx, g.amd)
		seen.nvidia = <-done
		return seen
	}
	seen.amd = readAll(ctx, g.amd)
	return seen
}

type gpuLook struct {
	gpus   []topology.GPU
	nvidia outcome[[]GPUReading]
	amd    []outcome[GPUReading]
}

// since needs no earlier look: GPUs tell rates.
func (now gpuLook) since(_ look, into *account) {
	var problems []problem
	nvidia, amd := 0, 0
	for _, gpu := range now.gpus {
		var reading GPUReading
		var err error
		switch gpu.Vendor {
		case "nvidia":
			if err = now.nvidia.problem; err == nil {
				reading = now.nvidia.value[nvidia]
				err = reading.Err
			}
			nvidia++
		case "amd":
			reading, err = now.amd[amd].value, now.amd[amd].problem
			amd++
		default:
			err = Unavailable("utilisation of GPUs of vendor %s cannot be read by this version", gpu.Vendor)
		}
		if err == nil && reading.Utilization == nil {
			err = Unavailable("it does not tell its utilisation: %s", reading.WhyNot)
		}
		f := into.gpus[gpu.ID]
		f.sample.Utilization = reading.Utilization
		f.sample.OutBytesPerSecond, f.sample.InBytesPerSecond = reading.OutBytesPerSecond, reading.InBytesPerSecond
		f.sample.ComputeProcesses, f.sample.GraphicsProcesses = reading.ComputeProcesses, reading.GraphicsProcesses
		f.sample.ComputeMode, f.sample.MIG = reading.ComputeMode, reading.MIG
		f.load, f.problem = reading.Utilization, err
		if err != nil {
			f.load = nil
			problems = append(problems, problem{gpu.ID, err})
		}
	}
	into.enter(sourceGPU, len(now.gpus), problems, "no GPU on this host")
}
