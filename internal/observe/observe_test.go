package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/sample"
)

// fake runs until its context ends, or fails at once.
type fake struct {
	fails  error
	closed *bool
}

func (f fake) Run(ctx context.Context) error {
	if f.fails != nil {
		return f.fails
	}
	<-ctx.Done()
	return nil
}

func (f fake) Result() (evidence.Result, error) { return nil, f.fails }
func (f fake) Samples() []sample.Sample         { return []sample.Sample{{InUse: 7}} }
func (f fake) Close()                           { *f.closed = true }

func kind(name string, o Observer, err error) Kind {
	return Kind{Name: name, Observe: func(At) (Observer, error) { return o, err }}
}

// TestObserving: a kind that cannot be observed is refused by name while the others go on; Stop ends these, and not what is sampled
// meanwhile; Close closes them.
func TestObserving(t *testing.T) {
	closed := false
	o := Begin(t.Context(), At{}, []Kind{kind("good", fake{closed: &closed}, nil), kind("bad", nil, errors.New("no eBPF"))})
	if err := o.Refused(); err == nil || !strings.Contains(err.Error(), "--bad: no eBPF") {
		t.Error(err)
	}
	o.Stop()
	if o.Err() != nil {
		t.Errorf("Stop has ended what is sampled: %v", o.Err())
	}
	results, err := o.Results()
	if _, there := results["good"]; !there || len(results) != 1 || err == nil {
		t.Errorf("%v, %v", results, err)
	}
	if all := o.Samples(); len(all) != 1 || all[0].InUse != 7 {
		t.Errorf("%+v", all)
	}
	if o.Close(); !closed {
		t.Error("it was not closed")
	}
}

// TestFailing: an observer that fails ends what is sampled meanwhile, and its error comes with the results.
func TestFailing(t *testing.T) {
	closed := false
	o := Begin(t.Context(), At{}, []Kind{kind("late", fake{errors.New("detached"), &closed}, nil)})
	defer o.Close()
	select {
	case <-o.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
	if _, err := o.Results(); err == nil || !strings.Contains(err.Error(), "--late: detached") {
		t.Error(err)
	}
}
