// Package browser drives a browser without a window, for the tests of the pages that Moonlap writes.
package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long a browser may take to start or to react. It is that long because
// machines are busy; a page that works reacts at once.
const patience = 90 * time.Second

// browsers are programs that speak the DevTools protocol, the smallest first.
var browsers = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// findBrowser skips the test where there is none, unless MOONLAP_TEST_REQUIRE_ALL says that
// there must be one.
func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "none of %s is on the PATH; Debian: apt-get install chromium-headless-shell"
	if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
		t.Fatalf(missing, strings.Join(browsers, ", "))
	}
	if runtime.GOOS != "linux" {
		t.Skip("the browser is driven through inherited pipes, on Linux only")
	}
	t.Skipf(missing, strings.Join(browsers, ", "))
	return ""
}

// A Tab is a page in a browser of its own, driven by the DevTools protocol: JSON messages
// that end in NUL, through the browser's file descriptors 3 and 4.
type Tab struct {
	T        *testing.T // that its failures are of
	to       *os.File
	messages chan message
	session  string
	url      string // that was opened
	sent     int
	faults   []string // uncaught errors, console errors, failed loads
	requests []string // URLs that were asked for
}

// A message is an answer, which has the id of its call, or an event.
type message struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

// OpenTab starts a browser, which ends with the test.
func OpenTab(t *testing.T) *Tab {
	t.Helper()
	reads, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, writes, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	program := findBrowser(t)
	dir, err := os.MkdirTemp("", "moonlap-browser-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--remote-debugging-pipe", "--user-data-dir="+dir,
		"--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1200,900")
	if os.Getuid() == 0 {
		cmd.Args = append(cmd.Args, "--no-sandbox") // it refuses to run as root else
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.ExtraFiles = []*os.File{reads, writes}
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reads.Close()
	writes.Close()
	b := &Tab{T: t, to: to, messages: make(chan message, 1000)}
	go b.listen(from)
	t.Cleanup(func() { to.Close(); end(t, cmd, dir, &stderr); from.Close() })
	b.attach()
	return b
}

// attach opens an empty page, and has the browser tell of it.
func (b *Tab) attach() {
	var target struct {
		ID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	b.session = attached.Session
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
}

// end waits for the browser, to which nobody speaks any more, and takes away its folder. Where the test has failed, it is told what
// the browser said.
func end(t *testing.T, cmd *exec.Cmd, dir string, stderr *bytes.Buffer) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		cmd.Process.Kill()
		<-ended
	}
	// Its helpers may outlive it a little, and write.
	for end := time.Now().Add(10 * time.Second); os.RemoveAll(dir) != nil && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	if t.Failed() {
		t.Logf("the browser said:\n%s", stderr.String())
	}
}

func (b *Tab) listen(from *os.File) {
	defer close(b.messages)
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) == nil {
			b.messages <- m
		}
	}
}

// call calls a method and reads its result.
func (b *Tab) call(method string, params, result any) {
	b.T.Helper()
	b.sent++
	data, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
		Session string `json:"sessionId,omitempty"`
	}{b.sent, method, params, b.session})
	if err != nil {
		b.T.Fatal(err)
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		b.T.Fatalf("%s: the browser is gone: %v", method, err)
	}
	timeout := time.After(patience)
	for {
		select {
		case m, open := <-b.messages:
			switch {
			case !open:
				b.T.Fatalf("%s: the browser ended", method)
			case m.ID == 0:
				b.note(m)
			case m.ID == b.sent && m.Error != nil:
				b.T.Fatalf("%s: %s", method, m.Error.Message)
			case m.ID == b.sent:
				if result != nil {
					if err := json.Unmarshal(m.Result, result); err != nil {
						b.T.Fatalf("%s: %v in %s", method, err, m.Result)
					}
				}
				return
			}
		case <-timeout:
			b.T.Fatalf("%s: no answer within %v", method, patience)
		}
	}
}

