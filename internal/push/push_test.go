package push

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprofile "github.com/google/pprof/profile"

	"github.com/moonlap/moonlap/internal/profile"
)

// sampled is a profile of two lines.
func sampled(mode string, unit profile.Unit) *profile.Profile {
	p := &profile.Profile{Head: profile.Head{
		Mode: mode, Unit: unit, Start: time.Unix(1700000000, 500), Duration: 10 * time.Second, Period: time.Second / 19, Hz: 19,
	}}
	frame := profile.Frame{Kind: profile.Lua, Function: "work", File: "app.lua", FirstLine: 1, Line: 3}
	for _, uri := range []string{"/a", "/b"} {
		p.Add([]profile.Frame{frame}, map[string]string{"uri": uri, "phase": "access", "state": "compiled"}, 20)
	}
	p.Merge()
	return p
}

// A desk is a server that answers as the test wants, and keeps what it got.
type desk struct {
	lock   sync.Mutex
	status int
	got    []*http.Request
	bodies [][]byte
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.status != 0 {
		http.Error(w, "not now", d.status)
		return
	}
	d.got, d.bodies = append(d.got, r), append(d.bodies, body)
}

func (d *desk) answer(status int) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.status = status
}

func (d *desk) count() int {
	d.lock.Lock()
	defer d.lock.Unlock()
	return len(d.got)
}

// open starts a desk, and is its server for a path.
func open(t *testing.T, path string) (*desk, *Server) {
	t.Helper()
	d := &desk{}
	web := httptest.NewServer(d)
	t.Cleanup(web.Close)
	s, err := New(strings.Replace(web.URL, "http://", "http://us:secret@", 1)+path, "gateway{region=eu}", []string{"X-Scope-OrgID: team"})
	if err != nil {
		t.Fatal(err)
	}
	s.Label("host", "web 1")
	return d, s
}

