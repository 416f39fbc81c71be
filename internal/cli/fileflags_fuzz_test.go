package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// FuzzFileFlags: the head of a bench file sets the flags that it may, and no others.
func FuzzFileFlags(f *testing.F) {
	f.Add("-- moonlap: --time=1s --phase access\nlocal x")
	f.Add("#!/usr/bin/env moonlap\n-- moonlap: --http-conf 'lua_shared_dict a 1m;'\n--\n-- moonlap: --out=/etc/passwd")
	f.Add("-- moonlap: \"unended\n-- moonlap: -- a -b --time")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "a.lua")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.String("out", "", "")
		flags.Bool("help", false, "")
		flags.String("phase", "", "")
		flags.StringArray("http-conf", nil, "")
		flags.Duration("time", time.Second, "")
		err := applyFileFlags(file, flags)
		flags.Visit(func(f *pflag.Flag) {
			if !slices.Contains(namesOf(inFiles), f.Name) {
				t.Fatalf("%q sets --%s (%v)", text, f.Name, err)
			}
		})
	})
}
