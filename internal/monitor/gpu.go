package monitor

import (
	"context"
	"fmt"
	"sync"

	"github.com/yuuki/hostping/internal/topology"
)

// gpuLoad is the source of the GPUs' utilisation. It looks at unusable GPUs
// too: one that cannot be probed may well be computing.
type gpuLoad struct {
	fs   *sysfs
	gpus []topology.GPU
}

func newGPULoad(fs *sysfs, gpus []topology.GPU) *gpuLoad { return &gpuLoad{fs: fs, gpus: gpus} }

// loads reads every GPU, side by side.
func (g *gpuLoad) loads(ctx context.Context) []Load {
	loads := make([]Load, len(g.gpus))
	var all sync.WaitGroup
	for i, gpu := range g.gpus {
		all.Go(func() {
			share, err := attempt(ctx, g.fs, gpu.ID, func() (float64, error) { return g.read(gpu) })
			if err != nil {
				loads[i] = Load{ID: gpu.ID, Problem: err}
				return
			}
			loads[i] = Load{ID: gpu.ID, Utilization: &share}
		})
	}
	all.Wait()
	return loads
}

// read is a GPU's utilisation, 0..1.
func (g *gpuLoad) read(gpu topology.GPU) (float64, error) {
	switch gpu.Vendor {
	case "amd":
		// In percent, averaged by the GPU's firmware (kernel documentation, amdgpu thermal).
		file := g.fs.path("bus/pci/devices", gpu.PCI, "gpu_busy_percent")
		percent, err := readUint(file)
		if err != nil {
			return 0, err
		}
		if percent > 100 {
			return 0, fmt.Errorf("%s holds %d, not a percentage", file, percent)
		}
		return float64(percent) / 100, nil
	case "nvidia":
		return 0, fmt.Errorf("%w: NVIDIA GPU utilisation cannot be read by this version", errUnavailable)
	}
	return 0, fmt.Errorf("%w: utilisation of GPUs of vendor %s cannot be read by this version", errUnavailable, gpu.Vendor)
}
