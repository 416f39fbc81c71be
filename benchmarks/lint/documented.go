package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

var (
	inPhase = regexp.MustCompile(`(\w+)_by_lua|ngx\.(timer)\.`)
	apiName = regexp.MustCompile(`^ngx\.[a-z_.0-9]+`)
)

// documented prints which phases the module's documentation names for each API, as rules/api-phase/rule.lua has them.
func documented(readme string) error {
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	groups := map[string][]string{}
	name, before := "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if len(line) > 2 && strings.Trim(line, "-") == "" {
			name = strings.ReplaceAll(before, `\_`, "_")
		}
		before = line
		contexts, ok := strings.CutPrefix(line, "**context:**")
		if !ok {
			continue
		}
		var phases []string
		for _, m := range inPhase.FindAllStringSubmatch(contexts, -1) {
			phases = append(phases, m[1]+m[2])
		}
		slices.Sort(phases)
		api := strings.TrimSuffix(apiName.FindString(name), ".")
		if len(phases) > 0 && api != "" && api != "ngx.arg" && !strings.HasPrefix(api, "ngx.shared") {
			key := strings.Join(slices.Compact(phases), " ")
			groups[key] = append(groups[key], api)
		}
	}
	for _, phases := range slices.Sorted(maps.Keys(groups)) {
		fmt.Printf("    {%s,\n        %s},\n", broken(phases), broken(strings.Join(groups[phases], " ")))
	}
	return nil
}

// broken is a text of Lua in lines that are not too long.
func broken(text string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > 75 {
			lines, line = append(lines, line), ""
		}
		line += word + " "
	}
	lines = append(lines, strings.TrimSuffix(line, " "))
	for i := range lines {
		lines[i] = fmt.Sprintf("%q", lines[i])
	}
	return strings.Join(lines, "\n        .. ")
}
