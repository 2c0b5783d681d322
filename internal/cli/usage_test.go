package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Everything that is wrong in a command line: exit status 2, nothing on
// stdout, one line on stderr with what is wrong and what would be right.
func TestWrongUsage(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	notJSON := file("not.json", "{")
	otherSchema := file("other.json", `{"schema": "hostping.report/v1"}`)
	binary := file("binary", "\x00\x01\n\x02")
	huge := filepath.Join(dir, "huge.json")
	require.NoError(t, os.WriteFile(huge, nil, 0o644))
	require.NoError(t, os.Truncate(huge, 64<<20))
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	noRate := file("norate.json", withoutRates(t))

	for name, c := range map[string]struct {
		line string
		env  map[string]string
		says []string
	}{
		"unknown command":           {"diagnosis --sim", nil, []string{`unknown command "diagnosis"`, "did you mean diagnose?"}},
		"command like no other":     {"frobnicate", nil, []string{`unknown command "frobnicate"`, "diagnose, explain, faults", "topology"}},
		"unknown flag":              {"diagnose --sim --falt rnic_pcie:rnic0", nil, []string{"unknown flag --falt", "did you mean --fault?"}},
		"flag like no other":        {"diagnose --wombat", nil, []string{"unknown flag --wombat", "hostpingctl diagnose --help"}},
		"flag of another command":   {"diagnose --capture /x", nil, []string{"unknown flag --capture", "hostpingctl topology"}},
		"unknown short flag":        {"diagnose -x", nil, []string{"unknown flag -x", "--help"}},
		"unknown flag of the root":  {"--wombat", nil, []string{"unknown flag --wombat"}},
		"flag without a value":      {"diagnose --sim --fault", nil, []string{"--fault needs a value", "KIND:TARGET"}},
		"argument":                  {"diagnose rnic0", nil, []string{"takes no arguments", `"rnic0"`}},
		"argument of topology":      {"topology rnic0", nil, []string{"takes no arguments"}},
		"argument of faults":        {"faults rnic0", nil, []string{"takes no arguments"}},
		"unknown shell":             {"completion bsh", nil, []string{`unknown command "bsh"`, "did you mean bash?"}},
		"argument of a completion":  {"completion bash now", nil, []string{"takes no arguments"}},
		"unknown help topic":        {"help diagnos", nil, []string{`unknown command "diagnos"`, "did you mean diagnose?"}},
		"unknown fault kind":        {"diagnose --sim --fault rnic_pci:rnic0", nil, []string{"--fault rnic_pci:rnic0", "did you mean rnic_pcie?"}},
		"fault kind like no other":  {"diagnose --sim --fault wombat:rnic0", nil, []string{"wombat", "rnic_pcie", "inter_socket"}},
		"unknown target":            {"diagnose --sim --fault rnic_pcie:rnci0", nil, []string{"rnci0", "did you mean rnic0?"}},
		"target of another kind":    {"diagnose --sim --fault memory:rnic0", nil, []string{"memory:rnic0", "mem0"}},
		"no target":                 {"diagnose --sim --fault rnic_pcie", nil, []string{"KIND:TARGET[=SEVERITY]"}},
		"severity above 1":          {"diagnose --sim --fault rnic_pcie:rnic0=1.5", nil, []string{"severity", "0 to 1"}},
		"severity below 0":          {"diagnose --sim --fault rnic_pcie:rnic0=-0.1", nil, []string{"severity", "0 to 1"}},
		"severity is no number":     {"diagnose --sim --fault rnic_pcie:rnic0=NaN", nil, []string{"severity", "0 to 1"}},
		"severity is a word":        {"diagnose --sim --fault rnic_pcie:rnic0=high", nil, []string{"severity", "0 to 1"}},
		"severity is empty":         {"diagnose --sim --fault rnic_pcie:rnic0=", nil, []string{"severity", "0 to 1"}},
		"decimal comma":             {"diagnose --sim --fault rnic_pcie:rnic0=0,4", nil, []string{"--fault 4: commas separate entries", "decimal point, as 0.4"}},
		"decimal comma of a share":  {"diagnose --sim --busy rnic0=0,4", nil, []string{"--busy 4: ", "decimal point, as 0.4"}},
		"hexadecimal severity":      {"diagnose --sim --fault rnic_pcie:rnic0=0x1p-2", nil, []string{"severity", "0 to 1"}},
		"fault twice":               {"diagnose --sim --fault memory:mem0 --fault memory:mem0=0.6", nil, []string{"--fault memory:mem0=0.6: memory:mem0 is given twice"}},
		"fault twice by names":      {"diagnose --sim --fault root_port:rp0,root_port:up0", nil, []string{"root_port:rp0 is given twice"}},
		"switch of a root port":     {"diagnose --sim --fault switch:up0", nil, []string{`no switch "up0"`, "did you mean root_port:rp0?"}},
		"help on too much":          {"help topology extra", nil, []string{`hostpingctl topology has no subcommand "extra"`, "hostpingctl topology --help"}},
		"flag of several commands":  {"replay --sim", nil, []string{"calibrate, hostpingctl diagnose,", " or hostpingctl topology"}},
		"second fault is wrong":     {"diagnose --sim --fault rnic_pcie:rnic0 --fault rnic_pcie:rnic9", nil, []string{"--fault rnic_pcie:rnic9"}},
		"fault without sim":         {"diagnose --fault rnic_pcie:rnic0", nil, []string{"--fault", "add --sim"}},
		"busy without sim":          {"diagnose --busy rnic0", nil, []string{"--busy", "add --sim"}},
		"seed without sim":          {"diagnose --seed 3", nil, []string{"--seed", "add --sim"}},
		"unknown busy RNIC":         {"diagnose --sim --busy rnic9", nil, []string{"--busy rnic9", "rnic"}},
		"busy share":                {"diagnose --sim --busy rnic0=2", nil, []string{"share", "0 to 1"}},
		"busy share is empty":       {"diagnose --sim --busy rnic0=", nil, []string{"share", "0 to 1"}},
		"noise":                     {"diagnose --sim --noise tipical", nil, []string{"--noise tipical", "did you mean typical?"}},
		"memory nodes":              {"topology --memory-nodes al", nil, []string{"--memory-nodes al", "did you mean all?"}},
		"memory nodes of sim":       {"diagnose --sim --memory-nodes all", nil, []string{"--memory-nodes", "--sim", "one of them"}},
		"seed":                      {"diagnose --sim --seed x", nil, []string{"--seed x", "whole number"}},
		"seed below 0":              {"diagnose --sim --seed -1", nil, []string{"--seed -1", "whole number"}},
		"format":                    {"diagnose --sim --format jsno", nil, []string{"--format jsno", "did you mean json?"}},
		"format of another command": {"topology --sim --format tap", nil, []string{"--format tap", "text, json, dot, svg"}},
		"mode":                      {"diagnose --sim --mode ilde", nil, []string{"--mode ilde", "did you mean idle?"}},
		"threshold in percent":      {"diagnose --sim --path-threshold 20", nil, []string{"--path-threshold 20", "0.2"}},
		"threshold is no number":    {"diagnose --sim --path-threshold nan", nil, []string{"--path-threshold nan", "share"}},
		"idle threshold":            {"diagnose --sim --rnic-idle-threshold 0", nil, []string{"--rnic-idle-threshold 0", "above 0"}},
		"topology file is missing":  {"diagnose --sim-topology " + dir + "/none.json", nil, []string{"cannot be read", "topology --format json"}},
		"topology file is a folder": {"diagnose --sim-topology " + dir, nil, []string{"cannot be read"}},
		"topology file is cut":      {"diagnose --sim --sim-topology " + notJSON, nil, []string{"not.json"}},
		"topology file is a report": {"faults --sim-topology " + otherSchema, nil, []string{"other.json", "hostping.topology/v1"}},
		"topology file is binary":   {"topology --sim-topology " + binary, nil, []string{"binary"}},
		"topology file is huge":     {"topology --sim-topology " + huge, nil, []string{"longer than"}},
		"topology cannot simulate":  {"diagnose --sim-topology " + noRate, nil, []string{"cannot simulate", "rate"}},
		"sysfs and sim":             {"topology --sim --sysfs " + dir, nil, []string{"--sysfs", "--sim", "one of them"}},
		"sysfs is missing":          {"topology --sysfs " + dir + "/none", nil, []string{"none"}},
		"RNIC that is not there":    {"diagnose --sim --rnic rnic0,rnci1", nil, []string{"--rnic", "rnci1", "did you mean rnic1?"}},
		"excluded RNIC not there":   {"diagnose --sim --rnic !rnci1", nil, []string{"--rnic", "did you mean rnic1?"}},
		"GPU that is not there":     {"diagnose --sim --gpu gpu77", nil, []string{"--gpu", "gpu77"}},
		"no RNIC left":              {"diagnose --sim --rnic mlx5_*", nil, []string{"--rnic", "rnic0, rnic1"}},
		"malformed glob":            {"diagnose --sim --rnic rnic[0", nil, []string{"--rnic", "["}},
		"output is a folder":        {"diagnose --sim --output " + dir, nil, []string{"--output", "folder"}},
		"output's folder missing":   {"diagnose --sim --output " + dir + "/no/report.json", nil, []string{"--output", "no such file"}},
		"environment: value":        {"diagnose --sim", map[string]string{"HOSTPING_SEED": "x"}, []string{"HOSTPING_SEED=x", "whole number"}},
		"environment: bool":         {"diagnose", map[string]string{"HOSTPING_SIM": "maybe"}, []string{"HOSTPING_SIM=maybe", "true or false"}},
		"environment: word":         {"diagnose --sim", map[string]string{"HOSTPING_FORMAT": "xml"}, []string{"HOSTPING_FORMAT=xml", "text, json"}},
		"environment: fault":        {"diagnose --sim", map[string]string{"HOSTPING_FAULT": "rnic_pcie:rnic9"}, []string{": HOSTPING_FAULT=rnic_pcie:rnic9: no RNIC"}},
		"environment: no sim":       {"diagnose", map[string]string{"HOSTPING_FAULT": "rnic_pcie:rnic0"}, []string{": HOSTPING_FAULT changes", "add --sim"}},
		"environment: baseline":     {"diagnose --sim", map[string]string{"HOSTPING_BASELINE_FILE": "none.json"}, []string{": HOSTPING_BASELINE_FILE=none.json: cannot be read"}},
		"environment: output":       {"diagnose --sim", map[string]string{"HOSTPING_OUTPUT": dir}, []string{": HOSTPING_OUTPUT=" + dir + " cannot be written: it is a folder"}},
		"environment: RNIC":         {"diagnose --sim", map[string]string{"HOSTPING_RNIC": "rnic9"}, []string{": HOSTPING_RNIC=rnic9: this host has no"}},
		"environment: topology":     {"diagnose", map[string]string{"HOSTPING_SIM_TOPOLOGY": notJSON}, []string{": HOSTPING_SIM_TOPOLOGY=" + notJSON + ": "}},
		"environment: other flag":   {"diagnose --sim --rnic rnic9", map[string]string{"HOSTPING_FAULT": "memory:mem0"}, []string{": --rnic rnic9: this host has no"}},
		"environment: misspelt":     {"diagnose --sim", map[string]string{"HOSTPING_SIMM": "1"}, []string{"HOSTPING_SIMM is no setting", "did you mean HOSTPING_SIM?"}},
		"environment: swapped":      {"faults", map[string]string{"HOSTPING_BASELNIE_FILE": "x"}, []string{"did you mean HOSTPING_BASELINE_FILE?"}},
		"empty topology file":       {"diagnose --sim --sim-topology=", nil, []string{"--sim-topology needs a value"}},
		"empty sysfs":               {"topology --sysfs=", nil, []string{"--sysfs needs a value"}},
		"empty procfs":              {"topology --procfs=", nil, []string{"--procfs needs a value"}},
		"empty capture":             {"topology --capture=", nil, []string{"--capture needs a value"}},
		"empty output":              {"diagnose --sim --output=", nil, []string{"--output needs a value"}},
		"empty RNIC":                {"diagnose --sim --rnic=", nil, []string{"--rnic needs a value"}},
		"empty baseline file":       {"diagnose --sim --baseline-file=", nil, []string{"--baseline-file needs a value"}},
		"empty beats environment":   {"diagnose --sim --rnic=", map[string]string{"HOSTPING_RNIC": "rnic0"}, []string{"--rnic needs a value"}},
		"format without a value":    {"diagnose --sim --format", nil, []string{"--format needs a value: it is one of text, json, tap"}},
		"hexadecimal threshold":     {"diagnose --sim --path-threshold 0x1p-2", nil, []string{"--path-threshold 0x1p-2", "share"}},
		"sysfs is another folder":   {"topology --sysfs " + dir, nil, []string{"--sysfs " + dir + " is no sysfs tree"}},
		"procfs of no sysfs":        {"faults --procfs " + dir, nil, []string{"--procfs", "one of them"}},
		"procfs is missing":         {"topology --procfs " + dir + "/none", nil, []string{"--procfs " + dir + "/none cannot be read"}},
		"procfs is a file":          {"topology --procfs " + notJSON, nil, []string{"--procfs " + notJSON + " is no folder"}},
		"pipe without a writer":     {"replay " + pipe, nil, []string{pipe + ": cannot be read: it is a pipe to which nobody writes"}},
		"topology from such a pipe": {"diagnose --sim-topology " + pipe, nil, []string{"nobody writes"}},
		"baseline from such a pipe": {"diagnose --sim --baseline-file " + pipe, nil, []string{"nobody writes"}},
		"report is a device":        {"replay /dev/zero", nil, []string{"/dev/zero: cannot be read: it is neither a file nor a pipe"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := call{args: strings.Fields(c.line), env: c.env}.run(t.Context())
			requireOneLine(t, got, 2)
			for _, text := range c.says {
				require.Contains(t, got.stderr, text)
			}
		})
	}
}

