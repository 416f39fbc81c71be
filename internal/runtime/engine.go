package runtime

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// An Engine is a part of the Lua library that runs in LuaJIT and answers requests: they go to its stdin, and each answer is
// lines of JSON on its channel, of which the last has the type "done".
type Engine struct {
	c       *child
	folder  string
	stdin   *os.File
	answers *bufio.Reader
	said    *capture
	output  sync.WaitGroup
}

// mostAnswer is the longest line of an answer.
const mostAnswer = 16 << 20

// StartEngine starts one; main is the Lua that it runs. It must be closed.
func StartEngine(luajit record.Runtime, main string) (*Engine, error) {
	folder, err := newFolder()
	if err != nil {
		return nil, fmt.Errorf("no folder for temporary files: %w", err)
	}
	e := &Engine{folder: folder, said: &capture{}}
	if err := e.start(luajit, main); err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	return e, nil
}

func (e *Engine) start(luajit record.Runtime, main string) error {
	library, err := library(e.folder)
	if err != nil {
		return fmt.Errorf("no place for the Lua library: %w", err)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	e.c, err = startChild(childSpec{
		path: luajit.Path, name: luajitName, args: []string{"-e", main},
		env: environ("LUA_PATH="+luaPath(library)+";", "LUA_CPATH=", "LUA_INIT="),
		// Its stdin is a file, so that nobody copies it.
		stdin: theirs, channels: 1, parentDeath: syscall.SIGKILL, outliveOutputs: grace,
	})
	if err != nil {
		ours.Close()
		return fmt.Errorf("start %s: %w", luajit.Path, err)
	}
	e.stdin = ours
	e.answers = bufio.NewReaderSize(e.c.channels[0], 64<<10)
	e.output.Go(func() { io.Copy(e.said, e.c.stderr) })
	e.output.Go(func() { io.Copy(io.Discard, e.c.stdout) })
	return nil
}

// ErrEngine says that an engine died, or did not answer in time: no more can be asked of it.
var ErrEngine = errors.New("the engine does not answer")

// Ask hands over a request and calls each with the lines of its answer, up to done.
func (e *Engine) Ask(request []byte, timeout time.Duration, each func(line []byte) error) error {
	end := time.Now().Add(timeout)
	e.stdin.SetWriteDeadline(end)
	e.c.channels[0].SetReadDeadline(end)
	if _, err := e.stdin.Write(request); err != nil {
		return e.dead(timeout, err)
	}
	for {
		line, err := readLine(e.answers, mostAnswer)
		if err != nil {
			return e.dead(timeout, err)
		}
		if bytes.Contains(line, []byte(`"type":"done"`)) {
			return nil
		}
		if err := each(line); err != nil {
			return err
		}
	}
}

func (e *Engine) dead(timeout time.Duration, err error) error {
	select {
	case state := <-e.c.exited:
		e.c.exited <- state
		e.c.hurry(grace)
		e.output.Wait()
		said := ""
		if out := e.said.output(); out != nil {
			said = ": " + strings.TrimSpace(out.Head)
		}
		return fmt.Errorf("%w: it ended with %v%s", ErrEngine, state, said)
	case <-time.After(grace):
		return fmt.Errorf("%w within %v", ErrEngine, timeout)
	}
}

// Close ends the engine.
func (e *Engine) Close() {
	e.stdin.Close()
	select {
	case <-e.c.exited:
	case <-time.After(grace):
		e.c.kill()
		<-e.c.exited
	}
	e.c.hurry(grace)
	e.output.Wait()
	e.c.closePipes()
	os.RemoveAll(e.folder)
}
