package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/probe/probetest"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

const deploy = "../../deploy"

// deployed is a file of the folder deploy.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// found is what an expression's group finds in a text, once.
func found(t *testing.T, text, expression string) string {
	t.Helper()
	m := regexp.MustCompile(expression).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in\n%s", expression, text)
	}
	return m[1]
}

// asInPod is the command of a manifest's container moonlap, in this machine's place of the pod: with the container's capabilities, a
// root that cannot be written, and one folder that can be.
func asInPod(t *testing.T, manifest, folder string, args ...string) *exec.Cmd {
	t.Helper()
	if ok, err := mounts(t); err != nil || !ok {
		t.Skipf("no mounts of its own: %v", err)
	}
	manifest, _, _ = strings.Cut(manifest, "- name: agent") // another container
	if !strings.Contains(manifest, "drop: [ALL]") || !strings.Contains(manifest, "readOnlyRootFilesystem: true") {
		t.Fatal("the manifest drops no capabilities, or may write to its root")
	}
	capabilities := "-all"
	if m := regexp.MustCompile(`add: \[(.*)\]`).FindStringSubmatch(manifest); m != nil {
		capabilities += ",+" + strings.ToLower(strings.ReplaceAll(m[1], ", ", ",+"))
	}
	// A folder of its own mount stays as it is.
	const enter = `mount --bind "$0" "$0" && mount -o remount,bind,ro / && ! touch /.moonlap-writes 2>/dev/null && cd "$0" && exec "$@"`
	enters := []string{"--mount", "sh", "-c", enter, folder,
		"setpriv", "--no-new-privs", "--inh-caps", "-all", "--bounding-set", capabilities}
	if user := regexp.MustCompile(`runAsUser: ([1-9]\d*)`).FindStringSubmatch(manifest); user != nil {
		enters = append(enters, "--reuid", user[1], "--regid", user[1], "--clear-groups")
		for _, f := range []string{folder, filepath.Dir(folder)} { // as the pod's user has to come there
			if err := os.Chmod(f, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	moonlap, err := exec.LookPath("moonlap")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(append(enters, moonlap), args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+folder, "XDG_CACHE_HOME="+folder)
	return cmd
}

// argsOf are the arguments of the first container of a manifest, for one worker: on this machine may be those of other tests.
func argsOf(t *testing.T, manifest string, pid int) []string {
	t.Helper()
	args := strings.Split(found(t, manifest, `args: \[(.*)\]`), ", ")
	for i := range args {
		if args[i] = strings.Trim(args[i], "'"); args[i] == "--all" {
			args[i] = fmt.Sprintf("--pid=%d", pid)
		}
	}
	return args
}

// started starts a command that runs until the test ends, and returns the first line of its stderr that has a text.
func started(t *testing.T, cmd *exec.Cmd, text string) string {
	t.Helper()
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() })
	var all strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		fmt.Fprintln(&all, lines.Text())
		if strings.Contains(lines.Text(), text) {
			go io.Copy(io.Discard, said)
			return lines.Text()
		}
	}
	t.Fatalf("%q did not say %q, but:\n%s", cmd.Args, text, all.String())
	return ""
}

// freeAddress is one where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// program is where a program is; without it the test is skipped, or fails where all programs have to be there.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	return path
}

