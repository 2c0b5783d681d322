package sim

import (
	"testing"

	"github.com/yuuki/hostping/internal/engine"
	"github.com/yuuki/hostping/internal/engine/enginetest"
)

func TestZZContract(t *testing.T) {
	topo := Fig2()
	enginetest.TestProber(t, func() engine.Prober { h, err := New(topo, Options{}); if err != nil { t.Fatal(err) }; return h }, topo)
	enginetest.TestProber(t, func() engine.Prober { h, err := New(topo, Options{ProbeTime: 3e6}); if err != nil { t.Fatal(err) }; return h }, topo)
}
