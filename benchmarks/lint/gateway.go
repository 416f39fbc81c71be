package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// gateways are configurations of nginx that put public projects behind a URL.
//
//go:embed gateways
var gateways embed.FS

// A gateway is one of them. Its first lines name the URL and the projects that it reads.
type gateway struct {
	name, about, url string
	projects         []string // with their folder in the project, as lint reads them: "lor/lib"
	text             string
}

// readGateways are those whose names are asked for, or all.
func readGateways(names string) (list []gateway, err error) {
	files, err := fs.Glob(gateways, "gateways/*.conf")
	if err != nil {
		return nil, err
	}
	asked := strings.FieldsFunc(names, func(r rune) bool { return r == ',' })
	for _, file := range files {
		text, err := gateways.ReadFile(file)
		if err != nil {
			return nil, err
		}
		g := gateway{name: strings.TrimSuffix(filepath.Base(file), ".conf"), text: string(text)}
		if len(asked) > 0 && !slices.Contains(asked, g.name) {
			continue
		}
		for line := range strings.Lines(g.text) {
			line = strings.TrimSpace(line)
			if of, ok := strings.CutPrefix(line, "# url: "); ok {
				g.url = of
			} else if of, ok := strings.CutPrefix(line, "# lints: "); ok {
				g.projects = strings.Fields(of)
			} else if of, ok := strings.CutPrefix(line, "# "); ok && g.about == "" {
				g.about = of
			}
		}
		list = append(list, g)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no gateway %s", names)
	}
	return list, nil
}

// write puts the configuration into a folder, with the projects of a corpus and a port.
func (g gateway) write(folder, name, corpus, port string) (file string, err error) {
	if err := os.MkdirAll(filepath.Join(folder, "logs"), 0o755); err != nil {
		return "", err
	}
	modules := ""
	for _, m := range []string{"ndk_http_module", "ngx_http_lua_module"} {
		if file := "/usr/lib/nginx/modules/" + m + ".so"; exists(file) {
			modules += "load_module " + file + "; "
		}
	}
	text := strings.NewReplacer("CORPUS", corpus, "PORT", port, "FOLDER", folder, "UPSTREAM", upstream(), "# modules", modules).Replace(g.text)
	file = filepath.Join(folder, name)
	return file, os.WriteFile(file, []byte(text), 0o644)
}

// upstream is the port of a server in this process that answers everything, so that its CPU time is none of the gateway's.
var upstream = sync.OnceValue(func() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "0" // nginx names it
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") }))
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
})

// folderFor is a new folder that workers can read, which may be another user.
func folderFor(what string) (string, error) {
	folder, err := os.MkdirTemp("", "moonlap-"+what+"-")
	if err != nil {
		return "", err
	}
	return folder, os.Chmod(folder, 0o755)
}

// freePort is a port of this machine that nobody listens at.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// start starts nginx and waits until the URL is answered with 200. The function that is returned ends it.
func start(conf, folder, url string) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "nginx", "-p", folder, "-c", conf, "-g", "daemon off;")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop = func() { cancel(); <-ended }
	last := errors.New("nobody answered")
	for range 100 {
		select {
		case err := <-ended:
			cancel()
			return nil, fmt.Errorf("nginx: %v: %s", err, said.String())
		case <-time.After(100 * time.Millisecond):
		}
		answer, err := http.Get(url)
		if err != nil {
			last = err
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return stop, nil
		}
		last = fmt.Errorf("%s answered %s", url, answer.Status)
	}
	stop()
	errors, _ := os.ReadFile(filepath.Join(folder, "logs", "error.log"))
	return nil, fmt.Errorf("%w: %.3000s", last, errors)
}

// A finding is what of lint's JSON is looked at here.
type finding struct {
	Rule, File, Message string
	Line                int
	Heat                struct {
		Share, Interpreted float64
		Alike              int
	}
	Gain *struct {
		Share, Low, High float64
		NS               float64 `json:"ns_per_request"`
	}
}

// hot reports whether a profile saw the line.
func (f finding) hot() bool { return f.Heat.Share > 0 || f.Heat.Interpreted > 0 }

// underLoad is what one command says of a gateway that runs: load, profile, lint. Files are relative to the folder of projects.
func (g gateway) underLoad(moonlap, projects, conf, url, seconds string) (list []finding, err error) {
	args := append([]string{"lint", "--load", url, "--load-time", seconds, "--format", "json"}, g.projects...)
	cmd := exec.Command(moonlap, append(args, conf)...)
	cmd.Dir = projects
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+os.TempDir()+"/no-prices-here")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := output(cmd)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	var report struct{ Findings []finding }
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, err
	}
	for i := range report.Findings {
		if f := &report.Findings[i]; f.File == conf {
			f.File = g.name + ".conf"
		}
	}
	return report.Findings, nil
}

// joined is the share of findings on a request path among those that have time in a profile, of all gateways.
func joined(moonlap, corpus, names, seconds string) error {
	list, err := readGateways(names)
	if err != nil {
		return err
	}
	known := readJudged()
	var total, cold tally
	open := 0
	fmt.Println("| gateway | findings | with time in the profile | wrong | on a request path |\n| --- | ---: | ---: | ---: | ---: |")
	var rows []string
	for _, g := range list {
		findings, err := g.run(moonlap, corpus, seconds)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		var of tally
		for _, f := range findings {
			words := known[f.key()]
			switch {
			case words == nil && f.hot():
				open++
				rows = append(rows, fmt.Sprintf("not judged: %s %s:%d %s %.1f %% %s", g.name, f.File, f.Line, f.Rule, 100*max(f.Heat.Share, f.Heat.Interpreted), f.Message))
			case words == nil:
			case f.hot():
				of.add(words[4], words[5])
				total.add(words[4], words[5])
				rows = append(rows, fmt.Sprintf("%s %s:%d %s %.1f %% on a request path: %s", g.name, f.File, f.Line, f.Rule, 100*max(f.Heat.Share, f.Heat.Interpreted), words[5]))
			default:
				cold.add(words[4], words[5])
			}
		}
		fmt.Printf("| %s | %d | %s |\n", g.about, len(findings), of)
	}
	fmt.Printf("| all | %d | %s |\n\n%s\n", total.all+cold.all+open, total, strings.Join(rows, "\n"))
	fmt.Printf("\n%d findings have time in a profile and are judged, %d are not. On a request path: %.1f %%; of the cold ones %.1f %%.\n",
		total.all, open, 100*float64(total.path)/float64(max(total.all, 1)), 100*float64(cold.path)/float64(max(cold.all, 1)))
	return nil
}

// key is the place and rule of a finding, as judged.tsv is read.
func (f finding) key() string {
	project, path, ok := strings.Cut(filepath.ToSlash(f.File), "/")
	if !ok {
		project, path = "gateways", f.File
	}
	return fmt.Sprintf("%s %s:%d %s", project, path, f.Line, f.Rule)
}

// run starts a gateway on the projects of a corpus, and returns what lint finds under load.
func (g gateway) run(moonlap, corpus, seconds string) ([]finding, error) {
	folder, err := folderFor("gateway")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	conf, err := g.write(folder, "nginx.conf", corpus, port)
	if err != nil {
		return nil, err
	}
	url := "http://127.0.0.1:" + port + g.url
	stop, err := start(conf, folder, url)
	if err != nil {
		return nil, err
	}
	defer stop()
	return g.underLoad(moonlap, corpus, conf, url, seconds)
}
