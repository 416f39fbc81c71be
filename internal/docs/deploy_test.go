package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestDeployed holds the alerts and the dashboard to the page of watch: they ask for no metric that it does not have.
func TestDeployed(t *testing.T) {
	known := found(section(t, "docs/reference/watch.md", "The page for Prometheus"), "`([a-z_]+)`")
	for _, name := range []string{"deploy/prometheus/moonlap.rules.yml", "deploy/grafana/moonlap.json"} {
		used := found(read(t, name), `moonlap_([a-z_]+?)(?:_bucket|_sum|_count)?\b`)
		if len(used) < 5 {
			t.Errorf("%s uses %d metrics: %q", name, len(used), used)
		}
		for _, metric := range used {
			if !slices.Contains(known, metric) {
				t.Errorf("%s: there is no moonlap_%s", name, metric)
			}
		}
	}
}

// TestAlerts has Prometheus check the alerts: each with series that raise it and series that do not.
func TestAlerts(t *testing.T) {
	promtool := programOf(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "moonlap.rules.yml"}, {"test", "rules", "moonlap.rules.test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(root, "deploy/prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestDashboard has a panel's expressions parsed by Prometheus, as rules that record them.
func TestDashboard(t *testing.T) {
	promtool := programOf(t, "promtool")
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "deploy/grafana/moonlap.json")), &board); err != nil {
		t.Fatal(err)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			rules = append(rules, rule{"a:b", target.Expr})
		}
	}
	if len(rules) < 10 {
		t.Fatalf("%d panels", len(rules))
	}
	file := filepath.Join(t.TempDir(), "rules.yml") // JSON is YAML
	text, _ := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": rules}}})
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// programOf is where a program is; without it the test is skipped, or fails where all programs have to be there.
func programOf(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	return path
}
