package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// alignFormats gives a command that has --format also --json, and one that has --json also --format, so that both mean
// the same everywhere.
func alignFormats(cmd *cobra.Command) {
	flags := cmd.Flags()
	format, json := flags.Lookup("format"), flags.Lookup("json")
	switch {
	case format != nil && json == nil && takesJSON(format):
		flag := flags.VarPF(&jsonFlag{flags: flags}, "json", "", "the same as --format json")
		flag.NoOptDefVal = "true"
	case json != nil && format == nil:
		flags.Var(&textOrJSON{flags: flags}, "format", "text, or json as with --json")
	}
}

// takesJSON reports whether json is among the formats that a command names.
func takesJSON(format *pflag.Flag) bool {
	return regexp.MustCompile(`\bjson\b`).MatchString(format.Usage)
}

// jsonFlag is --json of a command that has --format.
type jsonFlag struct {
	flags *pflag.FlagSet
	on    bool
}

func (j *jsonFlag) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil || !on {
		return err
	}
	j.on = true
	return j.flags.Set("format", "json")
}

func (j *jsonFlag) String() string { return fmt.Sprint(j.on) }
func (j *jsonFlag) Type() string   { return "bool" }

// textOrJSON is --format of a command that has --json.
type textOrJSON struct {
	flags *pflag.FlagSet
	value string
}

func (t *textOrJSON) Set(text string) error {
	if text != "text" && text != "json" {
		return errors.New("there are text and json")
	}
	t.value = text
	return t.flags.Set("json", fmt.Sprint(text == "json"))
}

func (t *textOrJSON) String() string { return t.value }
func (t *textOrJSON) Type() string   { return "NAME" }
