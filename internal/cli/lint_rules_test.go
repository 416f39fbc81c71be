package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/lint"
)

// TestRulesPage: docs/reference/rules.md is what 'moonlap rules --format markdown' writes.
func TestRulesPage(t *testing.T) {
	var want strings.Builder
	if err := writeRules(&want, lint.BuiltIn(), lint.Shipped()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/reference/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), want.String()); diff != "" {
		t.Errorf("run bin/moonlap rules --format markdown >docs/reference/rules.md (- page, + rules):\n%s", diff)
	}
}
