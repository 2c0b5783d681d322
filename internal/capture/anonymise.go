package capture

import (
	"encoding/hex"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Anonymise returns the archive with everything replaced that tells one host
// from others of its make: GUIDs, MAC and IP addresses, UUIDs, serial numbers
// and the host's own names. What is neither text nor configuration space keeps its
// length alone.
func (a *Archive) Anonymise(hostNames ...string) *Archive {
	// The first pass learns what there is to hide, so that no replacement is
	// itself an address of this host.
	first := a.anonymise(newIdentities(nil), hostNames)
	return a.anonymise(newIdentities(first.identities.originals), hostNames).archive
}

type anonymiser struct {
	archive    *Archive
	identities *identities
	names      *regexp.Regexp // of the host; nil when it has none to hide
	scrubbed   map[string]string
}

func (a *Archive) anonymise(ids *identities, hostNames []string) *anonymiser {
	n := &anonymiser{&Archive{make(map[string]entry, len(a.entries))}, ids, a.namesToHide(hostNames), map[string]string{}}
	for _, name := range a.sorted() {
		e := a.entries[name]
		switch e.kind {
		case link:
			e.text = n.scrub(e.text)
		case file:
			e.text = n.content(name, e.text)
		}
		n.archive.entries[n.scrub(name)] = e
	}
	return n
}

// namesToHide finds a host's names, in full and up to the first dot. One that a device
// bears as well is no secret.
func (a *Archive) namesToHide(hostNames []string) *regexp.Regexp {
	taken := map[string]bool{"": true, "localhost": true}
	for name := range a.entries {
		for part := range strings.SplitSeq(name, "/") {
			taken[part] = true
		}
	}
	var names []string
	for _, name := range hostNames {
		short, _, _ := strings.Cut(name, ".")
		for _, name := range []string{name, short} {
			if !taken[name] {
				names = append(names, regexp.QuoteMeta(name))
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(names, "|") + `)\b`)
}

// content is what may be shown of a file.
func (n *anonymiser) content(name, text string) string {
	base := path.Base(name)
	switch {
	case base == "config":
		return string(scrubConfig([]byte(text), n.identities.guid))
	case !isText(text):
		return strings.Repeat("\xff", len(text))
	case base == "node_desc": // free text, by default with the host's name
		return "anonymous\n"
	case base == "cmdline":
		return kernelSettings(text)
	case name == "proc/self/status":
		return strings.Join(capabilityLine.FindAllString(text, -1), "")
	case name == "proc/cpuinfo": // one CPU is as the others, and its clock is never the same
		first, _, _ := strings.Cut(text, "\n\n")
		text = cpuClock.ReplaceAllString(strings.TrimSuffix(first, "\n")+"\n", "")
	case identityFile.MatchString(base):
		return n.identity(text)
	case strings.Contains(base, "ver"): // firmware versions look like addresses
		return text
	}
	var made strings.Builder
	rest := 0
	for _, at := range serialLine.FindAllStringSubmatchIndex(text, -1) {
		made.WriteString(n.scrub(text[rest:at[2]]) + n.identity(text[at[2]:at[3]]))
		rest = at[3]
	}
	text = made.String() + n.scrub(text[rest:])
	if n.names != nil {
		text = n.names.ReplaceAllString(text, "host")
	}
	return text
}

var (
	// identityFile are the files that hold one identifier of whatever form.
	identityFile = regexp.MustCompile(`^(?:.*serial.*|.*uuid|.*asset_tag|.*guid|unique_id|phys_(?:switch|port)_id|hostname|nodename|address)$`)
	serialLine   = regexp.MustCompile(`(?i)\bserial[^:=\n]*[:=][ \t]*(\S+)`)
	cpuClock     = regexp.MustCompile(`(?m)^(?:cpu MHz|bogomips|BogoMIPS)\s*:.*\n`)
	// capabilityLine is all that a process's status says about its host.
	capabilityLine = regexp.MustCompile(`(?m)^Cap\w+:.*\n`)
	// kernelSetting are the kernel's parameters that bear on PCIe, memory and CPUs.
	kernelSetting = regexp.MustCompile(`^(?:(?:intel_|amd_)?iommu|pci|pcie\w*|numa\w*|(?:default_)?hugepages?\w*|transparent_hugepage|isolcpus|nohz\w*|mitigations|nosmt|idle|intel_idle\.\w+|processor\.\w+|intel_pstate|amd_pstate|ib_\w+\.\w+|mlx\w+\.\w+|nvidia\w*\.\w+)(?:=|$)`)
)

// kernelSettings leaves of a kernel's command line what is no matter of this
// one host's disks, addresses and names.
func kernelSettings(text string) string {
	words := slices.DeleteFunc(strings.Fields(text), func(word string) bool { return !kernelSetting.MatchString(word) })
	return strings.Join(words, " ") + "\n"
}

// identity replaces a value that is an identifier whatever it looks like.
func (n *anonymiser) identity(text string) string {
	word := strings.TrimSpace(text)
	made := n.scrub(word)
	switch {
	case word == "" || strings.Trim(word, "0fF:x-") == "" || strings.Contains(word, "?"): // none, or hidden by the kernel
	case allHex.MatchString(word):
		made = n.digits(word)
	case made == word:
		made = n.identities.text(word)
	}
	return strings.Replace(text, word, made, 1)
}

var (
	allHex = regexp.MustCompile(`^[0-9a-fA-F]{12,}$`)
	// evenGroups are those of UUIDs, MAC addresses, GUIDs and GIDs.
	evenGroups = regexp.MustCompile(`^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{2}(?:[:-][0-9a-f]{2})+|[0-9a-f]{4}(?::[0-9a-f]{4})+)$`)
	allDigits  = regexp.MustCompile(`^[0-9]+$`)
	// identifier finds what may be one. Earlier alternatives win.
	identifier = regexp.MustCompile(`(?i)` + strings.Join([]string{
		`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`,                     // UUID
		`\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){19}\b`,                              // address of IP over InfiniBand
		`\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){7}\b`,                               // EUI-64
		`\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b`,                               // MAC
		`\b[0-9a-f]{4}(?::[0-9a-f]{4}){7}\b`,                                  // GID
		`\b[0-9a-f]{4}(?::[0-9a-f]{4}){3}\b`,                                  // GUID
		`\b[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){7}\b`,                              // IPv6
		`(?:\b[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?::(?:[0-9a-f:]{1,35}\b)?`, // IPv6, shortened
		`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3,}\b`,                                  // IPv4, where it has four parts
		`\b(?:0x|[a-z]*x)?[0-9a-f]{12,}\b`,                                    // digits alone, or in a device's name (enx0c42a1…)
	}, "|"))
)

const uuidLength = 36

// scrub replaces every identifier in a text. None reaches over a slash, and the
// parts of paths come again and again.
func (n *anonymiser) scrub(text string) string {
	parts := strings.Split(text, "/")
	for i, part := range parts {
		made, ok := n.scrubbed[part]
		if !ok {
			made = n.scrubPart(part)
			n.scrubbed[part] = made
		}
		parts[i] = made
	}
	return strings.Join(parts, "/")
}

func (n *anonymiser) scrubPart(text string) string {
	if !mayIdentify(text) {
		return text
	}
	return identifier.ReplaceAllStringFunc(text, func(found string) string {
		lower := strings.ToLower(found)
		made := n.replacement(lower)
		if lower != found {
			made = strings.ToUpper(made)
		}
		return made
	})
}

// mayIdentify sorts out most texts before the expensive look: what identifies has a
// run of seven digits and separators at least ("1.2.3.4"), or two colons.
func mayIdentify(text string) bool {
	const least = 7
	run := 0
	for i := range len(text) {
		c := text[i] | 0x20
		switch {
		case '0' <= text[i] && text[i] <= ':', 'a' <= c && c <= 'f', text[i] == '.', text[i] == '-':
			if run++; run == least || text[i] == ':' && run > 1 && text[i-1] == ':' {
				return true
			}
		default:
			run = 0
		}
	}
	return false
}

func (n *anonymiser) replacement(found string) string {
	switch {
	case evenGroups.MatchString(found):
		return n.grouped(found)
	case strings.ContainsAny(found, ":."):
		return n.address(found)
	}
	prefix, digits := "", found
	if at := strings.LastIndexByte(found, 'x'); at >= 0 {
		prefix, digits = found[:at+1], found[at+1:]
	} else if allDigits.MatchString(found) && !n.identities.avoid[found] {
		return found // a number, unless it is known to be an identifier elsewhere
	}
	return prefix + n.digits(digits)
}

// address replaces an IP address as people write it.
func (n *anonymiser) address(found string) string {
	address, err := netip.ParseAddr(found)
	if err != nil {
		return found
	}
	replace := n.identities.gid
	if address.Is4() {
		replace = n.identities.ipv4
	}
	made, _ := netip.AddrFromSlice(replace(address.AsSlice()))
	return made.String()
}

// grouped replaces digits between colons or hyphens and puts these back.
func (n *anonymiser) grouped(found string) string {
	bytes, err := hex.DecodeString(strings.NewReplacer(":", "", "-", "").Replace(found))
	if err != nil {
		return found
	}
	var digits string
	if len(found) == uuidLength {
		digits = hex.EncodeToString(n.identities.opaque(bytes))
	} else {
		digits = hex.EncodeToString(n.identities.bytes(bytes))
	}
	made := []byte(found)
	for i := range made {
		if made[i] != ':' && made[i] != '-' {
			made[i], digits = digits[0], digits[1:]
		}
	}
	return string(made)
}

// digits replaces a run of hexadecimal digits.
func (n *anonymiser) digits(found string) string {
	bytes, err := hex.DecodeString(found)
	if err != nil { // an odd number of them
		bytes, err = hex.DecodeString("0" + found)
		if err != nil {
			return n.identities.text(found)
		}
		return "a" + hex.EncodeToString(n.identities.opaque(bytes))[2:]
	}
	return hex.EncodeToString(n.identities.bytes(bytes))
}
