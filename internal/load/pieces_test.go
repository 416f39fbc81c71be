package load

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTarget(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8080":  "http://127.0.0.1:8080/",
		"https://host/a?b=c":     "https://host/a?b=c",
		"http://[::1]:80/":       "http://[::1]:80/",
		"127.0.0.1:8080":         "no URL",
		"ftp://host/":            "not ftp",
		"http:///path":           "no host",
		"http://host:99999/":     "no port",
		"http://host:x/":         "no URL",
		"http://me:secret@host/": "Authorization",
		"http://a b/":            "no URL",
	} {
		u, err := Target(text)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = u.String()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]string{
		"p99>10ms": "p99>10ms", " p99.9 > 1s ": "p99.9>1s", "rate<5000": "rate<5000", "errors>0.1%": "errors>0.1%", "errors>3": "errors>3",
		"cpu>20us": "cpu>20us", "max>1s": "max>1s", "mean>2ms": "mean>2ms",
		"p99<10ms": "!too high", "rate>3": "!too low", "p99>10": "!no value", "p100>1ms": "!there are", "x>1": "!there are", "p99": "!such as",
		"errors>x%": "!no value", "": "!such as",
	} {
		l, err := ParseLimit(text)
		switch message, wrong := strings.CutPrefix(want, "!"); {
		case wrong && (err == nil || !strings.Contains(err.Error(), message)):
			t.Errorf("%q: %v, want %q", text, err, message)
		case !wrong && (err != nil || l.Text != want):
			t.Errorf("%q: %q, %v", text, l.Text, err)
		}
	}
}

func FuzzParseLimit(f *testing.F) {
	f.Add("p99>10ms")
	f.Add("errors>%")
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := ParseLimit(text); err == nil {
			if again, err := ParseLimit(l.Text); err != nil || again != l {
				t.Fatalf("%q reads back as %+v, %v", text, again, err)
			}
		}
	})
}

func TestParseHeaders(t *testing.T) {
	got, err := ParseHeaders("# a comment\nA: b\n\nX-Y:z: w\r\n")
	if d := cmp.Diff([][2]string{{"A", "b"}, {"X-Y", "z: w"}}, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := ParseHeaders("A: b\nnone"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line without a colon: %v", err)
	}
	for _, text := range []string{"a b: c", ": x", "A: b\r\nC: d"} {
		if h, err := ParseHeader(text); err == nil {
			t.Errorf("%q passes as %q", text, h)
		}
	}
}

// TestListening reads what the kernel says of sockets that listen.
func TestListening(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tcp")
	text := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0\n" +
		"   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0\n" +
		"   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0\n" +
		"   3: nonsense\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string][]string{
		"127.0.0.1:8080": {"111"}, "127.0.0.1:80": {"222"}, "127.0.0.2:8080": nil, "127.0.0.1:81": nil,
	} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := listening(f, []string{address}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
		f.Close()
	}
}
