package cli

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// again is the same text again and again, up to N bytes.
func again(text string, bytes int) io.Reader {
	piece := strings.Repeat(text, 1+64<<10/len(text))
	var all []io.Reader
	for ; bytes > 0; bytes -= len(piece) {
		all = append(all, strings.NewReader(piece))
	}
	return io.MultiReader(all...)
}

const runLine = `{"type":"run","schema":"moonlap/1","kind":"bench","moonlap":"x","args":[],"started":"2026-11-22T00:00:00Z","seed":1,"budget_ns":1,"environment":{}}` + "\n"

// TestHostileFiles: what is no file of ours is refused in bounded memory, in words that name it. Each is larger, once it is read,
// than the machine would have room for, or has no end.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	pack := func(name string, parts ...io.Reader) {
		t.Helper()
		f, err := os.Create(in(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z := gzip.NewWriter(f)
		if _, err := io.Copy(z, io.MultiReader(parts...)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	plain := func(name string, parts ...io.Reader) {
		t.Helper()
		f, err := os.Create(in(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := io.Copy(f, io.MultiReader(parts...)); err != nil {
			t.Fatal(err)
		}
	}
	sparse := func(name, head string) {
		t.Helper()
		plain(name, strings.NewReader(head))
		if err := os.Truncate(in(name), 1<<40); err != nil {
			t.Fatal(err)
		}
	}
	// 776 kB that became 1.08 GB.
	batches := `{"type":"batches","process":0,"kind":"measure","calls":[`
	pack("bomb.jsonl.gz", strings.NewReader(runLine+batches), again("1,", 60<<20), strings.NewReader("1]}\n"))
	pack("lines.jsonl.gz", strings.NewReader(runLine), again(`{"type":"future","x":1}`+"\n", 100<<20))
	sparse("zeros.jsonl", runLine)
	sparse("zeros.json", "")
	const profileHead = `{"schema":"moonlap/1","kind":"profile","title":"","stacks":[`
	plain("objects.json", strings.NewReader(profileHead), again(`{"frames":[{},{},{},{}]},`, 100<<20), strings.NewReader("{}]}"))
	plain("nulls.json", strings.NewReader(profileHead), again(`null,`, 100<<20), strings.NewReader("null]}"))
	plain("largest.json", strings.NewReader(profileHead+`{"frames":[`), again(`{},`, 9<<20), strings.NewReader("{}]}]}"))
	plain("comments.lua", again("-- moonlap: --time=1s\n", 64<<20))
	if err := os.WriteFile(in("good.json"), []byte(profileHead+`{"frames":[{"function":"f","kind":"lua"}],"count":1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const most = 1200 << 10 // KiB; twice what a file's values may take, as the collector has it
	for _, c := range []struct {
		args, says string
	}{
		{"report bomb.jsonl.gz", "bomb.jsonl.gz"},
		{"report lines.jsonl.gz", "times as many"},
		{"report zeros.jsonl", "zeros.jsonl"},
		{"report /dev/zero", "/dev/zero is neither a plain file nor a pipe"},
		{"plot /dev/zero --out x.svg", "/dev/zero is neither"},
		{"profile --diff /dev/zero good.json", "/dev/zero is neither"},
		{"profile --diff good.json /dev/zero", "/dev/zero is neither"},
		{"profile --diff zeros.json good.json", "zeros.json"},
		{"profile objects.json --out x.html", "more memory than"},
		{"profile largest.json --out x.html", "is no kind of a frame"},
		{"profile --diff objects.json good.json", "more memory than"},
		{"profile --diff nulls.json good.json", "more memory than"},
		{"profile --diff bomb.jsonl.gz good.json", "bomb.jsonl.gz"},
		{"bench /dev/zero", "/dev/zero is neither"},
		{"run /dev/zero", "/dev/zero is neither"},
		{"compare /dev/zero /dev/zero", "/dev/zero is neither"},
		{"bench comments.lua --out /dev/null --processes 1", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], strings.Fields(c.args)...)
			cmd.Args[0] = "moonlap"
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_CACHE_HOME="+dir, "TMPDIR="+dir)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			endless := time.AfterFunc(5*time.Minute, func() { cmd.Process.Kill() })
			cmd.Wait()
			endless.Stop()
			if code := cmd.ProcessState.ExitCode(); code != ExitError && code != ExitUsage {
				t.Errorf("it ended with %v", cmd.ProcessState)
			}
			if !strings.Contains(said.String(), c.says) || strings.Contains(said.String(), "goroutine ") || said.Len() > 10<<10 {
				t.Errorf("it said %.2000s", said.String())
			}
			peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
			t.Logf("%d MiB at most: %.150s", peak>>10, said.String())
			if peak > most {
				t.Errorf("it took %d KiB", peak)
			}
		})
	}
}
