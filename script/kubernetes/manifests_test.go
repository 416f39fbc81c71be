package kubernetes

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
)

// TestManifests has kubeconform check each manifest strictly: unknown kinds and fields, wrong types and values fail.
func TestManifests(t *testing.T) {
	check := kubeconform(t)
	files, _ := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if len(files) < 4 {
		t.Fatalf("%d manifests", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if objects, faults := check(file, text); objects == 0 || faults != nil {
			t.Errorf("%s: %d objects: %q", file, objects, faults)
		}
	}
}

// TestFaults: what an API server would refuse is found.
func TestFaults(t *testing.T) {
	check := kubeconform(t)
	for _, c := range []struct{ file, old, new, fault string }{
		{"watch.yaml", "hostPID: true", "hostPid: true", "hostPid"},
		{"watch.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: 'yes'", "readOnlyRootFilesystem"},
		{"capture.yaml", "kind: DaemonSet", "kind: DaemonSets", "DaemonSets"},
		{"capture.yaml", "type: DirectoryOrCreate", "types: DirectoryOrCreate", "types"},
		{"load.yaml", "completions: 4", "completions: four", "completions"},
		{"load.yaml", "emptyDir: {sizeLimit", "emptyDir: {size", "size"},
		{"namespace.yaml", "name: moonlap-load", "name: [moonlap-load]", "Name"},
	} {
		text, err := os.ReadFile(filepath.Join("../../deploy/kubernetes", c.file))
		if err != nil {
			t.Fatal(err)
		}
		wrong := bytes.Replace(text, []byte(c.old), []byte(c.new), 1)
		if _, faults := check(c.file, wrong); !strings.Contains(strings.Join(faults, "\n"), c.fault) || bytes.Equal(text, wrong) {
			t.Errorf("%s with %q passes: %q", c.file, c.new, faults)
		}
	}
}

// kubernetes is the folder of Kubernetes's module, of which nothing but the OpenAPI document is used: to import it takes forty modules
// by the same version.
func kubernetes(t *testing.T) string {
	t.Helper()
	const module, sum = "k8s.io/kubernetes@v1.34.1", "h1:F3p8dtpv+i8zQoebZeK5zBqM1g9x1aIdnA5vthvcuUk="
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	var got struct{ Dir, Sum string }
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	switch {
	case err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "":
		t.Skipf("%s cannot be had: %v %s", module, err, out)
	case err != nil:
		t.Fatalf("%s: %v %s", module, err, out)
	case got.Sum != sum:
		t.Fatalf("%s has another sum: %s", module, got.Sum)
	}
	return got.Dir
}

// kubeconform checks a file's objects and returns how many there are, and what is wrong.
func kubeconform(t *testing.T) func(file string, text []byte) (objects int, faults []string) {
	location := writeSchemas(t, filepath.Join(kubernetes(t), "api/openapi-spec/swagger.json"))
	v, err := validator.New([]string{location}, validator.Opts{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(file string, text []byte) (objects int, faults []string) {
		for _, r := range v.Validate(file, io.NopCloser(bytes.NewReader(text))) {
			switch r.Status {
			case validator.Valid:
				objects++
			case validator.Empty:
			default:
				faults = append(faults, r.Err.Error())
			}
		}
		return objects, faults
	}
}
