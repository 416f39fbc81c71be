// Package storetest starts the servers of a team's history, for tests: S3-compatible storage and PostgreSQL.
package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// An S3 is a server of S3-compatible storage, Versity S3 Gateway, with an empty bucket.
type S3 struct {
	Endpoint, Bucket, Key, Secret string
	program, folder               string
	server                        *exec.Cmd
}

// StartS3 starts a server whose objects are files below a folder. The first call on a machine builds it, from script/s3.
func StartS3(folder string) (*S3, error) {
	_, here, _, _ := runtime.Caller(0)
	build := exec.Command("go", "tool", "-n", "versitygw")
	build.Dir = filepath.Join(filepath.Dir(here), "../../../script/s3")
	out, err := build.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		return nil, fmt.Errorf("the server cannot be built in %s: %w\n%s", build.Dir, err, exit.Stderr)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	listener.Close()
	s := &S3{Endpoint: "http://" + address, Bucket: "figures", Key: "moonlap", Secret: "not-to-be-printed", program: strings.TrimSpace(string(out)), folder: folder}
	if err := os.MkdirAll(filepath.Join(folder, s.Bucket), 0o755); err != nil {
		return nil, err
	}
	return s, s.Start()
}

// Start starts the server again, where it was. Its state is in files alone.
func (s *S3) Start() error {
	address := strings.TrimPrefix(s.Endpoint, "http://")
	s.server = exec.Command(s.program, "--quiet", "--port", address, "--access", s.Key, "--secret", s.Secret,
		"posix", "--nometa", s.folder)
	var said bytes.Buffer
	s.server.Stdout, s.server.Stderr = &said, &said
	if err := s.server.Start(); err != nil {
		return err
	}
	for range 600 {
		if answer, err := http.Get(s.Endpoint); err == nil {
			answer.Body.Close()
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.Stop()
	return fmt.Errorf("the server does not answer: %s", &said)
}

// Stop kills the server; what it has stays.
func (s *S3) Stop() {
	s.server.Process.Kill()
	s.server.Wait()
}

// Getenv is an environment with the server and its key, and with others' variables, "NAME=value".
func (s *S3) Getenv(others ...string) func(string) string {
	own := []string{"AWS_ENDPOINT_URL=" + s.Endpoint, "AWS_ACCESS_KEY_ID=" + s.Key, "AWS_SECRET_ACCESS_KEY=" + s.Secret}
	return Getenv(append(own, others...)...)
}

// Getenv is an environment of variables, "NAME=value". Of two with one name the last counts.
func Getenv(variables ...string) func(string) string {
	return func(name string) (value string) {
		for _, v := range variables {
			if n, is, _ := strings.Cut(v, "="); n == name {
				value = is
			}
		}
		return value
	}
}
