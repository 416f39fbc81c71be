package record

import (
	"errors"
	"strings"
	"testing"
)

const (
	runLine     = `{"type":"run","schema":"moonlap/1","kind":"bench","seed":7}`
	caseLine    = `{"type":"case","case":0,"name":"add","gc":"natural"}`
	processLine = `{"type":"process","process":1,"worker":0,"case":0}`
	batchesLine = `{"type":"batches","process":1,"worker":0,"kind":"measure","calls":[10,10],"ns":[31.5,32]}`
	endLine     = `{"type":"end","reason":"complete"}`
)

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func TestFaults(t *testing.T) {
	begun := []string{runLine, caseLine, processLine, batchesLine}
	with := func(bad ...string) string { return lines(append(append([]string{}, begun...), bad...)...) }
	for _, tt := range []struct {
		name    string
		in      string
		text    string // of the error, after the file's name
		advice  string
		batches int // lines of batches that were read all the same
	}{
		{"empty", "", "the record is empty", "nothing was measured", 0},
		{"blank", "\n\n", "the record is empty", "nothing was measured", 0},
		{"no run line", lines(caseLine, endLine), "1: a record begins with a run line", "", 0},
		{"other file", "#!/bin/sh\necho\n", `1: not a line of a record: "#!/bin/sh`, "", 0},
		{"no end line", lines(begun...), "4: the record has no end line", "was used", 1},
		{"cut last line", with(`{"type":"batches","process":1,"calls":[10,1`), `5: the line breaks off: "{\"type\"`, "disk was full", 1},
		{"garbage line", with("\x00\x7fELF", endLine), "5: not a line of a record", "before this line", 1},
		{"list", with(`[1,2]`, endLine), "5: a list, not an object: \"[1,2]\"", "", 1},
		{"no type", with(`{"process":1}`, endLine), `5: a line without a "type"`, "", 1},
		{"newer major", lines(`{"type":"run","schema":"moonlap/2","seed":"x"}`), `1: the schema is "moonlap/2", and this moonlap reads "moonlap/1"`, "with the moonlap that wrote it", 0},
		{"level", lines(`{"type":"run","schema":"moonlap/1","comparing":{"level":2,"min_effect":0.01}}`), "1: run line: compares at the level 2", "", 0},
		{"negative effect", lines(`{"type":"run","schema":"moonlap/1","comparing":{"level":0.95,"min_effect":-1}}`), "1: run line: compares with a negative effect", "", 0},
		{"no schema", lines(`{"type":"run"}`), `1: the schema is ""`, "is this a record of moonlap?", 0},
		{"wrong type", with(`{"type":"batches","process":1,"kind":5}`), `5: "kind" holds a number where a string belongs`, "", 1},
		{"fraction of a call", with(`{"type":"batches","process":1,"calls":[1.5],"ns":[1]}`), `"calls" holds a number 1.5 where a whole number belongs`, "", 1},
		{"nan", with(`{"type":"batches","process":1,"calls":[1],"ns":[nan]}`), "5: a value that is not a number (nan or inf)", "", 1},
		{"-inf", with(`{"type":"batches","process":1,"calls":[1],"ns":[-inf]}`), "5: a value that is not a number (nan or inf)", "", 1},
		{"too large", with(`{"type":"batches","process":1,"calls":[1],"ns":[1e999]}`), `5: "ns" holds the number 1e999, which is too large`, "", 1},
		{"unequal lengths", with(`{"type":"batches","process":1,"calls":[1,2],"ns":[1]}`), `5: batches line: "calls" has 2 values and "ns" 1`, "", 1},
		{"unequal marks", with(`{"type":"batches","process":1,"calls":[1,2],"ns":[1,2],"steal":[1]}`), `5: batches line: "calls" has 2 values and "steal" 1`, "", 1},
		{"no calls", with(`{"type":"batches","process":1,"calls":[0],"ns":[1]}`), "5: batches line: batch 1 has 0 calls", "", 1},
		{"negative time", with(`{"type":"batches","process":1,"calls":[1],"ns":[-3]}`), "5: batches line: batch 1 took -3 ns", "", 1},
		{"endless time", with(`{"type":"batches","process":1,"calls":[1],"ns":[1e300]}`), "5: batches line: batch 1 took 1e+300 ns, more than 30 years", "", 1},
		{"endless slice", with(`{"type":"load_slice","stops_ns":[-1e19]}`), "5: load_slice line: a slice with a time of more than 30 years", "", 1},
		{"metric beyond", with(`{"type":"metric","process":1,"unit":"x","values":[1e300]}`), `5: metric line: a metric in "x" beyond 1e18`, "", 1},
		{"negative count", with(`{"type":"laps","process":1,"kind":"calls","count":-1}`), "5: laps line: a count of -1 laps", "", 1},
		{"nameless case", with(`{"type":"case","case":1}`), "5: case line: a case without a name", "", 1},
		{"not begun", with(`{"type":"memory","process":2,"worker":1}`), "5: a memory line of process 2, worker 1, which has not begun", "", 1},
		{"begins twice", with(processLine), "5: process 1 begins twice", "", 1},
		{"unplanned case", with(`{"type":"process","process":2,"case":8}`), "5: process 2 runs case 8, which is not in the plan", "", 1},
		{"case twice", with(caseLine), "5: a second case with the number 0", "", 1},
		{"two records", with(runLine), "5: a second run line", "two records in one file", 1},
		{"behind the end", with(endLine, batchesLine), "6: a batches line behind the end line", "two records in one file", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := Read(strings.NewReader(tt.in), "r.jsonl")
			var f *FormatError
			if !errors.As(err, &f) {
				t.Fatalf("Read returned %v, not a FormatError", err)
			}
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %q lacks %q", err, tt.text)
			}
			if !strings.Contains(err.Error(), tt.advice) || f.File != "r.jsonl" {
				t.Errorf("error %q lacks advice %q or the file", err, tt.advice)
			}
			if rec.Complete() || !errors.Is(rec.Spoiled, err) {
				t.Error("the record is not marked as spoiled")
			}
			got := 0
			for _, p := range rec.Of(0) {
				got += len(p.Batches)
			}
			if got != tt.batches {
				t.Errorf("%d lines of batches stand before the fault, want %d", got, tt.batches)
			}
		})
	}
}