// note keeps what events tell of the page.
func (b *Tab) note(m message) {
	var e struct {
		Type             string
		Entry            struct{ Level, Text, URL string }
		ExceptionDetails json.RawMessage
		Request          struct{ URL string }
	}
	if err := json.Unmarshal(m.Params, &e); err != nil {
		b.T.Errorf("%s: %v", m.Method, err)
	}
	switch {
	case m.Method == "Runtime.exceptionThrown":
		b.faults = append(b.faults, string(e.ExceptionDetails))
	case m.Method == "Runtime.consoleAPICalled" && slices.Contains([]string{"error", "warning", "assert"}, e.Type):
		b.faults = append(b.faults, string(m.Params))
	case m.Method == "Log.entryAdded" && e.Entry.Level == "error":
		b.faults = append(b.faults, e.Entry.Text+" "+e.Entry.URL)
	case m.Method == "Network.requestWillBeSent":
		b.requests = append(b.requests, e.Request.URL)
	}
}

// Eval evaluates JavaScript in the page and reads its value.
func (b *Tab) Eval(expression string, value any) {
	b.T.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.T.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(answer.Result.Value, value); err != nil {
		b.T.Fatalf("%s: %v in %s", expression, err, answer.Result.Value)
	}
}

// Await waits until an expression is true.
func (b *Tab) Await(what, expression string) {
	b.T.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var holds bool
		b.Eval("!!("+expression+")", &holds)
		if holds {
			return
		}
		if time.Now().After(end) {
			b.T.Fatalf("%s: not within %v: %s", what, patience, expression)
		}
	}
}

// Open shows a file.
func (b *Tab) Open(file string) {
	b.T.Helper()
	url := "file://" + filepath.ToSlash(file)
	b.url, b.requests = url, nil
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.Await("the page loads", fmt.Sprintf("location.href == %q && document.readyState == 'complete'", url))
}

// Mouse sends events of a kind ("mousePressed", "mouseMoved", …) at places in the window.
func (b *Tab) Mouse(kind string, x, y float64, clicks int) {
	b.T.Helper()
	params := map[string]any{"type": kind, "x": x, "y": y}
	if kind != "mouseMoved" {
		params["button"], params["clickCount"] = "left", clicks
	}
	b.call("Input.dispatchMouseEvent", params, nil)
}

// Click clicks at a place, N times in a row.
func (b *Tab) Click(x, y float64, times int) {
	b.T.Helper()
	b.Mouse("mouseMoved", x, y, 0)
	for i := range times {
		b.Mouse("mousePressed", x, y, i+1)
		b.Mouse("mouseReleased", x, y, i+1)
	}
}

// Prefer says whether the reader wants dark or light pages.
func (b *Tab) Prefer(scheme string) {
	b.T.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// Centre is the middle of an element, a JavaScript expression, in the window, which is scrolled to
// show it.
func (b *Tab) Centre(element string) (x, y float64) {
	b.T.Helper()
	var at [2]float64
	b.Eval(fmt.Sprintf(`(e => {
		e.scrollIntoView({ block: "center", behavior: "instant" });
		const r = e.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})(%s)`, element), &at)
	return at[0], at[1]
}

// Clean reports an error for whatever went wrong in the page, and whatever it asked for but itself.
func (b *Tab) Clean() {
	b.T.Helper()
	for _, fault := range b.faults {
		b.T.Errorf("the page complains: %s", fault)
	}
	for _, url := range b.requests {
		if url != b.url {
			b.T.Errorf("the page asks for %s", url)
		}
	}
}

// Resize makes the window so large, in CSS px.
func (b *Tab) Resize(width, height int) {
	b.T.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
	}, nil)
}

// Picture keeps what the window shows as a file of MOONLAP_TEST_PICTURES, a folder, where that is set: for one's own eyes.
func (b *Tab) Picture(name string) {
	b.T.Helper()
	folder := os.Getenv("MOONLAP_TEST_PICTURES")
	if folder == "" {
		return
	}
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	if err := os.WriteFile(filepath.Join(folder, name+".png"), shot.Data, 0o600); err != nil {
		b.T.Fatal(err)
	}
}
