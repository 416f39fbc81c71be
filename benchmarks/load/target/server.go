// Package target starts the server under load: an nginx of its own.
package target

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A Server is an nginx of its own with one worker, on the first processor; or another program: see StartProgram.
type Server struct {
	Folder    string
	Beside    func(pid int)     // called every Often while the engine runs; may be nil
	Began     time.Duration     // of the engine's first slice, by CLOCK_MONOTONIC
	addresses map[string]string // by scheme
	cmd       *exec.Cmd
}

// Often is how often Beside is called.
const Often = 200 * time.Millisecond

const conf = `daemon off;
worker_processes 1;
worker_cpu_affinity 1;
pid nginx.pid;
error_log error.log;
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server { listen %s; location / { return 200 "hello world\n"; } }
    server {
        listen %s ssl;
        ssl_certificate cert.pem;
        ssl_certificate_key key.pem;
        location / { return 200 "hello world\n"; }
    }
}
`

// Start starts one.
func Start() (*Server, error) {
	folder, err := os.MkdirTemp("", "moonlap-load-")
	if err != nil {
		return nil, err
	}
	s := &Server{Folder: folder, addresses: map[string]string{}}
	for _, scheme := range []string{"http", "https"} {
		if s.addresses[scheme], err = freeAddress(); err != nil {
			return nil, s.fail(err)
		}
	}
	key := exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3", "-subj", "/CN=localhost",
		"-keyout", "key.pem", "-out", "cert.pem")
	key.Dir = folder
	if out, err := key.CombinedOutput(); err != nil {
		return nil, s.fail(fmt.Errorf("openssl: %w\n%s", err, out))
	}
	text := fmt.Sprintf(conf, s.addresses["http"], s.addresses["https"])
	if err := os.WriteFile(filepath.Join(folder, "nginx.conf"), []byte(text), 0o644); err != nil {
		return nil, s.fail(err)
	}
	s.cmd = exec.Command("nginx", "-p", folder, "-c", "nginx.conf", "-e", "error.log")
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, s.fail(err)
	}
	for range 100 {
		if c, err := net.Dial("tcp", s.addresses["https"]); err == nil {
			c.Close()
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, s.fail(fmt.Errorf("nginx does not answer at %s", s.addresses["https"]))
}

// StartProgram compiles a server of one C file, and starts it. It prints the port that it listens at.
func StartProgram(source string) (*Server, error) {
	folder, err := os.MkdirTemp("", "moonlap-load-")
	if err != nil {
		return nil, err
	}
	s := &Server{Folder: folder}
	program := filepath.Join(folder, "server")
	if out, err := exec.Command("cc", "-O2", "-o", program, source).CombinedOutput(); err != nil {
		return nil, s.fail(fmt.Errorf("cc: %w\n%s", err, out))
	}
	s.cmd = exec.Command(program)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	port := 0
	if err == nil {
		_, err = fmt.Fscan(out, &port)
	}
	if err != nil {
		return nil, s.fail(fmt.Errorf("%s: %w", source, err))
	}
	s.addresses = map[string]string{"http": fmt.Sprintf("127.0.0.1:%d", port)}
	return s, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (s *Server) fail(err error) error {
	s.Close()
	return err
}

// Close ends the server and removes its folder.
func (s *Server) Close() {
	if s.cmd != nil && s.cmd.Process != nil {
		s.cmd.Process.Signal(syscall.SIGTERM) // a process in the background may have been told to ignore SIGINT
		s.cmd.Wait()
	}
	os.RemoveAll(s.Folder)
}

// Address of the server for a scheme, http or https.
func (s *Server) Address(scheme string) string { return s.addresses[scheme] }

// URL of a page of 12 bytes.
func (s *Server) URL(scheme string) string { return scheme + "://" + s.addresses[scheme] + "/" }

// Script writes a script once, and returns its path.
func (s *Server) Script(text string) (string, error) {
	path := filepath.Join(s.Folder, fmt.Sprintf("%x.lua", sha256.Sum256([]byte(text))))
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// Worker is the process number of nginx's worker.
func (s *Server) Worker() (pid int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", s.cmd.Process.Pid))
	if err == nil {
		_, err = fmt.Sscan(string(text), &pid)
	}
	return pid, err
}
