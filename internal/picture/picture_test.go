package picture_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/yuuki/hostping/internal/discover"
	"github.com/yuuki/hostping/internal/discover/hosttree"
	"github.com/yuuki/hostping/internal/picture"
	"github.com/yuuki/hostping/internal/sim"
	"github.com/yuuki/hostping/internal/topology"
)

// hosts are all that we know: the simulated one and those of testdata.
func hosts(t *testing.T) map[string]topology.Topology {
	t.Helper()
	all := map[string]topology.Topology{"fig2": sim.Fig2(), "empty": {}}
	descriptions, err := filepath.Glob(filepath.Join("..", "..", "testdata", "hosts", "*.host"))
	require.NoError(t, err)
	require.NotEmpty(t, descriptions)
	for _, description := range descriptions {
		tree, err := hosttree.Load(description)
		require.NoError(t, err)
		host, err := discover.Discover(discover.Options{SysFiles: tree.Files("sys"), ProcFiles: tree.Files("proc")})
		if err != nil {
			require.ErrorIs(t, err, discover.ErrNoRDMA)
		}
		all[strings.TrimSuffix(filepath.Base(description), ".host")] = host.Topology
	}
	return all
}

// TestEveryPartStandsOnce: no device, memory node or link of any host is
// missing in the tree or stands twice, and the links above a device are those
// that its paths to memory climb.
func TestEveryPartStandsOnce(t *testing.T) {
	for name, top := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			var want, got []string
			for _, r := range top.RNICs {
				want = append(want, r.ID)
			}
			for _, g := range top.GPUs {
				want = append(want, g.ID)
			}
			for _, m := range top.MemoryNodes {
				want = append(want, m.ID)
			}
			for _, h := range top.Hops {
				want = append(want, h.ID)
			}
			climbs := map[string][]string{}
			var walk func(b *picture.Branch, above []string)
			walk = func(b *picture.Branch, above []string) {
				if b.Hop != nil {
					got = append(got, b.Hop.ID)
					above = append([]string{b.Hop.ID}, above...)
				}
				for _, r := range b.RNICs {
					got = append(got, r.ID)
					climbs[r.ID] = above
				}
				for _, g := range b.GPUs {
					got = append(got, g.ID)
				}
				for _, below := range b.Branches {
					walk(below, above)
				}
			}
			tree := picture.Arrange(top)
			for _, s := range tree.Sockets {
				for _, m := range s.Memory {
					got = append(got, m.Node.ID)
					if m.Hop != nil {
						got = append(got, m.Hop.ID)
					}
				}
				for _, b := range s.Branches {
					walk(b, nil)
				}
			}
			for _, bus := range tree.Buses {
				got = append(got, bus.ID)
			}
			assert.ElementsMatch(t, want, got)
			for _, p := range top.Paths {
				if strings.HasPrefix(p.Endpoint, "mem") {
					pcie := slices.DeleteFunc(slices.Clone(p.Hops), func(h string) bool {
						return strings.HasPrefix(h, "memory:") || strings.HasPrefix(h, "inter_socket:")
					})
					assert.Equal(t, pcie, climbs[p.RNIC], p.RNIC)
				}
			}
		})
	}
}

func TestOrder(t *testing.T) {
	tree := picture.Arrange(hosts(t)["hgx-h100"])
	require.Len(t, tree.Sockets, 3)
	assert.Equal(t, []string{"socket 0", "socket 1", "socket unknown"},
		[]string{picture.SocketName(tree.Sockets[0].ID), picture.SocketName(tree.Sockets[1].ID), picture.SocketName(tree.Sockets[2].ID)})
	var ports []string
	for _, b := range tree.Sockets[0].Branches {
		ports = append(ports, b.Hop.ID)
	}
	assert.True(t, slices.IsSortedFunc(ports, topology.CompareNatural), ports)
	assert.NotEmpty(t, tree.Sockets[0].Branches[0].Switch())
}

