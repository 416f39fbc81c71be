package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/moonlap/moonlap/internal/jsontext"
)

// MaxLine bounds one line of a record, in bytes. It is far above what a process
// writes, so only a corrupt stream meets it.
const MaxLine = 64 << 20

// EncodeLine makes the line that stands for l in a record: one JSON object with
// "type" first, and a newline. A value that JSON cannot say (NaN, infinity) is an
// error.
func EncodeLine(l Line) ([]byte, error) {
	var b bytes.Buffer
	enc := jsontext.NewEncoder(&b)
	if err := enc.Encode(l); err != nil {
		return nil, fmt.Errorf("%s line: %w", l.Type(), err)
	}
	head := fmt.Sprintf(`{"type":%q`, l.Type())
	rest := b.Bytes()[1:]
	if rest[0] != '}' {
		head += ","
	}
	return append([]byte(head), rest...), nil
}

// DecodeLine reads one line of a record; fields it does not know are skipped. Every
// error is a [*FormatError] without file and line; it wraps [ErrUnknownType] when
// the line is sound but of a type that this version does not know.
func DecodeLine(b []byte) (Line, error) {
	l, _, err := decodeLine(b)
	return l, err
}

// decodeLine also names what it skipped: "type", or "type.field".
func decodeLine(b []byte) (l Line, skipped string, err error) {
	b = bytes.TrimSpace(b)
	var head struct {
		Type   string `json:"type"`
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, "", syntaxFault(b, err)
	}
	if head.Type == "" {
		return nil, "", &FormatError{Text: `a line without a "type": ` + excerpt(b), Advice: adviceWriter}
	}
	// The schema comes before the fields, as those of another major need not fit.
	if head.Type == (Run{}).Type() {
		if err := checkSchema(head.Schema); err != nil {
			return nil, "", err
		}
	}
	decode, ok := decoders[head.Type]
	if !ok {
		return nil, head.Type, &FormatError{
			Text:   fmt.Sprintf("a line of the unknown type %q", head.Type),
			Advice: "a newer moonlap may have written it",
			Err:    ErrUnknownType,
		}
	}
	l, unknown, err := decode(withoutType(b, head.Type))
	if err != nil {
		return nil, "", syntaxFault(b, err)
	}
	if unknown != "" {
		skipped = head.Type + "." + unknown
	}
	if text := check(l); text != "" {
		return nil, skipped, &FormatError{Text: head.Type + " line: " + text, Advice: adviceWriter}
	}
	return l, skipped, nil
}

var decoders = map[string]func([]byte) (Line, string, error){
	Run{}.Type():     decode[Run],
	Runtime{}.Type(): decode[Runtime],
	Case{}.Type():    decode[Case],
	Process{}.Type(): decode[Process],
	Batches{}.Type(): decode[Batches],
	Laps{}.Type():    decode[Laps],
	Memory{}.Type():  decode[Memory],
	Metric{}.Type():  decode[Metric],
	JIT{}.Type():     decode[JIT],
	Fault{}.Type():   decode[Fault],
	Finish{}.Type():  decode[Finish],
	Profile{}.Type(): decode[Profile],
	Exit{}.Type():    decode[Exit],
	End{}.Type():     decode[End],

	Load{}.Type():       decode[Load],
	LoadThread{}.Type(): decode[LoadThread],
	LoadBegin{}.Type():  decode[LoadBegin],
	LoadSlice{}.Type():  decode[LoadSlice],
	LoadError{}.Type():  decode[LoadError],
	LoadScript{}.Type(): decode[LoadScript],
	LoadDone{}.Type():   decode[LoadDone],
}

// decode also names the first field that T does not have.
func decode[T Line](b []byte) (Line, string, error) {
	var l T
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err := dec.Decode(&l)
	if err == nil {
		return l, "", nil
	}
	name, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return nil, "", err
	}
	var lenient T
	if err := json.Unmarshal(b, &lenient); err != nil {
		return nil, "", err
	}
	return lenient, strings.Trim(name, `"`), nil
}

// withoutType takes the "type" off the object b, which is known to be sound, so that
// what remains are the fields of the Go type.
func withoutType(b []byte, kind string) []byte {
	// Our own writers put it first, which spares a second parse of a long line.
	if rest, ok := bytes.CutPrefix(b, []byte(`{"type":"`+kind+`"`)); ok && !bytes.Contains(rest, []byte(`"type"`)) {
		return append([]byte("{"), bytes.TrimLeft(rest, ", \t")...)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(b, &fields) != nil {
		return b
	}
	delete(fields, "type")
	out, err := json.Marshal(fields)
	if err != nil {
		return b
	}
	return out
}
