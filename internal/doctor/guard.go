package doctor

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// GuardCommand is the hidden command by which moonlap starts itself as the guardian.
const GuardCommand = "doctor-guard"

// Guard is the guardian: a process that changes the settings it reads from in, tells so on
// out, and waits until in ends, which is when the one who started it has ended, however.
// Then it puts the settings back. It listens to no signal that can be ignored.
func Guard(in io.Reader, out io.Writer, file, root string) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	lines := bufio.NewReader(in)
	plan, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no settings to guard: %w", err)
	}
	var settings []Setting
	if err := json.Unmarshal(plan, &settings); err != nil {
		return fmt.Errorf("the settings to guard: %w", err)
	}
	for _, s := range settings {
		if err := s.check(); err != nil {
			return fmt.Errorf("the settings to guard: %w", err)
		}
	}
	f, err := openState(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if done, err := repair(f, root); err != nil {
		return err
	} else {
		tell(out, done)
	}
	// First what to put back, then the change: nothing is ever changed that nobody knows of.
	if err := put(f, &state{bootID(root), settings}); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var set []string
	for _, s := range settings {
		if err := write(s.file(root), s.New); err != nil {
			tell(out, []string{fmt.Sprintf("%s could not be set: %v", s.name(), err)})
			continue
		}
		set = append(set, fmt.Sprintf("%s is %s, was %s", s.name(), s.New, s.Old))
	}
	tell(out, append(set, ready))
	io.Copy(io.Discard, lines)
	done, err := repair(f, root)
	tell(out, done)
	return err
}

// ready is what the guardian says when the settings are made.
const ready = "ready"

// tell writes lines, to nobody where nobody is left.
func tell(out io.Writer, lines []string) {
	for _, l := range lines {
		fmt.Fprintln(out, l)
	}
}

func openState(file string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	return lock(file, os.O_CREATE)
}

// A Guardian is the parent's end of one.
type Guardian struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr strings.Builder
}

// StartGuardian starts this program again as the guardian of the settings, and returns,
// when they are made, what it has done. The guardian leads a session of its own, so that
// no signal to our process group, and no end of our terminal, reaches it.
func StartGuardian(settings []Setting, file, root string) (*Guardian, []string, error) {
	g := &Guardian{cmd: exec.Command("/proc/self/exe", GuardCommand, "--state", file, "--root", root)}
	g.cmd.Args[0] = os.Args[0]
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	g.cmd.Stderr = &g.stderr
	g.cmd.WaitDelay = time.Second
	var err error
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	g.out = bufio.NewReader(out)
	if err := g.cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("no guardian: %w", err)
	}
	plan, err := json.Marshal(settings)
	if err == nil {
		_, err = g.in.Write(append(plan, '\n'))
	}
	said := g.hear()
	if err != nil || len(said) == 0 || said[len(said)-1] != ready {
		more, failed := g.Stop()
		return nil, append(said, more...), errors.Join(err, failed, errors.New("the guardian ended before it had begun"))
	}
	return g, said[:len(said)-1], nil
}

// hear returns lines until the guardian is ready or has no more to say.
func (g *Guardian) hear() (said []string) {
	for {
		line, err := g.out.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			said = append(said, line)
		}
		if err != nil || line == ready {
			return said
		}
	}
}

// Stop lets the guardian put everything back and returns what it has done.
func (g *Guardian) Stop() ([]string, error) {
	g.in.Close()
	said := g.hear()
	if err := g.cmd.Wait(); err != nil {
		text := cmp.Or(strings.TrimSpace(g.stderr.String()), err.Error())
		return said, errors.New(strings.TrimPrefix(text, "moonlap: "))
	}
	return said, nil
}
