package probe

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// ErrHidden is the error of a kernel that does not tell where its functions are.
var ErrHidden = errors.New("the kernel hides its functions' addresses: that takes root or CAP_SYSLOG, and kernel.kptr_restrict " +
	"of 1 or 0 (sysctl kernel.kptr_restrict)")

// Symbols are the kernel's functions.
type Symbols struct{ all []symbol }

type symbol struct {
	address uint64
	name    string
}

// KernelSymbols reads /proc/kallsyms.
func KernelSymbols() (*Symbols, error) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("names of kernel functions: %w", err)
	}
	defer f.Close()
	return readSymbols(f)
}

// readSymbols reads lines such as "ffffffff81000000 T startup_64", with the module's name behind, if
// it is of one.
func readSymbols(from io.Reader) (*Symbols, error) {
	var s Symbols
	hidden := false
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || !strings.Contains("tTwW", fields[1]) {
			continue
		}
		address, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil {
			continue
		}
		if address == 0 {
			hidden = true
			continue
		}
		s.all = append(s.all, symbol{address, strings.Clone(fields[2])})
	}
	slices.SortStableFunc(s.all, func(a, b symbol) int { return cmp.Compare(a.address, b.address) })
	switch {
	case lines.Err() != nil:
		return nil, fmt.Errorf("names of kernel functions: %w", lines.Err())
	case len(s.all) == 0 && hidden:
		return nil, ErrHidden
	case len(s.all) == 0:
		return nil, errors.New("/proc/kallsyms names no function")
	}
	return &s, nil
}

// Name is the function that an address belongs to; "" below the first one.
func (s *Symbols) Name(address uint64) string {
	i, found := slices.BinarySearchFunc(s.all, address, func(s symbol, a uint64) int { return cmp.Compare(s.address, a) })
	if !found {
		i--
	}
	if i < 0 {
		return ""
	}
	return s.all[i].name
}
