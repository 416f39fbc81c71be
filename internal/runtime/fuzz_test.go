package runtime

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// FuzzNginxLog: what is not nginx's own comes through unchanged, in whatever pieces it is written.
func FuzzNginxLog(f *testing.F) {
	f.Add([]byte("2026/11/22 10:00:00 [notice] 7#7: worker process 8 exited on signal 11\nplain\n"), 3)
	f.Add([]byte("2026/11/22 10:00:00 [emerg] 7#0: bind() failed\n2026/11/22 10:00:00 [error] 8#8: *1 [lua] x\npart"), 1)
	f.Add([]byte("2026/11/22 10:00:00 [alert] 99999999999999999999#0: worker process 99999999999999999999 exited with code 99999999999999999999\n"), 200)
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		read := func(piece int) (string, []workerDeath) {
			var out bytes.Buffer
			var deaths []workerDeath
			l := &nginxLog{master: 7, out: &out, died: func(d workerDeath) { deaths = append(deaths, d) }}
			for b := text; len(b) > 0; {
				n := min(piece, len(b))
				l.Write(b[:n])
				b = b[n:]
			}
			l.flush()
			if len(l.partial) > maxLogLine || len(l.refusal) > 10 {
				t.Fatalf("%d bytes and %d lines are kept", len(l.partial), len(l.refusal))
			}
			return out.String(), deaths
		}
		piece = max(1, piece)
		whole, deaths := read(len(text) + 1)
		if len(whole) > len(text) {
			t.Fatalf("%q became %q", text, whole)
		}
		if len(text) < maxLogLine { // longer lines are handed on in pieces
			if cut, again := read(piece); cut != whole || len(again) != len(deaths) {
				t.Fatalf("in pieces of %d: %q and %d deaths, not %q and %d", piece, cut, len(again), whole, len(deaths))
			}
		}
	})
}

// FuzzChannel: the user's code may write to the channel what it likes.
func FuzzChannel(f *testing.F) {
	f.Add([]byte(`{"type":"finish","stop":"enough","elapsed_ns":1}` + "\n" + `{"type":"metric","name":"m","unit":"x","value":1}`))
	f.Add([]byte(`{"type":"batches","kind":"measure","calls":[1,2],"ns":[1]}` + "\n[]\n\x00\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		readChannel(bytes.NewReader(b), record.In{Process: 3}, func(l record.Line) {
			if _, err := record.EncodeLine(l); err != nil {
				t.Fatalf("%#v cannot be written: %v", l, err)
			}
		})
	})
}

// FuzzNginxV: what any program prints for -V.
func FuzzNginxV(f *testing.F) {
	f.Add("nginx version: openresty/1.25.3.1\nconfigure arguments: --with-cc-opt='-O2 -g' --add-module=../ngx_lua-0.10.26\n")
	f.Add("nginx version: nginx/1.22.1\nconfigure arguments: '\"\\")
	f.Fuzz(func(t *testing.T, out string) { parseNginxV(out) })
}

// FuzzStat: /proc/PID/stat, with any name of a program in it, and environments and paths of whoever runs here.
func FuzzStat(f *testing.F) {
	f.Add([]byte("42 (a) b (c)) S 7 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"), "/tmp/[a]*?\\b")
	f.Fuzz(func(t *testing.T, b []byte, path string) {
		if fields, err := parseStat(b); err == nil && len(fields) < 20 {
			t.Fatalf("%q", fields)
		}
		if hasMark(b, "mark") && !bytes.Contains(b, []byte(guardVariable+"=")) {
			t.Fatalf("%q has no mark", b)
		}
		if ok, err := filepath.Match(quoteGlob(path), path); err != nil || !ok {
			t.Fatalf("%q does not match itself: %v", path, err)
		}
	})
}
