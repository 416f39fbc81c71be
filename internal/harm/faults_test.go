package harm

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/cli"
)

// faults are the kinds of accidents. A fault happens once, while l looks, at the moment that it is called; what moonlap or the
// workers must still be while it lasts is its own error.
var faults = []struct {
	name   string
	happen func(b *bed, l *look, r *rand.Rand) error
	before func(b *bed, r *rand.Rand) []string // words before moonlap's, by which it is started; nil: none
}{
	{"nothing", nothing, nil},
	{"killed", killed, nil},
	{"interrupted", interrupted, nil},
	{"stopped", stopped, nil},
	{"suspended", suspended, nil},
	{"frozen", frozen, freezable},
	{"doubled", doubled, nil},
	{"worker_killed", workerKilled, nil},
	{"worker_stopped", workerStopped, nil},
	{"reloaded", reloaded, nil},
	{"starved", starved, nil},
	{"upgraded", upgraded, nil},
	{"forked", forked, nil},
	{"namespace", nothing, inNamespace},
	{"proc_hidden", hidden, procHidden},
}

// mainVariable makes this program moonlap.
const mainVariable = "MOONLAP_HARM_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		os.Exit(cli.Main(cli.Interruptible(), cli.RealSys(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// TestHarm has each fault happen to each command, at random moments: once in the gate, MOONLAP_HARM times in the long form.
// MOONLAP_HARM_SEED repeats a failure, MOONLAP_HARM_COMMAND chooses one command by its name in the list.
func TestHarm(t *testing.T) {
	times := 1
	if text := os.Getenv("MOONLAP_HARM"); text != "" {
		var err error
		if times, err = strconv.Atoi(text); err != nil || times < 1 {
			t.Fatalf("MOONLAP_HARM is %q: how many times shall each fault happen?", text)
		}
	}
	seed := rand.Uint64()
	if text := os.Getenv("MOONLAP_HARM_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("MOONLAP_HARM_SEED is %q, no number", text)
		}
	}
	chosen := commands
	if name := os.Getenv("MOONLAP_HARM_COMMAND"); name != "" {
		if chosen = slices.DeleteFunc(slices.Clone(commands), func(c command) bool { return c.name != name }); len(chosen) == 0 {
			t.Fatalf("MOONLAP_HARM_COMMAND is %q, which is none of %v", name, commands)
		}
	}
	for i, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Logf("MOONLAP_HARM=%d MOONLAP_HARM_SEED=%d repeats it", times, seed)
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			b := newBed(t)
			first := r.IntN(len(chosen))
			for n := range times {
				c := chosen[(first+n)%len(chosen)]
				after := time.Duration(r.Int64N(int64(1200 * time.Millisecond)))
				var before []string
				if f.before != nil {
					before = f.before(b, r)
				}
				l := b.look(c.line, before...)
				if l.stay(after); r.IntN(2) == 0 {
					b.aim(l)
				}
				err := f.happen(b, l, r)
				if e := l.finish(); err == nil {
					err = e
				}
				if e := b.settled(l); err == nil {
					err = e
				}
				if err != nil {
					t.Errorf("%s %s after %v, number %d: %v", c.name, f.name, after, n, err)
				}
				if !repaired(b) {
					t.Fatal("the workers cannot be brought back")
				}
			}
		})
	}
}

// repaired has workers that stand still run again, so that the next fault finds a sound bed.
func repaired(b *bed) bool {
	b.load.losses()
	if b.healthy() == nil {
		return true
	}
	b.thaw()
	return awaited(b.healthy) == nil
}