func TestLongLine(t *testing.T) {
	r := NewReader(strings.NewReader(lines(runLine, `{"type":"x","text":"`+strings.Repeat("y", 9000)+`"}`, endLine)), "long")
	r.max = 8000
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	_, err := r.Next()
	var f *FormatError
	if !errors.As(err, &f) || f.Line != 2 || !strings.Contains(f.Text, "more than 8000 bytes") {
		t.Fatalf("error %v", err)
	}
	if _, again := r.Next(); again != err {
		t.Errorf("the fault does not stick: %v", again)
	}
}

func TestNewerMinorIsSkippedAndCounted(t *testing.T) {
	rec, err := Read(strings.NewReader(lines(
		`{"type":"run","schema":"moonlap/1.4","seed":7,"planet":"earth"}`,
		`{"type":"moon","phase":0.5}`, `{"type":"moon","phase":0.6}`,
		caseLine, processLine,
		`{"kind":"measure","process":1,"calls":[1],"ns":[2],"colour":"red","type":"batches"}`,
		endLine)), "new")
	if err != nil || !rec.Complete() {
		t.Fatalf("error %v", err)
	}
	if rec.Run.Seed != 7 || len(rec.Of(0)[0].Batches) != 1 {
		t.Errorf("known fields were lost: %+v", rec)
	}
	for name, n := range map[string]int{"run.planet": 1, "moon": 2, "batches.colour": 1} {
		if rec.Skipped[name] != n {
			t.Errorf("skipped %q %d times, want %d: %v", name, rec.Skipped[name], n, rec.Skipped)
		}
	}
}

func TestDecodeLine(t *testing.T) {
	l, err := DecodeLine([]byte("  " + batchesLine + "\r\n"))
	if b, ok := l.(Batches); err != nil || !ok || b.NS[1] != 32 {
		t.Errorf("DecodeLine = %#v, %v", l, err)
	}
	_, err = DecodeLine([]byte(`{"type":"moon"}`))
	if !errors.Is(err, ErrUnknownType) || !strings.Contains(err.Error(), `unknown type "moon"`) {
		t.Errorf("unknown type: %v", err)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	if rec, err := ReadFile(dir + "/none.jsonl"); rec != nil || err == nil {
		t.Errorf("a missing file: %v, %v", rec, err)
	}
	rec, err := ReadFile(dir)
	if rec != nil || err == nil || !strings.Contains(err.Error(), dir+" is a folder") {
		t.Errorf("a directory: %v, %v", rec, err)
	}
}

func TestInterruptedIsNotComplete(t *testing.T) {
	rec, err := Read(strings.NewReader(lines(runLine, `{"type":"end","reason":"interrupted"}`)), "r")
	if err != nil || rec.Complete() {
		t.Errorf("complete %v, error %v", rec.Complete(), err)
	}
}