// TestScraped: the page of watch, served with no more rights than the manifest for Kubernetes gives, is scraped by a Prometheus with
// the alert rules, and sent to it by the manifest's agent. A worker whose event loop is blocked raises the alert both ways.
func TestScraped(t *testing.T) {
	t.Parallel()
	prometheus := program(t, "prometheus")
	if ok, err := stoppable(t); err != nil || !ok {
		t.Skipf("other processes may not be looked into here: %v", err)
	}
	pid, client := nginxtest.Start(t, nginxtest.Conf{Server: `location / { content_by_lua_block { os.execute("sleep 0.2") } }`})
	for range 2 { // one blocks the other
		t.Cleanup(nginxtest.Request(t, client, "/"))
	}
	manifest := deployed(t, "kubernetes/watch.yaml")
	args := argsOf(t, manifest, pid)
	folder := t.TempDir()
	address := freeAddress(t)
	args[len(args)-1], args[3] = address, "1s" // the port, and how long an interval is
	started(t, asInPod(t, manifest, folder, args...), "Prometheus may read")

	server := freeAddress(t)
	rules := regexp.MustCompile(`for: \d+m`).ReplaceAllString(deployed(t, "prometheus/moonlap.rules.yml"), "for: 2s")
	rules = strings.ReplaceAll(rules, "[5m]", "[20s]")
	put(t, folder, "rules.yml", rules)
	put(t, folder, "server.yml", fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: moonlap
    static_configs: [{targets: [%q]}]
    relabel_configs: [{target_label: instance, replacement: web1}]
`, address))
	started(t, exec.Command(prometheus, "--config.file="+folder+"/server.yml", "--storage.tsdb.path="+folder+"/tsdb",
		"--web.listen-address="+server, "--web.enable-remote-write-receiver"), "ready to receive web requests")

	agent := found(t, manifest, `(?s)prometheus.yml: \|(\n.*?)\n---`)
	for old, now := range map[string]string{"15s": "1s", "127.0.0.1:9145": address, "http://prometheus.monitoring:9090": "http://" + server} {
		if !strings.Contains(agent, old) {
			t.Fatalf("no %s in\n%s", old, agent)
		}
		agent = strings.ReplaceAll(agent, old, now)
	}
	put(t, folder, "agent.yml", strings.ReplaceAll(agent, "\n    ", "\n"))
	cmd := exec.Command(prometheus, found(t, manifest, `- (--enable-feature=agent.*)`), "--config.file="+folder+"/agent.yml",
		"--storage.agent.path="+folder+"/agent", "--web.listen-address="+freeAddress(t))
	cmd.Env = append(os.Environ(), "NODE_NAME=node-a")
	started(t, cmd, "ready to receive web requests")

	awaitAlerts(t, "http://"+server, "EventLoopBlocked", "web1", "node-a")
	page := get(t, "http://"+address+"/metrics")
	if !regexp.MustCompile(`(?m)^moonlap_unwatched_workers 0$`).MatchString(page) {
		t.Errorf("workers are not watched:\n%s", page)
	}
	promtool := exec.Command(program(t, "promtool"), "check", "metrics")
	promtool.Stdin = strings.NewReader(page)
	if out, err := promtool.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

func put(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, res.Status, err)
	}
	return string(text)
}

// awaitAlerts waits until an alert fires for all of some instances.
func awaitAlerts(t *testing.T, server, name string, instances ...string) {
	t.Helper()
	var text string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var answer struct {
			Data struct {
				Alerts []struct {
					State               string
					Labels, Annotations map[string]string
				}
			}
		}
		text = get(t, server+"/api/v1/alerts")
		if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		firing := map[string]bool{}
		for _, a := range answer.Data.Alerts {
			if a.State == "firing" && a.Labels["alertname"] == name && strings.Contains(a.Annotations["description"], "--pid "+a.Labels["pid"]) {
				firing[a.Labels["instance"]] = true
			}
		}
		all := true
		for _, one := range instances {
			all = all && firing[one]
		}
		if all {
			return
		}
	}
	t.Errorf("%s does not fire for %q: %s\n%s", name, instances, text, get(t, server+"/api/v1/targets"))
}

// TestPods: capture and load run with no more rights than their manifests give.
func TestPods(t *testing.T) {
	t.Parallel()
	t.Run("capture", func(t *testing.T) {
		manifest := deployed(t, "kubernetes/capture.yaml")
		if ok, why, err := probetest.Works(); err != nil || !ok {
			t.Skipf("no eBPF here: %v", why)
		}
		pid, client := nginxtest.Start(t, nginxtest.Conf{Server: `location / { content_by_lua_block { os.execute("sleep 0.5") } }`})
		folder := t.TempDir()
		args := argsOf(t, manifest, pid)
		args[3] = folder
		started(t, asInPod(t, manifest, folder, args...), "waiting at worker")
		nginxtest.Get(t, client, "/")
		nginxtest.Await(t, "captures", 1, func() (int, error) {
			all, err := filepath.Glob(folder + "/20*/profile.json")
			return len(all), err
		})
	})
	t.Run("load", func(t *testing.T) {
		if ok, err := offered(t, "luajit"); err != nil || !ok {
			t.Skip("no LuaJIT")
		}
		manifest := deployed(t, "kubernetes/load.yaml")
		args := argsOf(t, manifest, 0)
		address := freeAddress(t)
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		go http.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer l.Close()
		for i, now := range map[string]string{"60s": "1s", "2500": "100", "50": "2"} {
			for j := range args {
				if args[j] == i {
					args[j] = now
				}
			}
		}
		args[len(args)-1] = "http://" + address + "/"
		folder := t.TempDir()
		var files []string
		for i := range 2 { // one pod after the other; their logs have stderr, too
			cmd := asInPod(t, manifest, folder, args...)
			var log bytes.Buffer
			cmd.Stdout, cmd.Stderr = &log, &log
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, log.String())
			}
			record := regexp.MustCompile(`(?m)^\{.*\n`).FindAllString(log.String(), -1)
			files = append(files, filepath.Join(folder, fmt.Sprintf("load.%d.jsonl", i)))
			put(t, folder, filepath.Base(files[i]), strings.Join(record, ""))
		}
		out, err := exec.Command("moonlap", append([]string{"load", "--join"}, files...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "2 machines") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
