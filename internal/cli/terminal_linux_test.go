package cli_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/yuuki/hostping/internal/cli"
)

// openTerminal makes a pseudo-terminal of so many columns. What is written to
// it is what screen returns, once it is closed.
func openTerminal(t *testing.T, columns uint16) (terminal *os.File, screen func() string) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { control.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns}))
	text := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(control) // ends with EIO when the terminal is closed
		text <- string(all)
	}()
	return terminal, func() string {
		terminal.Close()
		select {
		case all := <-text:
			return strings.ReplaceAll(all, "\r\n", "\n")
		case <-time.After(10 * time.Second):
			t.Fatal("the terminal was not closed")
			return ""
		}
	}
}

func TestTextOnATerminal(t *testing.T) {
	for name, c := range map[string]struct {
		columns uint16
		env     map[string]string
		color   bool
		width   int
	}{
		"colour, as wide as the terminal": {120, nil, true, 120},
		"a narrow terminal":               {60, nil, true, 60},
		"NO_COLOR":                        {100, map[string]string{"NO_COLOR": "1"}, false, 100},
		"an empty NO_COLOR says nothing":  {100, map[string]string{"NO_COLOR": ""}, true, 100},
		"a dumb terminal":                 {100, map[string]string{"TERM": "dumb"}, false, 100},
		"COLUMNS wins":                    {120, map[string]string{"COLUMNS": "70", "NO_COLOR": "1"}, false, 70},
	} {
		t.Run(name, func(t *testing.T) {
			terminal, screen := openTerminal(t, c.columns)
			env := call{env: c.env}.environment(nil, nil)
			env.Stdout, env.Stderr = terminal, io.Discard
			require.Equal(t, 1, cli.Hostpingctl(t.Context(), env, strings.Fields("diagnose --sim --fault memory:mem0")))
			text := screen()
			require.Equal(t, c.color, strings.Contains(text, "\x1b["))
			widest := 0
			for line := range strings.Lines(withoutEscapes(text)) {
				widest = max(widest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
			}
			require.LessOrEqual(t, widest, c.width)
			require.Greater(t, widest, c.width-20, "the width is not used")
		})
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	terminal, screen := openTerminal(t, 30)
	var stdout strings.Builder
	env := call{live: liveHost{}.open}.environment(nil, nil)
	env.Stdout, env.Stderr = &stdout, terminal
	require.Equal(t, 0, cli.Hostpingctl(t.Context(), env, []string{"diagnose"}))
	text := screen()
	require.Contains(t, text, "\r\x1b[Kprobing rnic0→mem0, 0 of 40 d", "cut to the terminal's width")
	require.True(t, strings.HasSuffix(text, "\r\x1b[K"), "the line is wiped at the end: %q", text)
	require.NotContains(t, text, "\n")
	require.NotContains(t, stdout.String(), "\x1b")
}

func withoutEscapes(text string) string {
	var plain strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		plain.WriteString(before)
		if !found {
			return plain.String()
		}
		_, text, _ = strings.Cut(after, "m")
	}
}
