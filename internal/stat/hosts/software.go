package hosts

import (
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

// differ warns of hosts that did not measure the same software: what sets them apart may be that.
func differ(found []Found) []record.Warning {
	for _, detail := range []bool{false, true} { // builds where the versions are the same
		var kinds []string
		on := map[string][]string{}
		for _, f := range found {
			kind := software(f.Results, detail)
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			on[kind] = append(on[kind], f.Host.Name)
		}
		if len(kinds) < 2 {
			continue
		}
		for i, kind := range kinds {
			kinds[i] = kind + " on " + strings.Join(on[kind], ", ")
		}
		return []record.Warning{{
			Code: "hosts_differ", Text: "the hosts did not measure the same software: " + strings.Join(kinds, "; "),
			Advice: "where they disagree, it may be that and not the machines; install the same on each",
		}}
	}
	return nil
}

// software is what ran the code that was measured. JIT flags are left out, as they follow from the CPU.
func software(r *record.Results, builds bool) string {
	var names []string
	for _, vm := range r.VMs {
		name := vm.Version
		if builds && vm.Build != "" {
			name += " (" + vm.Build + ")"
		}
		if !vm.JIT && !vm.Go() {
			name += " without JIT"
		}
		names = append(names, name)
	}
	if r.Nginx != nil {
		names = append(names, "nginx "+r.Nginx.Version+" with Lua module "+r.Nginx.LuaModule)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return "nothing known"
	}
	return strings.Join(names, " and ")
}
