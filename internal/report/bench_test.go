package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/report"
)

// BenchmarkParse reads the report of a host of 16 RNICs and 72 endpoints whose
// every path was read three times.
func BenchmarkParse(b *testing.B) {
	in := inputOf(hostOf(16, 8, 64))
	for _, r := range in.Topology.RNICs {
		slow(&in, r.ID)
	}
	doc := document(b, in)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := report.Parse(doc)
		require.NoError(b, err)
	}
}