// allVerdicts marks the hops of the simulated host with each verdict in turn.
func allVerdicts(top topology.Topology) picture.Marks {
	m := picture.Marks{Hops: map[string]string{}, Paths: map[topology.PathKey]string{}}
	verdicts := []string{"normal", "abnormal", "gray", "flapping", "uncertain"}
	for i, h := range top.Hops {
		m.Hops[h.ID] = verdicts[i%len(verdicts)]
	}
	for _, p := range top.Paths {
		switch p.RNIC {
		case "rnic0":
			m.Paths[p.Key()] = "abnormal"
		case "rnic1":
			m.Paths[p.Key()] = "unmeasured"
		case "rnic2":
			m.Paths[p.Key()] = "uncertain"
		default:
			m.Paths[p.Key()] = "normal"
		}
	}
	m.Blames = []picture.Blame{
		{Components: []string{"rnic_pcie:rnic0", "inter_socket:0-1"}, Text: "critical first"},
		{Components: []string{"gpu3"}, Text: "warning second"},
	}
	return m
}

// parsed is what an XML reader finds in a picture.
type parsed struct {
	elements   map[string]int
	attributes []string
	text       []string
}

func parse(t *testing.T, svg []byte) parsed {
	t.Helper()
	p := parsed{elements: map[string]int{}}
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			p.elements[token.Name.Local]++
			for _, a := range token.Attr {
				p.attributes = append(p.attributes, a.Name.Local+"="+a.Value)
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" {
				p.text = append(p.text, text)
			}
		}
	}
}

func svgOf(t *testing.T, top topology.Topology, m picture.Marks) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, picture.SVG(&out, top, m))
	return out.Bytes()
}

// TestSVG: the picture of every host is sound XML that stands alone, shows every
// device by name, and is the same each time.
func TestSVG(t *testing.T) {
	for name, top := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			svg := svgOf(t, top, picture.Marks{})
			assert.Equal(t, svg, svgOf(t, top, picture.Marks{}))
			p := parse(t, svg)
			for _, never := range []string{"script", "image", "use", "foreignObject", "a", "link"} {
				assert.Zero(t, p.elements[never], never)
			}
			assert.NotRegexp(t, `href|url\(|@import|https?://[^w]`, string(svg))
			assert.Equal(t, 1, strings.Count(string(svg), `role="img"`))
			assert.Contains(t, p.attributes, "aria-labelledby=hostping-title hostping-description")
			assert.Equal(t, 1, p.elements["desc"])
			for _, r := range top.RNICs {
				assert.Contains(t, p.text, r.ID)
			}
			for _, g := range top.GPUs {
				assert.Contains(t, p.text, g.ID)
			}
			for _, m := range top.MemoryNodes {
				assert.Contains(t, p.text, m.ID)
			}
		})
	}
}

// TestVerdictsHaveWords: nobody needs to see colours to read a verdict.
func TestVerdictsHaveWords(t *testing.T) {
	top := sim.Fig2()
	p := parse(t, svgOf(t, top, allVerdicts(top)))
	count := map[string]int{}
	for _, text := range p.text {
		count[text]++
	}
	hops := map[string]int{}
	for _, v := range allVerdicts(top).Hops {
		hops[v]++
	}
	for verdict, n := range hops {
		assert.GreaterOrEqual(t, count[verdict], n, verdict)
	}
	assert.Equal(t, 1, count["10 of 10 paths abnormal"], "rnic0")
	assert.Equal(t, 1, count["no path measured"], "rnic1")
	assert.Equal(t, 1, count["no path proves anything"], "rnic2")
	assert.Equal(t, 10, count["1 of 4 paths abnormal"], "the endpoints")
	assert.Equal(t, 1, count["critical first"])
	assert.Equal(t, 3, count["1"], "in the list, at the RNIC's link, at the bus")
	assert.Equal(t, 2, count["2"], "in the list, at the GPU")
	description := p.text[slices.IndexFunc(p.text, func(s string) bool { return strings.HasPrefix(s, "Diagnosis 1: critical first.") })]
	assert.Contains(t, description, "links abnormal: ")
	assert.Contains(t, description, "Socket 0: mem0; switch up0 with switch low0 with rnic0 and gpu0 and gpu1; switch up1")
}

