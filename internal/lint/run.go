package lint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/nginxconf"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// Options say what to lint, and how.
type Options struct {
	LuaJIT   record.Runtime
	Paths    []string
	Settings *Settings
	Rules    []Rule // those that are on
	// Class and phase hold for all files, where they are not "": for the tests of rules.
	Class, Phase string
	// Stdin is what the path "-" reads.
	Stdin io.Reader
}

// StdinName is the file that stands for stdin.
const StdinName = "-"

// Run lints. The error is for what keeps it from running at all.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &run{Options: o, report: &Report{Findings: []Finding{}, Faults: []Fault{}}}
	r.matcher = newMatcher(o.Settings.AllClasses())
	chunks := r.chunks()
	workers := min(goruntime.GOMAXPROCS(0), 4, 1+len(chunks)/20)
	first := &worker{luajit: o.LuaJIT, rules: o.Rules}
	faults, err := first.start()
	if err != nil {
		first.close()
		return nil, err
	}
	r.report.Faults = append(r.report.Faults, faults...)
	results := make([]result, len(chunks))
	next := make(chan int)
	var all sync.WaitGroup
	for i := range workers {
		w := first
		if i > 0 {
			w = &worker{luajit: o.LuaJIT, rules: o.Rules}
		}
		all.Go(func() {
			defer w.close()
			for id := range next {
				results[id] = r.lint(w, id, chunks[id])
			}
		})
	}
	for id := range chunks {
		if ctx.Err() != nil {
			break
		}
		next <- id
	}
	close(next)
	all.Wait()
	r.collect(chunks, results)
	return r.report, ctx.Err()
}

// collect puts what came of the chunks into the report.
func (r *run) collect(chunks []chunk, results []result) {
	r.report.ignored = map[ignore]bool{}
	for i, c := range chunks {
		if c.conf != nil {
			for _, file := range c.conf.Files {
				r.report.sources = append(r.report.sources, source{file, Request})
			}
		} else {
			r.report.sources = append(r.report.sources, source{c.file, c.class})
		}
		for _, place := range results[i].ignored {
			r.report.ignored[place] = true
		}
	}
	seen := map[string]bool{}
	for _, one := range results {
		for _, f := range one.findings {
			// A file that nginx.conf includes twice says all twice.
			if key := fmt.Sprintln(f.Rule, f.File, f.Line, f.Column, f.Message); !seen[key] {
				seen[key] = true
				r.report.Findings = append(r.report.Findings, f)
			}
		}
		r.report.Faults = append(r.report.Faults, one.faults...)
	}
}

// A Session lints texts, one after the other, with an engine that stays.
type Session struct {
	options Options
	worker  worker
}

// NewSession makes one, which must be closed. Paths and stdin of the options are not used.
func NewSession(o Options) *Session {
	return &Session{options: o, worker: worker{luajit: o.LuaJIT, rules: o.Rules}}
}

// Text lints a text that an editor holds, as the file of a path. Of nginx.conf what it includes is read, but only what is found in the
// text itself is reported.
func (s *Session) Text(path string, text []byte) *Report {
	r := &run{Options: s.options, report: &Report{Findings: []Finding{}, Faults: []Fault{}}}
	r.matcher = newMatcher(s.options.Settings.AllClasses())
	conf := strings.HasSuffix(path, ".conf")
	var chunks []chunk
	if conf {
		chunks, _, r.report.Faults = confChunks(nginxconf.ReadText(path, text), path, func(string) {})
	} else {
		chunks = r.source(nil, path, text, nil, "")
	}
	for _, c := range chunks {
		one := r.lint(&s.worker, 0, c)
		r.report.Findings, r.report.Faults = append(r.report.Findings, one.findings...), append(r.report.Faults, one.faults...)
	}
	if conf {
		r.report.Findings = slices.DeleteFunc(r.report.Findings, func(f Finding) bool { return f.File != path })
		r.report.Faults = slices.DeleteFunc(r.report.Faults, func(f Fault) bool { return f.File != path })
		for i := range r.report.Findings {
			r.report.Findings[i].Fix = nil // its places are those in its block
		}
	}
	return r.report
}

// Close ends the engine.
func (s *Session) Close() { s.worker.close() }

type run struct {
	Options
	matcher matcher
	report  *Report
}

