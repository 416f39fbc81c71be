// Package push sends profiles to the servers that teams keep them in, by Pyroscope's and Parca's HTTP interfaces.
package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/profile"
)

// A Server is where profiles go, and what they are called there.
type Server struct {
	url    *url.URL
	encode func(*Server, *profile.Profile) (Request, error)
	name   string            // of the service
	labels map[string]string // of each profile
	header http.Header
	client *http.Client
}

// A Request is a profile as a server takes it.
type Request struct {
	query       url.Values
	contentType string
	body        []byte
}

// Size is the memory that the request takes, in bytes.
func (r Request) Size() int { return len(r.body) }

// longest is how long a server may take to answer.
const longest = 10 * time.Second

// New is the server at a URL, whose path says which kind it is. as is the name of the service, with labels if need be:
// gateway{region=eu,zone=b}. Each header is a line such as "X-Scope-OrgID: team".
func New(where, as string, headers []string) (*Server, error) {
	u, err := url.Parse(where)
	if err != nil {
		return nil, err
	}
	s := &Server{url: u, header: http.Header{}, client: &http.Client{Timeout: longest}}
	switch path := strings.TrimSuffix(u.Path, "/"); {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q is no URL of a server, as http://127.0.0.1:4040/ingest", u.Redacted())
	case strings.HasSuffix(path, "/ingest"):
		s.encode = (*Server).pyroscope
	case strings.HasSuffix(path, "/profiles/writeraw"):
		s.encode = (*Server).parca
	case strings.HasSuffix(path, "/profiles"):
		return nil, fmt.Errorf("%s: OTLP has no stable form of profiles yet, so none are sent; "+
			"Pyroscope's path is /ingest, Parca's /api/profiles/writeraw", u.Redacted())
	default:
		return nil, fmt.Errorf("%s: the path says which server it is: /ingest is Pyroscope's, /api/profiles/writeraw Parca's", u.Redacted())
	}
	if s.name, s.labels, err = parseName(as); err != nil {
		return nil, err
	}
	for _, line := range headers {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(line, "\r\n") {
			return nil, fmt.Errorf("the header %q is not NAME: VALUE", name)
		}
		s.header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return s, nil
}

var (
	nameForm  = regexp.MustCompile(`^([A-Za-z0-9_./-]+)(?:\{(.*)\})?$`)
	labelForm = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=([^{}",=\s]+)$`)
)

// parseName cuts NAME{LABEL=VALUE,…} into its parts.
func parseName(as string) (name string, labels map[string]string, err error) {
	m := nameForm.FindStringSubmatch(as)
	if m == nil {
		return "", nil, fmt.Errorf("%q is no name: letters, digits and _./-, and perhaps {LABEL=VALUE,…} behind", as)
	}
	labels = map[string]string{}
	for part := range strings.SplitSeq(m[2], ",") {
		if part == "" {
			continue
		}
		l := labelForm.FindStringSubmatch(part)
		if l == nil {
			return "", nil, fmt.Errorf("%q is no LABEL=VALUE", part)
		}
		labels[l[1]] = l[2]
	}
	return m[1], labels, nil
}

// Label adds a label that the name did not have.
func (s *Server) Label(name, value string) {
	value = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`{}",= `, r) {
			return '_'
		}
		return r
	}, value)
	if s.labels[name] == "" && value != "" {
		s.labels[name] = value
	}
}

// String is the server's address, without a password.
func (s *Server) String() string { return s.url.Redacted() }

// Encode makes a request of a profile. Labels of its samples that have too many values to be a series each are left out, as the
// request's URI.
func (s *Server) Encode(p *profile.Profile) (Request, error) {
	few := *p
	few.Stacks = slices.Clone(p.Stacks)
	for i := range few.Stacks {
		labels := maps.Clone(few.Stacks[i].Labels)
		maps.DeleteFunc(labels, func(name, _ string) bool { return !slices.Contains(sent, name) })
		few.Stacks[i].Labels = labels
	}
	few.Merge()
	return s.encode(s, &few)
}

// sent are the labels of samples that servers get: those with few values.
var sent = []string{"phase", "module", "lock", "cause"}

// A RefusedError is a server's answer that a second try would not change.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

// Send sends a request once.
func (s *Server) Send(ctx context.Context, r Request) error {
	u := *s.url
	query := u.Query()
	maps.Copy(query, r.query)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return err
	}
	req.Header = s.header.Clone()
	req.Header.Set("Content-Type", r.contentType)
	req.Header.Set("User-Agent", "moonlap")
	res, err := s.client.Do(req)
	if err != nil {
		var of *url.Error // which has the whole query
		if errors.As(err, &of) {
			err = of.Err
		}
		return err
	}
	defer res.Body.Close()
	const most = 300
	text, _ := io.ReadAll(io.LimitReader(res.Body, most))
	switch {
	case res.StatusCode/100 == 2:
		return nil
	case res.StatusCode == http.StatusRequestTimeout, res.StatusCode == http.StatusTooManyRequests, res.StatusCode/100 == 5:
		return fmt.Errorf("%s %s", res.Status, bytes.TrimSpace(text))
	}
	return &RefusedError{fmt.Sprintf("%s %s", res.Status, bytes.TrimSpace(text))}
}