// TestHostileNames: what a device calls itself stays text.
func TestHostileNames(t *testing.T) {
	top := sim.Fig2()
	evil := "</text><script>alert(1)</script>\"]; x -- y [\\\n\x00\xff"
	top.GPUs[0].Model = evil
	top.RNICs[0].Usable, top.RNICs[0].Reason = false, evil
	marks := picture.Marks{Blames: []picture.Blame{{Components: []string{"gpu0"}, Text: evil}}}
	p := parse(t, svgOf(t, top, marks))
	assert.Zero(t, p.elements["script"])

	var dot bytes.Buffer
	require.NoError(t, picture.DOT(&dot, top, marks))
	checkDOT(t, dot.String())
}

var (
	dotString = `"(?:[^"\\\n]|\\.)*"`
	dotValue  = `(?:` + dotString + `|[A-Za-z0-9.]+)`
	dotLine   = regexp.MustCompile(`^\s*(?:graph hostping \{|subgraph cluster_\d+ \{|\}|(?:graph|node|edge|` + dotString + `(?: -- ` + dotString + `)?) \[(?:\w+=` + dotValue + `(?:, )?)+\])$`)
)

func checkDOT(t *testing.T, dot string) {
	t.Helper()
	depth := 0
	for line := range strings.Lines(dot) {
		line = strings.TrimSuffix(line, "\n")
		require.Regexp(t, dotLine, line)
		if strings.HasSuffix(line, "{") {
			depth++
		}
		if strings.TrimSpace(line) == "}" {
			depth--
		}
	}
	require.Zero(t, depth)
}

func TestDOT(t *testing.T) {
	for name, top := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			var dot bytes.Buffer
			require.NoError(t, picture.DOT(&dot, top, picture.Marks{}))
			checkDOT(t, dot.String())
			for _, r := range top.RNICs {
				assert.Contains(t, dot.String(), `-- "`+r.ID+`" [`)
			}
		})
	}
	top := sim.Fig2()
	var dot bytes.Buffer
	require.NoError(t, picture.DOT(&dot, top, allVerdicts(top)))
	checkDOT(t, dot.String())
	assert.Contains(t, dot.String(), `"socket 0" -- "root_port:rp0" [label="root port rp0\n16 GT/s x16\n`)
	assert.Contains(t, dot.String(), `(1) critical first`)
	assert.Regexp(t, `"switch:low0" -- "rnic0" \[label="16 GT/s x16\\nnormal\\n\(1\)"`, dot.String())
}

func TestLinkWords(t *testing.T) {
	full := topology.Hop{ExpectedSpeedGTs: new(32.0), ExpectedWidth: new(16), SpeedGTs: new(32.0), Width: new(16)}
	tests := map[string]struct {
		change      func(*topology.Hop)
		speed, note string
	}{
		"as it should be":      {func(*topology.Hop) {}, "32 GT/s x16", ""},
		"lower at rest":        {func(h *topology.Hop) { h.SpeedGTs = new(2.5) }, "32 GT/s x16", "at rest 2.5 GT/s x16"},
		"narrower under load":  {func(h *topology.Hop) { h.Width, h.Trust = new(8), topology.TrustMeasured }, "32 GT/s x16", "under load 32 GT/s x8"},
		"expected unknown":     {func(h *topology.Hop) { h.ExpectedWidth = nil }, "32 GT/s x16", ""},
		"now unknown":          {func(h *topology.Hop) { h.Width = nil }, "32 GT/s x16", ""},
		"nothing known":        {func(h *topology.Hop) { *h = topology.Hop{} }, "", ""},
		"made up by a machine": {func(h *topology.Hop) { h.Trust = topology.TrustNonsense }, "", "emulated link"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := full
			tt.change(&h)
			assert.Equal(t, tt.speed, picture.LinkSpeed(h))
			assert.Equal(t, tt.note, picture.LinkNote(h))
		})
	}
}

var update = flag.Bool("update", false, "rewrite the picture in docs")

// TestPictureInDocs keeps the picture that docs/design.md shows as it is drawn
// today. A change of the drawing is reviewed there.
func TestPictureInDocs(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "fig2.svg")
	svg := svgOf(t, sim.Fig2(), picture.Marks{})
	if *update {
		require.NoError(t, os.WriteFile(file, svg, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update once, and look at what it drew")
	assert.Equal(t, string(want), string(svg), "after a wanted change run the test with -update, and look at what it drew")
}
