package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/runtime"
)

// Command is moonlap's hidden command that serves a run on a host. Its argument is the host's temporary folder.
const Command = "serve-host"

// What goes over the wire, after the program: an order as a line of JSON, the files, then single bytes; back comes
// [ready], then what the run writes.
const (
	ready     = "moonlap is ready on " // and what the host calls itself
	begin     = 'b'                    // all hosts are ready
	start     = 's'                    // of a [Meeting]: all runs are ready; the run gets a line on its stdin
	enough    = 'e'                    // of a [Meeting]: the run's stdin ends
	interrupt = 'i'
	alive     = '.' // every beat
)

// Silence is how long nothing may be heard of the other side until it is gone, where a [Job] says nothing.
const Silence = 30 * time.Second

// pulse is what a host writes on stderr every [beat], so that who started it knows that it is there.
const pulse = "moonlap is alive"

const grace = 10 * time.Second // for a run that was interrupted to write what it has

// beat is how often each side says that it lives.
func beat(silence time.Duration) time.Duration { return silence / 15 }

// An order says what a host runs.
type order struct {
	Args    []string `json:"args"`
	Dir     string   `json:"dir"`
	Archive int64    `json:"archive"` // bytes of the files that follow
	Meets   bool     `json:"meets,omitempty"`

	// EndsJob: the run is all that its job of Slurm is for. In a user's own allocation it is not.
	EndsJob bool          `json:"ends_job,omitempty"`
	Silence time.Duration `json:"silence"`
}

// prefix begins the names of hosts' temporary folders.
const prefix = "moonlap-host."

// arrival is how many times a silence the program may take to arrive, and the files again.
const arrival = 10

// processors are what uname calls those that moonlap is built for.
var processors = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// script has a shell receive the program, of size bytes packed, and start it as [Serve]. What it cannot do it says, and
// the folder goes. The shell stays, and removes the folder when the program is killed. It is one line without single quotes
// and exclamation marks, as the user's shell may be no sh. A folder serves that takes room bytes, and runs programs.
func script(size int, room int64, silence time.Duration) string {
	return strings.NewReplacer(
		"\n", " ", "PROCESSOR", processors[goruntime.GOARCH], "PREFIX", prefix, "COMMAND", Command, "SIZE", fmt.Sprint(size),
		"ROOM", fmt.Sprint(room>>10), "SECONDS", fmt.Sprint(int(math.Ceil((arrival * silence).Seconds()))),
	).Replace(`umask 077;
[ "$(uname -m)" = PROCESSOR ] || { echo "this host is $(uname -sm): the moonlap that travels is for Linux on PROCESSOR" >&2; exit 1; };
d=; why=; trap "rm -rf \"\$d\"; exit 143" TERM HUP;
for f in "${TMPDIR:-/tmp}" /tmp /var/tmp "$HOME"; do
  d=$(mktemp -d "$f/PREFIXXXXXXXXX" 2>/dev/null) || { d=; why="$why; $f cannot be written"; continue; };
  if { echo : > "$d/try" && chmod 700 "$d/try" && "$d/try"; } 2>/dev/null; then
    if df -Pk "$d" | { read -r x; read -r x x x k x; [ "${k:-ROOM}" -ge ROOM ]; } then break; fi;
    why="$why; $f has no room for ROOM kB";
  else why="$why; $f is full, or runs no programs (noexec)"; fi;
  rm -rf "$d"; d=;
done;
[ -n "$d" ] || { echo "no folder here takes the program${why}" >&2; exit 1; };
t=; if command -v timeout >/dev/null; then t="timeout SECONDS"; fi;
$t head -c SIZE | gzip -dc > "$d/moonlap" && chmod 700 "$d/moonlap" && "$d/moonlap" COMMAND "$d";
s=$?; [ $s -lt 128 ] || sleep 2;
for i in 1 2 3 4 5; do rm -rf "$d"; [ -e "$d" ] || break; sleep 1; done; exit $s`)
}

// Serve is the host's side of a run: it receives the files into folder, waits for the beginning, runs program there and
// removes the folder, whatever happens. It returns the exit status of the run. When the other side is gone, the run is
// interrupted.
func Serve(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, folder string) (int, error) {
	lock, err := own(folder)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	defer os.RemoveAll(folder)
	removeStale(filepath.Dir(folder))
	in := bufio.NewReader(stdin)
	o, err := receiveSoon(ctx, in, folder)
	if err != nil {
		return 0, fmt.Errorf("the files did not arrive: %w", err)
	}
	if _, err := io.WriteString(stdout, ready+nodeName()+"\n"); err != nil {
		return 0, err
	}
	var lost atomic.Bool
	calls := listen(in, o.Silence, &lost)
	defer func() {
		if id := os.Getenv("SLURM_JOB_ID"); o.EndsJob && lost.Load() && id != "" {
			os.RemoveAll(folder)
			exec.Command("scancel", id).Run() // an srun that was killed has not: the node would stay allocated
		}
	}()
	defer pulsing(stderr, o.Silence)()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case c := <-calls:
		if c != begin {
			return 0, context.Canceled
		}
	}
	return run(ctx, o, folder, calls, stdout, stderr)
}

