package push

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"mime/multipart"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/profile"
)

// pprof is a profile in the form that both servers take, and the names of what it counts.
func pprof(p *profile.Profile) ([]byte, error) {
	var b bytes.Buffer
	err := p.WritePprof(&b)
	return b.Bytes(), err
}

// pyroscope makes a request of Pyroscope's /ingest: a form with the profile, and what its values are.
func (s *Server) pyroscope(p *profile.Profile) (r Request, err error) {
	labels := []string{}
	for _, name := range slices.Sorted(maps.Keys(s.labels)) {
		labels = append(labels, name+"="+s.labels[name])
	}
	r.query = url.Values{
		"name":       {s.name + "{" + strings.Join(labels, ",") + "}"},
		"from":       {strconv.FormatInt(p.Start.UnixNano(), 10)},
		"until":      {strconv.FormatInt(p.Start.Add(p.Duration).UnixNano(), 10)},
		"spyName":    {"moonlap"},
		"sampleRate": {fmt.Sprint(max(1, int(math.Round(p.Hz))))},
	}
	text, err := pprof(p)
	if err != nil {
		return r, err
	}
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for name, content := range map[string]any{"profile": text, "sample_type_config": sampleTypes(p)} {
		part, err := form.CreateFormFile(name, name)
		if err != nil {
			return r, err
		}
		if text, ok := content.([]byte); ok {
			_, err = part.Write(text)
		} else {
			err = jsontext.NewEncoder(part).Encode(content)
		}
		if err != nil {
			return r, err
		}
	}
	r.contentType = form.FormDataContentType()
	err = form.Close()
	r.body = b.Bytes()
	return r, err
}

// A sampleType describes a kind of values to Pyroscope. None of ours goes on from the profile before, as Go's of the heap do.
type sampleType struct {
	Units   string `json:"units"`
	Display string `json:"display-name,omitempty"`
	Sampled bool   `json:"sampled"`
}

func sampleTypes(p *profile.Profile) map[string]sampleType {
	all := map[string]sampleType{}
	for _, v := range p.PprofTypes() {
		t := sampleType{Units: v.Unit, Sampled: true}
		switch v.Type {
		case "samples":
			t.Units, t.Display = "samples", "cpu"
		case "delay":
			t.Units, t.Display = "lock_nanoseconds", "block_duration"
		}
		all[v.Type] = t
	}
	return all
}

// parca makes a request of Parca's WriteRaw in its HTTP form: JSON, as its gateway maps the message WriteRawRequest.
func (s *Server) parca(p *profile.Profile) (r Request, err error) {
	type label struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	type sample struct {
		RawProfile []byte `json:"rawProfile"` // in base64
	}
	type series struct {
		Labels struct {
			Labels []label `json:"labels"`
		} `json:"labels"`
		Samples []sample `json:"samples"`
	}
	text, err := pprof(p)
	if err != nil {
		return r, err
	}
	one := series{Samples: []sample{{text}}}
	all := maps.Clone(s.labels)
	all["__name__"], all["job"] = kindOf(p), s.name
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one.Labels.Labels = append(one.Labels.Labels, label{name, all[name]})
	}
	r.contentType = "application/json"
	r.body, err = json.Marshal(struct {
		Series []series `json:"series"`
	}{[]series{one}})
	return r, err
}

// kindOf names a profile as Go's are.
func kindOf(p *profile.Profile) string {
	switch types := p.PprofTypes(); types[len(types)-1].Type {
	case "cpu":
		return "process_cpu"
	case "alloc_space", "inuse_space":
		return "memory"
	case "wall":
		return "wall"
	}
	return "block"
}
