package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A server is an nginx in a folder of its own, on a unix socket.
type server struct {
	folder string
	worker int // its only one, or its first one
	run    *exec.Cmd
}

func startNginx(workers int) (*server, error) {
	folder, err := os.MkdirTemp("", "probe-")
	if err != nil {
		return nil, err
	}
	s := &server{folder: folder}
	for _, file := range []string{"nginx.conf", "work.lua"} {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w (start this in its own folder)", err)
		}
		// Debian keeps the modules of its packages there.
		b = bytes.ReplaceAll(b, []byte("load_module modules/"), []byte("load_module /usr/lib/nginx/modules/"))
		b = bytes.ReplaceAll(b, []byte("worker_processes 1;"), fmt.Appendf(nil, "worker_processes %d;", workers))
		b = bytes.ReplaceAll(b, []byte("unix:s"), []byte("unix:"+folder+"/s"))
		if err := os.WriteFile(filepath.Join(folder, file), b, 0o644); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		return nil, err
	}
	run := exec.Command("nginx", "-p", folder+"/", "-c", "nginx.conf", "-g", "daemon off; user root;")
	run.Stderr = os.Stderr
	if err := s.endWithUs(run); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.run.Process.Pid, s.run.Process.Pid))
		if children := strings.Fields(string(b)); len(children) == workers {
			s.worker, err = strconv.Atoi(children[0])
			return s, err
		}
	}
	return nil, errors.Join(fmt.Errorf("nginx has not %d workers after 5 s", workers), s.stop())
}

// cpu is the CPU time that the worker has used, as the scheduler counts it.
func (s *server) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", s.worker))
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
	return time.Duration(n), err
}

// load asks for a path over N connections until the context ends, and counts the answers.
func (s *server) load(ctx context.Context, path string, connections int) (answers int, err error) {
	var lock sync.Mutex
	var wait sync.WaitGroup
	for range connections {
		wait.Go(func() {
			n, e := s.ask(ctx, path)
			lock.Lock()
			defer lock.Unlock()
			answers, err = answers+n, errors.Join(err, e)
		})
	}
	wait.Wait()
	return answers, err
}

func (s *server) ask(ctx context.Context, path string) (answers int, err error) {
	c, err := net.Dial("unix", filepath.Join(s.folder, "s"))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: probe\r\n\r\n")
	for r := bufio.NewReader(c); ctx.Err() == nil; answers++ {
		if _, err := c.Write(request); err != nil {
			return answers, err
		}
		response, err := http.ReadResponse(r, nil)
		if err != nil {
			return answers, err
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
			return answers, fmt.Errorf("%s: status %d: %w", path, response.StatusCode, err)
		}
	}
	return answers, nil
}