// withoutRates is the simulated host as a file that lacks its RNICs' rates.
func withoutRates(t *testing.T) string {
	t.Helper()
	full := hostpingctl(t, "topology --sim --format json")
	require.Equal(t, 0, full.code)
	bare := strings.ReplaceAll(full.stdout, `"rate_gbps": 200`, `"rate_gbps": null`)
	require.NotEqual(t, full.stdout, bare)
	return bare
}

func TestFlagsFromTheEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		env  map[string]string
		code int
		says string
	}{
		"a flag":                    {"diagnose", map[string]string{"HOSTPING_SIM": "true"}, 0, "HEALTHY"},
		"the command line wins":     {"diagnose --sim --format text", map[string]string{"HOSTPING_FORMAT": "json"}, 0, "HEALTHY"},
		"dashes are underscores":    {"diagnose --sim --fault gpu_pcie:gpu0", map[string]string{"HOSTPING_PATH_THRESHOLD": "0.9"}, 0, "HEALTHY"},
		"a list":                    {"diagnose --sim", map[string]string{"HOSTPING_FAULT": "gpu_pcie:gpu0,memory:mem1"}, 1, "2 DIAGNOSES"},
		"the command line's list":   {"diagnose --sim --fault gpu_pcie:gpu0", map[string]string{"HOSTPING_FAULT": "memory:mem1"}, 1, "1 DIAGNOSIS"},
		"empty is not set":          {"diagnose --sim", map[string]string{"HOSTPING_FAULT": ""}, 0, "HEALTHY"},
		"a name far from any":       {"diagnose --sim", map[string]string{"HOSTPING_PORT": "tcp://10.0.0.1:80", "HOSTPING_HOST": "x"}, 0, "HEALTHY"},
		"misspelt but empty":        {"diagnose --sim", map[string]string{"HOSTPING_SIMM": ""}, 0, "HEALTHY"},
		"other commands' variables": {"faults", map[string]string{"HOSTPING_SEED": "x"}, 0, "rnic_pcie"},
		"help is no such flag":      {"diagnose --sim", map[string]string{"HOSTPING_HELP": "true"}, 0, "HEALTHY"},
	} {
		t.Run(name, func(t *testing.T) {
			got := call{args: strings.Fields(c.line), env: c.env}.run(t.Context())
			require.Equal(t, c.code, got.code, got.stderr)
			require.Contains(t, got.stdout, c.says)
			require.Empty(t, got.stderr)
		})
	}
}

