package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// probe is a rule that names each call in each block of Lua by its text, so that its place can be held against the file.
const probe = `return {classes = {"request", "init", "timer", "cli", "test"}, visit = {Call = function(file, call)
    file:report(call, "call " .. file:text(call):match "^[^\n]*")
end}}
`

var (
	blocks   = regexp.MustCompile(`(?m)^=== .*$`)
	sections = regexp.MustCompile(`(?m)^--- (\w+)([^\n]*)\n`)
)

// cases are the configurations of the module's tests that are plain text.
func cases(folder string) (list []string, err error) {
	tests, err := filepath.Glob(filepath.Join(folder, "t", "*.t"))
	if err != nil || len(tests) == 0 {
		return nil, fmt.Errorf("%s has no t/*.t: %v", folder, err)
	}
	for _, test := range tests {
		text, err := os.ReadFile(test)
		if err != nil {
			return nil, err
		}
		for _, block := range blocks.Split(string(text), -1)[1:] {
			parts := map[string]string{}
			made := false // by Perl
			at := sections.FindAllStringSubmatchIndex(block, -1)
			for i, m := range at {
				end := len(block)
				if i+1 < len(at) {
					end = at[i+1][0]
				}
				name, rest := block[m[2]:m[3]], block[m[4]:m[5]]
				switch name {
				case "main_config", "http_config", "config":
					made = made || strings.Contains(rest, "eval")
					parts[name] = block[m[1]:end]
				}
			}
			if all := parts["main_config"] + parts["http_config"] + parts["config"]; made || parts["config"] == "" || strings.Contains(all, "$TEST_NGINX") ||
				strings.Contains(all, "$::") {
				continue
			}
			list = append(list, fmt.Sprintf("%s\nevents { }\nhttp { access_log off;\n%s\nserver { listen unix:/tmp/s; server_name localhost;\n%s\n} }\n",
				parts["main_config"], parts["http_config"], parts["config"]))
		}
	}
	return list, nil
}

// syntax reports whether nginx takes the syntax. What a directive means, and where it may stand, is not ours to judge.
func syntax(out string, ok bool) bool {
	if ok || strings.Contains(out, "syntax is ok") {
		return true
	}
	for _, text := range []string{"unexpected", "unterminated", "too long", "missing terminating", "is not terminated", "unmatched", "Lua code block", "failed (2: No such file"} {
		if strings.Contains(out, text) {
			return false
		}
	}
	return true
}

func oracle(moonlap, folder string) error {
	list, err := cases(folder)
	if err != nil {
		return err
	}
	return compareReaders(moonlap, list)
}

// compareReaders gives configurations to nginx -t and to moonlap. Compared is whether the syntax is taken, and where calls in Lua stand.
func compareReaders(moonlap string, list []string) error {
	work, err := os.MkdirTemp("", "moonlap-oracle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	os.MkdirAll(filepath.Join(work, "own", "place"), 0o755)
	os.MkdirAll(filepath.Join(work, "logs"), 0o755)
	os.WriteFile(filepath.Join(work, "own", "place", "rule.lua"), []byte(probe), 0o644)
	os.WriteFile(filepath.Join(work, ".moonlap.lua"), []byte(`return {rule_folders = {"own"}}`), 0o644)
	modules := ""
	for _, m := range []string{"ndk_http_module", "ngx_http_lua_module"} {
		if file := "/usr/lib/nginx/modules/" + m + ".so"; exists(file) {
			modules += "load_module " + file + "; "
		}
	}
	takes := map[string]bool{}
	lines := map[string][]string{}
	said := map[string]string{}
	for i, text := range list {
		name := fmt.Sprintf("%04d.nginx.conf", i)
		text = modules + "error_log stderr; pid " + work + "/pid; " + strings.ReplaceAll(text, "/tmp/s;", work+"/s;")
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			return err
		}
		out, err := exec.Command("nginx", "-t", "-p", work, "-c", filepath.Join(work, name)).CombinedOutput()
		takes[name] = syntax(string(out), err == nil)
		said[name] = string(out)
		lines[name] = strings.Split(text, "\n")
	}
	cmd := exec.Command(moonlap, "lint", "--format", "json", "--rules", "place", ".")
	cmd.Dir = work
	out, err := output(cmd)
	if err != nil {
		return err
	}
	var report struct {
		Findings []struct {
			File, Message string
			Line, Column  int
		}
		Faults []struct {
			File, Message string
			Line          int
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return err
	}
	refused := map[string]string{}
	for _, f := range report.Faults {
		if !inLua(lines[f.File], f.Line, f.Message) && refused[f.File] == "" {
			refused[f.File] = fmt.Sprintf("%d: %s", f.Line, f.Message)
		}
	}
	differ, accepted, unread := 0, 0, 0
	for name, takes := range takes {
		if takes {
			accepted++
		}
		if takes && refused[name] != "" && stoppedBefore(said[name], refused[name]) {
			delete(lines, name)
			unread++
		} else if takes == (refused[name] != "") {
			differ++
			fmt.Printf("differs: nginx takes it: %t; moonlap: %q; nginx: %.200s\n%.400s\n", takes, refused[name], said[name], strings.Join(lines[name], "\n"))
		}
	}
	places, wrong := 0, 0
	for _, f := range report.Findings {
		text, ok := strings.CutPrefix(f.Message, "call ")
		if !ok {
			continue
		}
		if lines[f.File] == nil {
			continue
		}
		places++
		if line := lines[f.File]; f.Line > len(line) || f.Column > len(line[f.Line-1]) || !strings.HasPrefix(line[f.Line-1][f.Column-1:], strings.TrimRight(text, "\r")) {
			wrong++
			fmt.Printf("wrong place: %s:%d:%d %s\n", f.File, f.Line, f.Column, text)
		}
	}
	fmt.Printf("%d configurations, of which nginx takes the syntax of %d. moonlap says the same of %d. %d calls in their Lua, %d of them at their line and column.\n",
		len(list)-unread, accepted-unread, len(list)-unread-differ, places, places-wrong)
	if unread > 0 {
		fmt.Printf("%d more are not compared: nginx ends at a value that it refuses, before the place where moonlap sees a fault of syntax.\n", unread)
	}
	return nil
}

var ended = regexp.MustCompile(`(?s)\[(?:emerg|error)\] .*? in \S+\.nginx\.conf:(\d+)`)

// stoppedBefore reports whether nginx ended at or before the line of a fault that moonlap names ("12: …"), for another reason.
func stoppedBefore(said, refused string) bool {
	m := ended.FindStringSubmatch(said)
	if m == nil {
		return false
	}
	last, _ := strconv.Atoi(m[1])
	number, _, _ := strings.Cut(refused, ":")
	line, _ := strconv.Atoi(number)
	return last <= line
}

// inLua tells a fault of the Lua in a block, which nginx -t does not look at.
func inLua(lines []string, line int, message string) bool {
	return strings.Contains(message, "near ") || strings.Contains(message, "LuaJIT") || strings.Contains(message, "label") ||
		strings.Contains(message, "<eof>") || strings.Contains(message, "loop to break")
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