// chunks reads all files.
func (r *run) chunks() (chunks []chunk) {
	excluded := make([]func(string) bool, 0, len(r.Settings.Exclude))
	for _, pattern := range r.Settings.Exclude {
		excluded = append(excluded, glob(pattern).MatchString)
	}
	paths := r.Paths
	if i := slices.Index(paths, StdinName); i >= 0 {
		text, err := io.ReadAll(io.LimitReader(r.Stdin, mostSource+1))
		paths = append(append([]string{}, paths[:i]...), paths[i+1:]...)
		chunks = r.source(chunks, StdinName, text, err, "")
	}
	found, faults := find(paths, func(path string) bool {
		return slices.ContainsFunc(excluded, func(match func(string) bool) bool { return match(r.relative(path)) })
	})
	r.report.Faults = append(r.report.Faults, faults...)

	phases, included := map[string]string{}, map[string]bool{}
	var lua []string
	for _, file := range found {
		if !strings.HasSuffix(file, ".conf") {
			lua = append(lua, file)
			continue
		}
		if included[filepath.Clean(file)] {
			continue // another one includes it
		}
		of, named, faults := confChunks(nginxconf.Read(file), file, func(f string) { included[filepath.Clean(f)] = true; r.report.Files++ })
		class := r.matcher.class(r.relative(file))
		aside := r.Class == "" && (class == Test || class == CLI)
		for i := range of {
			r.report.Lines += bytes.Count(of[i].text, []byte("\n"))
			if aside {
				of[i].class = class
			}
		}
		if aside {
			named = nil // the files that it names have classes of their own
		}
		chunks = append(chunks, of...)
		r.report.Faults = append(r.report.Faults, faults...)
		maps.Copy(phases, named)
	}
	for _, file := range slices.Sorted(maps.Keys(phases)) {
		if !slices.Contains(lua, file) {
			lua = append(lua, file)
		}
	}
	for _, file := range lua {
		text, err := readSource(file)
		chunks = r.source(chunks, file, text, err, phases[file])
	}
	return chunks
}

// source appends the chunk of a Lua file.
func (r *run) source(chunks []chunk, file string, text []byte, err error, phase string) []chunk {
	if err == nil && len(text) > mostSource {
		err = fmt.Errorf("it has more than %d MiB and looks generated: it is not read", mostSource>>20)
	}
	if err != nil {
		r.report.Faults = append(r.report.Faults, unreadable(file, err))
		return chunks
	}
	r.report.Files++
	r.report.Lines += bytes.Count(text, []byte("\n"))
	c := chunk{file: file, text: text, class: r.matcher.class(r.relative(file)), phase: phase, line: 1, column: 1}
	if phase != "" {
		c.class = classOf(phase)
	}
	if r.Class != "" {
		c.class, c.phase = r.Class, cmp.Or(r.Phase, onRequests)
	}
	return append(chunks, c)
}

func readSource(file string) ([]byte, error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, errors.New("it is a folder")
	}
	return io.ReadAll(io.LimitReader(f, mostSource+1))
}

// relative is a path as patterns see it.
func (r *run) relative(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		if relative, err := filepath.Rel(r.Settings.Root, absolute); err == nil && !strings.HasPrefix(relative, "..") {
			path = relative
		}
	}
	return filepath.ToSlash(path)
}

// result is what came of a chunk.
type result struct {
	findings []Finding
	faults   []Fault
	ignored  []ignore
}

func (r *run) lint(w *worker, id int, c chunk) (res result) {
	answers, err := w.ask(c.request(id))
	if err != nil {
		text := err.Error()
		if errors.Is(err, runtime.ErrEngine) {
			text += "; the other files are read all the same"
		}
		return result{faults: []Fault{{File: c.file, Message: text}}}
	}
	lines := bytes.Split(c.text, []byte("\n"))
	for _, a := range answers {
		file := c.file
		if c.conf != nil && a.File < len(c.conf.Files) {
			file = c.conf.Files[a.File]
		}
		switch a.Type {
		case "fault":
			res.faults = append(res.faults, Fault{File: file, Line: a.Line, Column: a.Column, Rule: a.Rule, Message: a.Message})
		case "ignored":
			res.ignored = append(res.ignored, ignore{place{file, a.Line}, a.Rule})
		case "finding":
			f := Finding{Rule: a.Rule, File: file, Line: a.Line, Column: a.Column, Message: a.Message, Level: cmp.Or(a.Level, Warning), Class: a.Class, Fix: a.Fix, directive: c.conf != nil,
				Heat: Heat{From: "guess", Loops: a.Loops, Cold: a.Cold, Tail: a.Tail, function: a.KnownAs, sometimes: a.Sometimes}}
			if own := a.Line - c.line; own >= 0 && own < len(lines) && c.conf == nil {
				f.text = string(bytes.TrimSpace(lines[own]))
			}
			res.findings = append(res.findings, f)
		}
	}
	return res
}
