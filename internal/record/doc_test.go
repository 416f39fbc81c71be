package record

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

const reference = "../../docs/reference/record.md"

// The reference has a section for each type of the model, with exactly its fields.
func TestReferenceNamesEveryField(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		name, body, _ := strings.Cut(s, "\n")
		sections[name] = body
	}
	for name, of := range map[string]any{
		"run": Run{}, "comparing": Comparing{}, "environment": Environment{}, "runtime": Runtime{}, "case": Case{}, "process": Process{},
		"vm": VM{}, "nginx": Nginx{}, "clock": Clock{}, "batches": Batches{}, "laps": Laps{}, "memory": Memory{}, "metric": Metric{},
		"jit": JIT{}, "trace": Trace{}, "abort": Abort{}, "blacklist": Blacklist{}, "fault": Fault{},
		"finish": Finish{}, "profile": Profile{}, "exit": Exit{}, "output": Output{}, "end": End{},
		"load": Load{}, "load_thread": LoadThread{}, "load_begin": LoadBegin{}, "load_slice": LoadSlice{}, "load_error": LoadError{},
		"load_script": LoadScript{}, "load_done": LoadDone{},
	} {
		if l, ok := of.(Line); ok && l.Type() != name {
			t.Errorf("the section %q is about lines of type %q", name, l.Type())
		}
		documented := fieldsInTable(sections[name])
		fields := jsonFields(reflect.TypeOf(of))
		for f := range fields {
			if !documented[f] {
				t.Errorf("%s: the section %q lacks the field %q", reference, name, f)
			}
		}
		for f := range documented {
			if !fields[f] {
				t.Errorf("%s: the section %q has a field %q that does not exist", reference, name, f)
			}
		}
	}
	for kind := range decoders {
		if sections[kind] == "" {
			t.Errorf("%s: no section %q", reference, kind)
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// fieldsInTable are the names in the first column.
func fieldsInTable(section string) map[string]bool {
	fields := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			fields[m[1]] = true
		}
	}
	return fields
}

func jsonFields(t reflect.Type) map[string]bool {
	fields := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			fields[name] = true
		}
	}
	return fields
}
