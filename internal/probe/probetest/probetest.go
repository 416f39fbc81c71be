// Package probetest tells tests whether this machine lets them sample through eBPF.
package probetest

import (
	"errors"
	"os"
	"testing"

	"github.com/moonlap/moonlap/internal/probe"
)

// Works reports whether it does, and why not. With MOONLAP_TEST_REQUIRE_ALL set, it is an error where
// nothing is missing that it takes: then the programs are at fault.
func Works() (ok bool, why, err error) {
	session, why := probe.Open()
	if why == nil {
		return true, nil, session.Close()
	}
	if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" && !errors.Is(why, probe.ErrForbidden) {
		return false, why, why
	}
	return false, why, nil
}

// Need skips a test where this machine does not let it sample through eBPF. With MOONLAP_TEST_REQUIRE_ALL set, the test fails where
// nothing is missing that it takes.
func Need(t *testing.T) {
	t.Helper()
	ok, why, err := Works()
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Skip(why)
	}
}