// nodeName is what Slurm calls this host, or it itself.
func nodeName() string {
	if name := os.Getenv("SLURMD_NODENAME"); name != "" {
		return name
	}
	name, _ := os.Hostname()
	return name
}

// own locks a host's folder, for [removeStale] to know that it is in use.
func own(folder string) (*os.File, error) {
	lock, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	return lock, unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// removeStale removes the folders of runs that were killed: no process holds them.
func removeStale(among string) {
	folders, _ := filepath.Glob(filepath.Join(among, prefix+"*"))
	for _, folder := range folders {
		info, err := os.Lstat(folder)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute { // it may just have been made
			continue
		}
		if lock, err := own(folder); err == nil {
			os.RemoveAll(folder)
			lock.Close()
		} else if lock != nil {
			lock.Close()
		}
	}
}

// receiveSoon receives the files, unless that takes too long: a connection may be silent for ever.
func receiveSoon(ctx context.Context, in *bufio.Reader, folder string) (order, error) {
	ctx, cancel := context.WithTimeout(ctx, arrival*Silence)
	defer cancel()
	type received struct {
		order
		err error
	}
	all := make(chan received, 1)
	go func() {
		o, err := receive(in, folder)
		all <- received{o, err}
	}()
	select {
	case r := <-all:
		return r.order, r.err
	case <-ctx.Done():
		return order{}, ctx.Err()
	}
}

func receive(in *bufio.Reader, folder string) (o order, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return o, err
	}
	if o.Silence <= 0 {
		o.Silence = Silence
	}
	tree := filepath.Join(folder, "files")
	if err := errors.Join(os.Mkdir(tree, 0o700), os.Mkdir(filepath.Join(folder, "tmp"), 0o700)); err != nil {
		return o, err
	}
	files := io.LimitReader(in, o.Archive)
	if err := unpack(files, tree); err != nil {
		return o, err
	}
	_, err = io.Copy(io.Discard, files) // padding
	return o, errors.Join(err, os.MkdirAll(filepath.Join(tree, o.Dir), 0o700))
}

// pulsing writes a line every beat until stop is called.
func pulsing(w io.Writer, silence time.Duration) (stop func()) {
	ended := make(chan struct{})
	go func() {
		tick := time.NewTicker(beat(silence))
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				io.WriteString(w, pulse+"\n") // it may wait for long where the other side is gone
			}
		}
	}()
	return func() { close(ended) }
}

// listen hands on what the other side calls, and that it is gone, which it notes, as an interrupt.
func listen(in *bufio.Reader, silence time.Duration, lost *atomic.Bool) <-chan byte {
	calls, bytes := make(chan byte, 1), make(chan byte)
	go func() {
		defer close(bytes)
		for {
			c, err := in.ReadByte()
			if err != nil {
				return
			}
			bytes <- c
		}
	}()
	go func() {
		for {
			select {
			case c, open := <-bytes:
				switch {
				case !open:
					lost.Store(true)
					calls <- interrupt
					return
				case c != alive:
					calls <- c
				}
			case <-time.After(silence):
				lost.Store(true)
				calls <- interrupt
				return
			}
		}
	}()
	return calls
}

// run runs the program until it ends or is called off. Its temporary files and caches lie in the folder.
func run(ctx context.Context, o order, folder string, calls <-chan byte, stdout, stderr io.Writer) (int, error) {
	cmd := exec.Command(filepath.Join(folder, "moonlap"), o.Args...)
	cmd.Dir = filepath.Join(folder, "files", o.Dir)
	cmd.Env = append(runtime.GuardedEnv(), "TMPDIR="+filepath.Join(folder, "tmp"),
		"XDG_CACHE_HOME="+filepath.Join(folder, "cache"), "XDG_DATA_HOME="+filepath.Join(folder, "data"))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var in io.WriteCloser
	if o.Meets {
		var err error
		if in, err = cmd.StdinPipe(); err != nil {
			return 0, err
		}
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if release, err := runtime.Guard(cmd.Process.Pid); err == nil {
		defer release()
	}
	ended := make(chan struct{})
	var stopping sync.Once
	stop := func() {
		stopping.Do(func() {
			cmd.Process.Signal(os.Interrupt)
			time.AfterFunc(grace, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		})
	}
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-ctx.Done():
				stop()
				return
			case c := <-calls:
				switch {
				case c == start && in != nil:
					io.WriteString(in, "\n")
				case c == enough && in != nil:
					in.Close()
				default:
					stop()
				}
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left of its group
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	return 0, fmt.Errorf("the run ended by %v", cmd.ProcessState)
}
