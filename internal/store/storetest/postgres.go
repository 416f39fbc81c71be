package storetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// A Postgres is a server of PostgreSQL with a database "moonlap". Who comes through its socket is believed; others, on a port of
// loopback, need the password of the user "team".
type Postgres struct {
	URL, Password string
	port          string
	folder        string
	programs      string
	credential    *syscall.Credential
	server        *exec.Cmd
}

// ErrNoPostgres says that PostgreSQL is not installed.
var ErrNoPostgres = errors.New("no PostgreSQL: run script/bootstrap test")

// StartPostgres makes a server in a new folder below that for temporary files, which Remove removes.
func StartPostgres() (p *Postgres, err error) {
	p = &Postgres{Password: "not-to-be-printed"}
	if p.programs, err = postgresPrograms(); err != nil {
		return nil, err
	}
	if p.folder, err = os.MkdirTemp("", "pg"); err != nil { // a socket's path is short
		return nil, err
	}
	if os.Getuid() == 0 { // as which PostgreSQL does not run
		if p.credential, err = someUser(); err == nil {
			err = os.Chown(p.folder, int(p.credential.Uid), int(p.credential.Gid))
		}
	}
	if err == nil {
		err = p.run("initdb", "--pgdata", p.folder+"/data", "--username", "postgres", "--auth", "trust", "--auth-host", "scram-sha-256",
			"--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8").Run()
	}
	listener, bad := net.Listen("tcp", "127.0.0.1:0")
	if err = errors.Join(err, bad); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.folder))
	}
	_, p.port, _ = net.SplitHostPort(listener.Addr().String())
	listener.Close()
	if err := p.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.folder))
	}
	p.URL = fmt.Sprintf("postgres://team@127.0.0.1:%s/moonlap?sslmode=disable", p.port)
	if _, err := p.SQL("postgres", fmt.Sprintf("CREATE ROLE team LOGIN PASSWORD '%s'", p.Password)); err != nil {
		return nil, errors.Join(err, p.Remove())
	}
	return p, nil
}

// Fresh makes the database anew, and empty.
func (p *Postgres) Fresh() error {
	for _, statement := range []string{"DROP DATABASE IF EXISTS moonlap WITH (FORCE)", "CREATE DATABASE moonlap OWNER team"} {
		if _, err := p.SQL("postgres", statement); err != nil {
			return err
		}
	}
	return nil
}

// FindPostgres is [ErrNoPostgres] where there is none to start.
func FindPostgres() error {
	_, err := postgresPrograms()
	return err
}

// postgresPrograms is the folder of the newest server's programs; Debian has them in none of the PATH.
func postgresPrograms() (string, error) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
		return filepath.Dir(slices.Max(found)), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrNoPostgres
	}
	return filepath.Dir(path), nil
}

// someUser is postgres, or nobody.
func someUser() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

func (p *Postgres) run(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.programs, program), args...)
	cmd.Dir = p.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential}
	return cmd
}

// Start starts the server again, where it was.
func (p *Postgres) Start() error {
	p.server = p.run("postgres", "-D", p.folder+"/data", "-k", p.folder, "-p", p.port, "-h", "127.0.0.1", "-F")
	log, err := os.Create(filepath.Join(p.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	p.server.Stderr = log
	if err := p.server.Start(); err != nil {
		return err
	}
	for range 600 {
		if _, err := p.SQL("postgres", "SELECT 1"); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.Stop()
	text, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the server does not answer: %s", text)
}

// Stop ends the server at once, with its connections; what it has stays.
func (p *Postgres) Stop() {
	p.server.Process.Signal(syscall.SIGINT)
	p.server.Wait()
}

// Remove ends the server and removes all of it.
func (p *Postgres) Remove() error {
	p.Stop()
	return os.RemoveAll(p.folder)
}

// Signal reaches all processes of the server: SIGSTOP has it hang.
func (p *Postgres) Signal(signal syscall.Signal) { p.server.Process.Signal(signal) }

// SQL runs statements as the server's owner, and returns what they print.
func (p *Postgres) SQL(database, statements string) (string, error) {
	cmd := p.run("psql", "-h", p.folder, "-p", p.port, "-U", "postgres", "-d", database, "-X", "-At", "-v", "ON_ERROR_STOP=1", "-c", statements)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return string(out), err
}
