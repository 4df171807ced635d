package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"gateway/internal/config"
)

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// Exit statuses of the program.
const (
	exitDone   = 0
	exitPartly = 1 // the work was done, but not all of it succeeded
	exitUsage  = 2 // wrong usage or configuration: nothing was done
)

// usageError is a mistake of the one who called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errReported ends a command with status 1 when everything was said already.
var errReported = errors.New("reported already")

// cli is the command line: its commands and the flags that all of them take.
type cli struct {
	Help    helpFlag    `short:"h" help:"Show help for the command." group:"All commands"`
	Config  string      `placeholder:"FILE" help:"YAML file with values of flags, by the flags' names." group:"All commands"`
	Logging loggingFlag `embed:"" group:"All commands"`

	Serve    serveCommand    `cmd:"" help:"Run the gateway."`
	Import   importCommand   `cmd:"" help:"Load records into a set."`
	Set      setCommand      `cmd:"" help:"Show or change a set."`
	Snapshot snapshotCommand `cmd:"" help:"Publish a new snapshot of a set now."`
	Fsck     fsckCommand     `cmd:"" help:"Verify the store."`
	Rebase   rebaseCommand   `cmd:"" help:"Move the store to another base URL."`
	Version  versionCommand  `cmd:"" help:"Show the version."`
	HelpOn   helpCommand     `cmd:"" name:"help" help:"Show help for a command."`

	settings *config.Settings
}

const description = `Publishes a repository's records on every sync protocol at once: Atom-PMH archived feeds and ResourceSync, from one log per set.

Every flag --some-flag can also be given as the environment variable GATEWAY_SOME_FLAG or as the key some-flag of the file --config. A flag beats the variable, the variable beats the file.`

// errHelp stops parsing after help was shown.
var errHelp = errors.New("help was shown")

type helpFlag bool

// BeforeReset shows help before anything is checked or read, so that help is to
// be had with a broken command line and a broken configuration.
func (helpFlag) BeforeReset(c *kong.Context) error {
	if err := c.PrintUsage(false); err != nil {
		return err
	}
	return errHelp
}

// BeforeResolve loads the configuration file before kong asks for values.
func (c *cli) BeforeResolve(k *kong.Context) error {
	var path string
	for _, f := range k.Flags() {
		if f.Name == "config" {
			path, _ = k.FlagValue(f).(string)
		}
	}
	if path == "" {
		path = c.settings.Env("config")
	}
	if path == "" {
		return nil
	}
	return c.settings.Load(path, flagNames(k.Model.Node))
}

// flagNames are the flags of node and below that take a value from outside the
// command line.
func flagNames(node *kong.Node) []string {
	var names []string
	for _, f := range node.Flags {
		if f.Name != "help" && f.Name != "config" {
			names = append(names, f.Name)
		}
	}
	for _, child := range node.Children {
		names = append(names, flagNames(child)...)
	}
	return names
}

// resolve is kong's way to ask for the value of a flag that is not on the
// command line.
func (c *cli) resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "help" || flag.Name == "config" {
		return nil, nil
	}
	v, origin, ok := c.settings.Lookup(flag.Name)
	if !ok {
		return nil, nil
	}
	// Kong's error would show what stands in a list or in keys, and that can be a
	// password.
	if _, text := v.(string); !text && flag.Target.Kind() != reflect.Slice && flag.Target.Kind() != reflect.Map {
		return nil, fmt.Errorf("%s: want one text", origin)
	}
	// Kong parses the value again, but its error would not say where the value
	// came from.
	trial := reflect.New(flag.Target.Type()).Elem()
	if trial.Kind() == reflect.Map {
		trial.Set(reflect.MakeMap(trial.Type()))
	}
	if err := flag.Parse(kong.Scan().PushTyped(v, kong.FlagValueToken), trial); err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	return v, nil
}

// run is the program: it parses args, runs the command, reports its error, and
// returns the exit status.
func run(ctx context.Context, args []string, con console) int {
	c := &cli{settings: config.New(os.LookupEnv)}
	parser, err := newParser(c, con)
	if err != nil {
		fmt.Fprintln(con.err, "gateway:", err)
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return reportUsage(err, con)
	}
	err = parsed.Run(&call{ctx: ctx, con: con, logging: &c.Logging, log: c.Logging.logger(con.err), parser: parser})
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errReported):
		return exitPartly
	case errors.As(err, &usage):
		fmt.Fprintf(con.err, "gateway: %v\n", err)
		hint(con, parsed)
		return exitUsage
	}
	fmt.Fprintf(con.err, "gateway: %v\n", err)
	return exitPartly
}

// call is what a command gets to run with.
type call struct {
	ctx     context.Context
	con     console
	logging *loggingFlag
	log     *slog.Logger
	parser  *kong.Kong
}

func newParser(c *cli, con console) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("gateway"),
		kong.Description(description),
		kong.Writers(con.out, con.err),
		kong.NoDefaultHelp(),
		kong.Resolvers(kong.ResolverFunc(c.resolve)),
		kong.ValueFormatter(helpOf),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100, FlagsLast: true}),
		kong.Vars{"listen": defaultListen, "policy_keys": policyKeys()},
	)
}

// helpOf is what help says about a flag or argument: its text and the variable
// that sets it.
func helpOf(v *kong.Value) string {
	if v.Flag == nil || v.Name == "help" {
		return v.Help
	}
	return v.Help + " [$" + config.EnvName(v.Name) + "]"
}

// reportUsage says what is wrong with the command line, and where help is.
func reportUsage(err error, con console) int {
	if errors.Is(err, errHelp) {
		return exitDone
	}
	fmt.Fprintf(con.err, "gateway: %v\n", err)
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		hint(con, parse.Context)
	}
	return exitUsage
}

// hint names the help of the command that parsed names, if it names one.
func hint(con console, parsed *kong.Context) {
	command := "gateway <command> --help"
	if parsed != nil && parsed.Selected() != nil {
		command = "gateway " + parsed.Selected().Name + " --help"
	}
	fmt.Fprintf(con.err, "Try `%s`.\n", command)
}

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command to explain."`
}

func (h *helpCommand) Run(c *call) error {
	traced, err := kong.Trace(c.parser, h.Command)
	if err != nil {
		return err
	}
	if len(h.Command) > 0 && (traced.Selected() == nil || traced.Error != nil) {
		return usagef("there is no command %q", strings.Join(h.Command, " "))
	}
	return traced.PrintUsage(false)
}
