package exec

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestTwinThatFails: a guessed twin that fails is dropped; one that was asked for is an error.
func TestTwinThatFails(t *testing.T) {
	o := Options{Timeout: time.Minute, Path: os.Getenv("PATH"), Commands: []Command{
		{Name: "x", Args: []string{"true"}, Empty: []string{"false"}, Guessed: true},
	}}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, has := c.Twin(0); has || c.Cases()[0].Params != nil {
		t.Errorf("guessed: twins %v, case %+v", twins, c.Cases()[0])
	}
	o.Commands[0].Guessed = false
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "exited with status 1") {
		t.Errorf("asked for: %v", err)
	}
}