func TestHelp(t *testing.T) {
	for line, says := range map[string][]string{
		"":                     {"diagnose", "topology", "faults", "completion", "Examples:"},
		"--help":               {"diagnose", "topology", "HOSTPING_"},
		"help":                 {"diagnose", "topology"},
		"help diagnose":        {"--fault", "Examples:", "Exit status"},
		"help help":            {"Help on a command"},
		"diagnose --help":      {"--fault", "--path-threshold", "Examples:"},
		"calibrate --help":     {"--out", "--merge", "--accept-asymmetric", "--rounds", "Examples:", "Exit status"},
		"topology --help":      {"--sysfs", "Examples:"},
		"faults --help":        {"--sim-topology", "Examples:"},
		"completion":           {"bash", "zsh"},
		"completion bash":      {"hostpingctl"},
		"completion zsh":       {"hostpingctl"},
		"completion fish":      {"hostpingctl"},
		"--version":            {"hostpingctl 1.2.3", "revision abcdef", "go1.", "zig 0.16.0"},
		"diagnose --sim --gpu": nil, // a value is missing: no help
	} {
		t.Run(line, func(t *testing.T) {
			got := hostpingctl(t, line)
			if says == nil {
				requireOneLine(t, got, 2)
				return
			}
			require.Equal(t, 0, got.code, got.stderr)
			require.Empty(t, got.stderr)
			for _, text := range says {
				require.Contains(t, got.stdout, text)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	for line, want := range map[string][]string{
		"diagnose --sim --fault|":                     {"rnic_pcie:", "memory:", "acs:"},
		"diagnose --sim --fault|memory:":              {"memory:mem0", "memory:mem1"},
		"diagnose --sim --fault|gpu_pcie:gpu7":        {"gpu_pcie:gpu7"},
		"diagnose --sim --busy|":                      {"rnic0", "rnic3"},
		"diagnose --sim --rnic|":                      {"rnic0", "rnic3"},
		"diagnose --sim --gpu|":                       {"gpu0", "gpu7"},
		"diagnose --mode|":                            {"auto", "idle", "busy"},
		"diagnose --noise|":                           {"none", "typical", "harsh"},
		"topology --format|":                          {"text", "json"},
		"|dia":                                        {"diagnose"},
		"diagnose --sim-topology /none.json --fault|": nil,
	} {
		t.Run(line, func(t *testing.T) {
			before, prefix, _ := strings.Cut(line, "|")
			args := append([]string{"__complete"}, append(strings.Fields(before), prefix)...)
			got := call{args: args}.run(t.Context())
			require.Equal(t, 0, got.code, got.stderr)
			var offered []string
			for value := range strings.Lines(got.stdout) {
				value, _, _ = strings.Cut(strings.TrimSpace(value), "\t")
				if value != "" && !strings.HasPrefix(value, ":") {
					offered = append(offered, value)
				}
			}
			require.Subset(t, offered, want)
			if want == nil {
				require.Empty(t, offered)
			}
		})
	}
}
