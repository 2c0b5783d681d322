package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wrongFlag is a flag that cannot be obeyed. Main names it as the user did: by the
// flag, or by the environment variable.
type wrongFlag struct {
	flag, value string // value is "" where it does not matter
	rest        error  // goes on right after them
}

// wrongFlagf is wrong usage of a flag: exit status 2. The text goes on right
// after the flag and its value, so it begins with a colon or a space.
func wrongFlagf(flag, value, format string, args ...any) error {
	return &exitError{ExitUsage, &wrongFlag{flag, value, fmt.Errorf(format, args...)}}
}

func (e *wrongFlag) Error() string { return e.named("--"+e.flag, " ") }

func (e *wrongFlag) Unwrap() error { return e.rest }

func (e *wrongFlag) named(name, separator string) string {
	if e.value != "" {
		name += separator + quoteOdd(e.value)
	}
	return name + e.rest.Error()
}

// fromVariable marks the flags that the environment set.
const fromVariable = "hostping_from_variable"

// asGiven is the text of an error of cmd in which the flag is named as it was given.
func (e *wrongFlag) asGiven(cmd *cobra.Command, text string) string {
	flag := cmd.Flags().Lookup(e.flag)
	if flag == nil || flag.Annotations[fromVariable] == nil {
		return text
	}
	return strings.Replace(text, e.Error(), e.named(environmentName(e.flag), "="), 1)
}

// refuseEmpty refuses a value that is given and empty: the shell's variable that
// should have held it was not set.
func refuseEmpty(cmd *cobra.Command) error {
	var empty error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if empty == nil && flag.Value.Type() == "string" && strings.TrimSpace(flag.Value.String()) == "" {
			empty = wrongFlagf(flag.Name, "", " needs a value: %s", flag.Usage)
		}
	})
	return empty
}

// misspelt refuses a variable that is one slip away from one that there is. Others may
// belong to other commands and programs.
func misspelt(cmd *cobra.Command, environ []string) error {
	known := map[string]bool{}
	for _, c := range append(cmd.Root().Commands(), cmd.Root()) {
		c.Flags().VisitAll(func(flag *pflag.Flag) { known[environmentName(flag.Name)] = true })
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || known[name] || !strings.HasPrefix(name, environmentPrefix) {
			continue
		}
		for near := range known {
			if oneSlip(name, near) {
				return usagef("%s is no setting; did you mean %s?", name, near)
			}
		}
	}
	return nil
}

// oneSlip reports whether two names differ by one letter that is wrong, missing or
// too many, or by two that are swapped.
func oneSlip(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return len(a) <= 1 && len(b) <= 1 || swapped
}
