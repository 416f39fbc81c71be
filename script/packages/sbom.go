// Sbom writes the software bill of materials of a Go program in SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/):
// what `go version -m` knows, and the packages named behind it as NAME=VERSION.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

type pkg struct {
	ID       string `json:"SPDXID"`
	Name     string `json:"name"`
	Version  string `json:"versionInfo"`
	Download string `json:"downloadLocation"`
	Analyzed bool   `json:"filesAnalyzed"`
	Refs     []ref  `json:"externalRefs,omitempty"`
}

type ref struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relation struct {
	From string `json:"spdxElementId"`
	Kind string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: sbom PROGRAM VERSION SECONDS [NAME=VERSION…]")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	var seconds int64
	if _, err := fmt.Sscan(args[2], &seconds); err != nil {
		return fmt.Errorf("%q is not a time in seconds", args[2])
	}
	const root = "SPDXRef-moonlap"
	packages := []pkg{{ID: root, Name: "moonlap", Version: args[1], Download: "NOASSERTION"}}
	relations := []relation{{"SPDXRef-DOCUMENT", "DESCRIBES", root}}
	add := func(name, version, kind string) {
		id := fmt.Sprintf("SPDXRef-%d", len(packages))
		p := pkg{ID: id, Name: name, Version: version, Download: "NOASSERTION"}
		if kind != "" {
			p.Refs = []ref{{"PACKAGE-MANAGER", "purl", "pkg:" + kind + "/" + name + "@" + version}}
		}
		packages = append(packages, p)
		relations = append(relations, relation{root, "DEPENDS_ON", id})
	}
	add("go", strings.TrimPrefix(info.GoVersion, "go"), "")
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		add(dep.Path, dep.Version, "golang")
	}
	for _, other := range args[3:] {
		name, version, ok := strings.Cut(other, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=VERSION", other)
		}
		add(name, version, "")
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
		"name":              "moonlap-" + args[1],
		"documentNamespace": "https://github.com/moonlap/moonlap/releases/" + args[1],
		"creationInfo": map[string]any{
			"created": time.Unix(seconds, 0).UTC().Format(time.RFC3339), "creators": []string{"Tool: moonlap-script-release"},
		},
		"packages": packages, "relationships": relations,
	})
}
