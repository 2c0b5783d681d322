package baseline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/baseline"
)

// BenchmarkFleet parses and applies the file of a large fleet.
func BenchmarkFleet(b *testing.B) {
	for _, hosts := range []int{10, 1000} {
		var files []baseline.NamedFile
		for i := range hosts {
			files = append(files, baseline.NamedFile{Name: "x", File: calibrated(b, fmt.Sprintf("node%d", i), host(), 1)})
		}
		merged, err := baseline.Merge(baseline.Tool{}, files)
		require.NoError(b, err)
		doc := encode(b, merged)
		b.Run(fmt.Sprintf("%d hosts", hosts), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				f, err := baseline.Parse(doc)
				require.NoError(b, err)
				_, _, err = f.Apply("x", host())
				require.NoError(b, err)
			}
		})
	}
}
