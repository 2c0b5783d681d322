package discover

import "strings"

// Platform names the family of the host's CPUs by /proc/cpuinfo, for what
// depends on how a CPU's root complex and memory are built: "GenuineIntel-6-143",
// "AuthenticAMD-25-17", "arm-0x41-0xd4f". "" when it does not say.
func Platform(o Options) string {
	r, done, err := open(o)
	if err != nil {
		return ""
	}
	defer done()
	if r.proc == nil {
		return ""
	}
	text, err := r.proc.text("cpuinfo")
	if err != nil {
		return ""
	}
	return parsePlatform(text)
}

// parsePlatform reads the first CPU of /proc/cpuinfo, which every other one is
// like. The beginning of the file is enough: what it takes stands there.
func parsePlatform(cpuinfo string) string {
	fields := map[string]string{}
	for line := range strings.Lines(cpuinfo) {
		name, value, ok := strings.Cut(line, ":")
		if !ok && len(fields) > 0 {
			break // the blank line between two CPUs
		}
		fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	join := func(parts ...string) string {
		for _, part := range parts {
			if _, err := word(part); err != nil || part == "" {
				return ""
			}
		}
		return strings.Join(parts, "-")
	}
	if platform := join(fields["vendor_id"], fields["cpu family"], fields["model"]); platform != "" {
		return platform
	}
	return join("arm", fields["CPU implementer"], fields["CPU part"])
}
