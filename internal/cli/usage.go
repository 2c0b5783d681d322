package cli

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yuuki/hostping/internal/suggest"
)

// newRoot makes a program's root command: it prints no usage on an error,
// reads flags from the environment, and says in one line what is wrong.
func newRoot(env Env, name, short, long, example string) *cobra.Command {
	root := &cobra.Command{
		Use:     name,
		Short:   short,
		Long:    long,
		Example: example,
		Version: env.Build.String(),
		Args:    cobra.ArbitraryArgs, // or cobra judges them itself, in several lines

		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseEmpty(cmd); err != nil {
				return err
			}
			if err := flagsFromEnvironment(cmd, env.LookupEnv); err != nil || env.Environ == nil {
				return err
			}
			return misspelt(cmd, env.Environ())
		},
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetOut(&keptWriter{w: env.Stdout})
	root.SetErr(env.Stderr)
	return root
}

// listSubcommands is the Run of a command that only has subcommands.
func listSubcommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return cmd.Help()
}

// unknownWord is the word that stands where a subcommand of cmd should: then
// a flag that cmd does not know is no news.
func unknownWord(cmd *cobra.Command, args []string) string {
	depth := 0
	for c := cmd; c.HasParent(); c = c.Parent() {
		depth++
	}
	if !cmd.HasAvailableSubCommands() || len(args) <= depth || strings.HasPrefix(args[depth], "-") {
		return ""
	}
	return args[depth]
}

func unknownCommand(parent *cobra.Command, name string) error {
	var known []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	if len(known) == 0 {
		return usagef("%s has no subcommand %q; \"%s --help\" tells what it does", parent.CommandPath(), name, parent.CommandPath())
	}
	return usagef("unknown command %q; %s", name, suggest.For(name, known))
}

// noArguments refuses whatever is no flag.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	return usagef("%s takes no arguments, but got %q; %q lists its flags", name, args[0], cmd.CommandPath()+" --help")
}

// helpCommand replaces cobra's, which prints usage for an unknown topic.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help on a command",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if topic == nil || err != nil || len(rest) > 0 {
				return unknownCommand(cmp.Or(topic, cmd.Root()), slices.Concat(rest, args)[0])
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// flagError words what pflag refuses.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, unknown)
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		flag := missing.GetFlag()
		if words, ok := flag.Value.(oneOf); ok {
			return usagef("--%s needs a value: it is one of %s", flag.Name, strings.Join(words.words, ", "))
		}
		return usagef("--%s needs a value: %s", flag.Name, flag.Usage)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := invalid.GetFlag()
		return usagef("--%s %s: %s", flag.Name, quoteOdd(invalid.GetValue()), wrongValue(flag, invalid.Unwrap()))
	}
	if syntax, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return usagef("malformed flag %q; flags look like --name value", syntax.GetSpecifiedFlag())
	}
	return &exitError{ExitUsage, err}
}

func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	if letters := err.GetSpecifiedShortnames(); letters != "" {
		return usagef("unknown flag -%s; %q lists the flags of %s, which have long names", letters, cmd.CommandPath()+" --help", cmd.CommandPath())
	}
	name := err.GetSpecifiedName()
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if near, ok := suggest.Nearest(name, known); ok {
		return usagef("unknown flag --%s; did you mean --%s?", name, near)
	}
	var others []string
	for _, other := range cmd.Root().Commands() {
		if other != cmd && other.Flags().Lookup(name) != nil {
			others = append(others, other.CommandPath())
		}
	}
	if len(others) > 0 {
		return usagef("unknown flag --%s of %s; it is a flag of %s", name, cmd.CommandPath(), oneOfThese(others))
	}
	return usagef("unknown flag --%s; %q lists the flags", name, cmd.CommandPath()+" --help")
}

// oneOfThese lists names as a sentence does: "a, b or c".
func oneOfThese(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// wrongValue says what a flag's value should have been.
func wrongValue(flag *pflag.Flag, cause error) string {
	switch flag.Value.Type() {
	case "bool":
		return "it is true or false"
	case "int", "int64":
		return "it is a whole number"
	case "uint64":
		return "it is a whole number from 0"
	case "float64":
		return "it is a number"
	}
	if number, ok := errors.AsType[*strconv.NumError](cause); ok {
		cause = number.Err
	}
	return cause.Error()
}

// quoteOdd quotes a value that would not be seen, or not as one word.
func quoteOdd(value string) string {
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return strconv.Quote(value)
	}
	return value
}

const environmentPrefix = "HOSTPING_"

// environmentName is the variable that a flag can also come from.
func environmentName(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// flagsFromEnvironment sets every flag of the command that the command line
// left alone and the environment has. An empty variable is not set.
func flagsFromEnvironment(cmd *cobra.Command, lookup func(string) (string, bool)) error {
	var failed error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if failed != nil || flag.Changed || flag.Name == "help" || flag.Name == "version" {
			return
		}
		name := environmentName(flag.Name)
		value, ok := lookup(name)
		if !ok || value == "" {
			return
		}
		if err := flag.Value.Set(value); err != nil {
			failed = usagef("%s=%s: %s", name, quoteOdd(value), wrongValue(flag, err))
			return
		}
		flag.Changed = true
		_ = cmd.Flags().SetAnnotation(flag.Name, fromVariable, []string{name})
	})
	return failed
}
