package diagnosis

import "slices"

// Entry is what the catalogue knows of a code. Texts are plain sentences.
type Entry struct {
	Code       Code     `json:"code"`
	Finding    bool     `json:"finding"` // a finding: blames nothing, never changes the exit status
	Title      string   `json:"title"`
	Meaning    string   `json:"meaning"`
	Causes     []string `json:"likely_causes"` // most likely first
	CheckFirst []string `json:"check_first"`   // in order; each a thing to do
	Confirm    string   `json:"how_to_confirm"`
	Clears     string   `json:"how_it_clears"`
}

// All returns the catalogue, in the order in which an operator should see the codes.
func All() []Entry { return append(entries(), hostEntries()...) }

// Lookup returns the entry of a code.
func Lookup(code Code) (Entry, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.Code == code }); i >= 0 {
		return all[i], true
	}
	return Entry{}, false
}

// Runbook returns where the runbook explains the code.
func Runbook(code Code) string { return "docs/runbook.md#" + string(code) }
