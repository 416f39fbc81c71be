// Package kubernetes checks the manifests of deploy/kubernetes against Kubernetes's own schemas, by kubeconform.
package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// document is JSON that nothing but a schema says more of.
type document = map[string]any

// writeSchemas writes a schema a kind, which needs no other and allows no field that it does not name, from the OpenAPI document that
// Kubernetes publishes. It returns how kubeconform finds them.
func writeSchemas(t *testing.T, openAPI string) (location string) {
	t.Helper()
	text, err := os.ReadFile(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	var api struct{ Definitions map[string]document }
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	folder, kinds := t.TempDir(), 0
	for _, definition := range api.Definitions {
		names, _ := definition["x-kubernetes-group-version-kind"].([]any)
		if len(names) != 1 { // those of all groups, as DeleteOptions
			continue
		}
		kinds++
		name := names[0].(document)
		group := name["group"]
		if group == "" { // kubeconform's name for that of Pod
			group = name["version"]
		}
		schema := strict(api.Definitions, definition, nil).(document)
		file := strings.ToLower(fmt.Sprintf("%s_%s_%s.json", group, name["version"], name["kind"]))
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kinds < 50 {
		t.Fatalf("%s has %d kinds", openAPI, kinds)
	}
	return filepath.Join(folder, "{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json")
}

// strict is a schema with all that it refers to in it, where objects have no field beside those that are named. within are the
// definitions that it stands in: one that contains itself ends there.
func strict(all map[string]document, schema any, within []string) any {
	switch s := schema.(type) {
	case []any:
		list := make([]any, len(s))
		for i, one := range s {
			list[i] = strict(all, one, within)
		}
		return list
	case document:
		if ref, ok := s["$ref"].(string); ok {
			return referred(all, strings.TrimPrefix(ref, "#/definitions/"), within)
		}
		out := document{}
		for key, value := range maps.All(s) {
			if key != "description" {
				out[key] = strict(all, value, within)
			}
		}
		if _, fields := s["properties"]; fields && s["additionalProperties"] == nil {
			out["additionalProperties"] = false
		}
		return out
	}
	return schema
}

func referred(all map[string]document, name string, within []string) any {
	switch name {
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString", "io.k8s.apimachinery.pkg.api.resource.Quantity":
		return document{"type": []string{"string", "integer", "number"}}
	}
	for _, outer := range within {
		if outer == name {
			return document{}
		}
	}
	return strict(all, all[name], append(within[:len(within):len(within)], name))
}
