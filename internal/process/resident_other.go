//go:build !linux

package process

import "os"

func scanPages(*os.File, Mapping, *pageList, func() bool) error { return errNoScan }

func (p *Process) filled() (map[uint64]int64, error) { return nil, nil }