func send(t *testing.T, s *Server, p *profile.Profile) {
	t.Helper()
	r, err := s.Encode(p)
	if err == nil {
		err = s.Send(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lines are what a pprof profile has: types, stacks with labels and values.
func lines(t *testing.T, text []byte) (all []string) {
	t.Helper()
	p, err := pprofile.ParseData(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range p.SampleType {
		all = append(all, v.Type+"/"+v.Unit)
	}
	for _, s := range p.Sample {
		all = append(all, fmt.Sprint(s.Location[0].Line[0].Function.Name, s.Label, s.Value))
	}
	return all
}

// TestPyroscope: the form of /ingest, with name, times and rate as it wants them.
func TestPyroscope(t *testing.T) {
	d, s := open(t, "/ingest")
	send(t, s, sampled("on-cpu", profile.Samples))
	r := d.got[0]
	want := map[string][]string{
		"name": {"gateway{host=web_1,region=eu}"}, "from": {"1700000000000000500"}, "until": {"1700000010000000500"},
		"spyName": {"moonlap"}, "sampleRate": {"19"},
	}
	if diff := cmp.Diff(want, map[string][]string(r.URL.Query())); diff != "" {
		t.Error(diff)
	}
	if user, password, _ := r.BasicAuth(); user != "us" || password != "secret" || r.Header.Get("X-Scope-Orgid") != "team" {
		t.Errorf("%v", r.Header)
	}
	r.Body = io.NopCloser(bytes.NewReader(d.bodies[0]))
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		t.Fatal(err)
	}
	part := func(name string) []byte {
		f, err := r.MultipartForm.File[name][0].Open()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(f)
		return text
	}
	// The URI is no label: each would make a series.
	got := lines(t, part("profile"))
	if diff := cmp.Diff([]string{"samples/count", "cpu/nanoseconds", "work@app.lua:1map[phase:[access]] [40 2105263120]"}, got); diff != "" {
		t.Error(diff)
	}
	wantTypes := `{"cpu":{"units":"nanoseconds","sampled":true},"samples":{"units":"samples","display-name":"cpu","sampled":true}}`
	if got := strings.TrimSpace(string(part("sample_type_config"))); got != wantTypes {
		t.Error(got)
	}
}

// TestParca: the message WriteRawRequest in protobuf's JSON, with no field that it does not have.
func TestParca(t *testing.T) {
	for mode, want := range map[string]string{"on-cpu": "process_cpu", "off-cpu": "block", "wall": "wall", "allocations": "memory"} {
		unit := map[string]profile.Unit{"on-cpu": profile.Samples, "allocations": profile.Bytes}[mode]
		if unit == "" {
			unit = profile.Time
		}
		d, s := open(t, "/api/profiles/writeraw")
		send(t, s, sampled(mode, unit))
		var message struct {
			Tenant     string
			Normalized bool
			Series     []struct {
				Labels struct {
					Labels []struct{ Name, Value string }
				}
				Samples []struct{ RawProfile string }
			}
		}
		strict := json.NewDecoder(bytes.NewReader(d.bodies[0]))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&message); err != nil {
			t.Fatal(err)
		}
		one := message.Series[0]
		if got := fmt.Sprint(one.Labels.Labels); got != "[{__name__ "+want+"} {host web_1} {job gateway} {region eu}]" {
			t.Error(got)
		}
		text, err := base64.StdEncoding.DecodeString(one.Samples[0].RawProfile)
		if err != nil || len(lines(t, text)) < 2 {
			t.Error(err)
		}
	}
}

func TestNew(t *testing.T) {
	for _, c := range []struct{ url, as, header, want string }{
		{"http://h/", "nginx", "", "the path says which server it is"},
		{"ftp://h/ingest", "nginx", "", "no URL of a server"},
		{"h:4040/ingest", "nginx", "", "no URL of a server"},
		{"http://h/v1development/profiles", "nginx", "", "OTLP has no stable form of profiles"},
		{"http://h/ingest", "nginx{a}", "", "no LABEL=VALUE"},
		{"http://h/ingest", "my nginx", "", "is no name"},
		{"http://h/ingest", "nginx", "Authorization", "is not NAME: VALUE"},
	} {
		headers := []string{}
		if c.header != "" {
			headers = append(headers, c.header)
		}
		if _, err := New(c.url, c.as, headers); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if s, err := New("http://us:secret@h/ingest", "a", nil); err != nil || strings.Contains(s.String(), "secret") {
		t.Errorf("%v %v", s, err)
	}
}

// notes are what a queue has said.
type notes struct {
	lock sync.Mutex
	all  []string
}

func (n *notes) add(text string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.all = append(n.all, text)
}

// TestQueueAway: profiles wait for a server that is away, the oldest of too many are dropped and counted, the others arrive in order.
func TestQueueAway(t *testing.T) {
	d, s := open(t, "/ingest")
	d.answer(http.StatusServiceUnavailable)
	var said notes
	q := NewQueue(s, said.add)
	tries := make(chan bool)
	q.Sleep = func(ctx context.Context, _ time.Duration) error {
		select {
		case tries <- true:
		case <-ctx.Done():
		}
		return nil
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { q.Run(ctx); close(ended) }()
	const many = mostWaiting + 40
	for i := range many {
		q.Put(Request{query: map[string][]string{"n": {fmt.Sprint(i)}}, body: []byte("x")})
	}
	<-tries
	<-tries // it has been put back
	d.answer(0)
	for d.count() < mostWaiting {
		select {
		case <-tries:
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	<-ended
	if got := q.Flush(t.Context()); got != (Tally{Sent: mostWaiting, Dropped: 40}) {
		t.Errorf("%+v", got)
	}
	for i, r := range d.got {
		if r.URL.Query().Get("n") != fmt.Sprint(40+i) {
			t.Fatalf("%d: %s", i, r.URL.Query())
		}
	}
	want := []string{"503 Service Unavailable not now; profiles wait, up to 360 of them", "answers again"}
	if !slices.EqualFunc(said.all, want, strings.HasSuffix) {
		t.Errorf("%q", said.all)
	}
}

// TestQueueMemory: few large profiles take no more than their bound.
func TestQueueMemory(t *testing.T) {
	_, s := open(t, "/ingest")
	q := NewQueue(s, func(string) {})
	for range 20 {
		q.Put(Request{body: make([]byte, 5<<20)})
	}
	if q.bytes > mostBytes || len(q.waiting) != 6 || q.Dropped != 14 {
		t.Errorf("%d bytes, %d wait, %d dropped", q.bytes, len(q.waiting), q.Dropped)
	}
}

// TestQueueRefused: what the server refuses is counted and said, and not tried again. What is left when it is over is counted.
func TestQueueRefused(t *testing.T) {
	d, s := open(t, "/ingest")
	var said notes
	q := NewQueue(s, said.add)
	d.answer(http.StatusBadRequest)
	q.Put(Request{})
	q.Flush(t.Context())
	d.answer(http.StatusTooManyRequests)
	q.Put(Request{})
	ctx, stop := context.WithCancel(t.Context())
	q.Sleep = func(context.Context, time.Duration) error { stop(); return nil }
	if got := q.Flush(ctx); got != (Tally{Refused: 1, Left: 1}) {
		t.Errorf("%+v", got)
	}
	if len(said.all) != 2 || !strings.Contains(said.all[0], "refuses a profile: 400 Bad Request not now") || strings.Contains(said.all[0], "secret") {
		t.Errorf("%q", said.all)
	}
}
