package harm

import (
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
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
	{"debugged", debugged, nil},
	{"doubled", doubled, nil},
	{"worker_killed", workerKilled, nil},
	{"worker_ends_at_step", endsAtStep, stepped},
	{"worker_stopped", workerStopped, nil},
	{"worker_debugged", workerDebugged, nil},
	{"reloaded", reloaded, nil},
	{"starved", starved, startsStarved},
	{"upgraded", upgraded, nil},
	{"forked", forked, nil},
	{"growing", growing, nil},
	{"blinded", refuses, blinded},
	{"namespace", nothing, inNamespace},
	{"proc_hidden", hidden, procHidden},
	{"proc_of_others_hidden", hidden, othersHidden},
}

const (
	mainVariable  = "MOONLAP_HARM_MAIN" // makes this program moonlap
	timesVariable = "MOONLAP_HARM"
)

func TestMain(m *testing.M) {
	if words := os.Getenv(stepVariable); words != "" {
		os.Exit(endAtStep(words, os.Args[1:]))
	}
	if os.Getenv(rejectVariable) != "" {
		rejectGoodEnds()
	}
	if os.Getenv(mainVariable) != "" {
		os.Exit(cli.Main(cli.Interruptible(), cli.RealSys(), os.Args[1:]))
	}
	flag.Parse()
	flag.Set("test.parallel", "4") // they wait, mostly
	os.Exit(m.Run())
}

// TestHarm has each fault happen to commands, at random moments: once in the gate, to a command that the seed chooses; MOONLAP_HARM
// times in the long form, to one after another. MOONLAP_HARM_SEED repeats a failure, MOONLAP_HARM_COMMAND chooses one command by
// its name in the list.
func TestHarm(t *testing.T) {
	t.Parallel()
	times := 1
	if text := os.Getenv(timesVariable); text != "" {
		var err error
		if times, err = strconv.Atoi(text); err != nil || times < 1 {
			t.Fatalf("%s is %q: how many times shall each fault happen?", timesVariable, text)
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
	t.Logf("%s=%d MOONLAP_HARM_SEED=%d repeats it", timesVariable, times, seed)
	var counted tallies
	var order []string
	t.Cleanup(func() {
		var table strings.Builder
		counted.write(&table, order)
		t.Logf("%v\n%s", time.Now().UTC().Format(time.DateOnly), table.String())
	})
	beds := &beds{owner: t}
	for i, f := range faults {
		order = append(order, f.name)
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			var b *bed
			if f.name == "starved" { // it takes one of its own
				group, start := starvable(t)
				b = newBed(t, t, start...)
				b.group = group
			} else {
				b = beds.take(t)
			}
			first := r.IntN(len(chosen))
			// One that came too late, because moonlap had ended, does not count.
			for n, late := 0, 0; n < times && late < 3*times; {
				c := chosen[(first+n+late)%len(chosen)]
				after := time.Duration(r.Int64N(int64(span() + 200*time.Millisecond)))
				var before []string
				b.early = false
				if f.before != nil {
					before = f.before(b, r)
				}
				requests := b.load.answered()
				l := b.look(c.line, before...)
				l.stay(after)
				l.known = l.processes()
				held := r.IntN(2) == 0 && b.aim(l)
				looking := !l.stay(0)
				err := f.happen(b, l, r)
				if e := l.finish(); err == nil {
					err = e
				}
				w := b.settled(l)
				counted.add(f.name, looking, held, b.load.answered()-requests, w, err)
				if e := w.err(); e != nil || err != nil {
					t.Errorf("%s %s after %v, number %d: %v\n%v", c.name, f.name, after, n, err, e)
				}
				if !repaired(b) {
					t.Fatal("the workers cannot be brought back")
				}
				if n++; (!looking || l.late) && !b.early {
					n, late = n-1, late+1
				}
			}
			if b.group == nil {
				beds.give(b)
			}
			var row strings.Builder // a long run may be ended before the whole table is there
			counted.write(&row, []string{f.name})
			t.Log(row.String())
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
