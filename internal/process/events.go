package process

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// An Event is something that the kernel or the processor counts.
type Event string

// Events of the kernel, and those of the processor, which many virtual machines hide.
const (
	ContextSwitches Event = "context_switches"
	Migrations      Event = "cpu_migrations"
	MinorFaults     Event = "minor_faults" // page faults that needed no disk
	MajorFaults     Event = "major_faults"

	Cycles       Event = "cycles"
	Instructions Event = "instructions"
	Branches     Event = "branches"
	BranchMisses Event = "branch_misses"
	CacheMisses  Event = "cache_misses"
)

// SoftwareEvents and HardwareEvents are all of them, in the order in which they are shown.
var (
	SoftwareEvents = []Event{ContextSwitches, Migrations, MinorFaults, MajorFaults}
	HardwareEvents = []Event{Cycles, Instructions, Branches, BranchMisses, CacheMisses}
)

var eventConfigs = map[Event]unix.PerfEventAttr{
	ContextSwitches: {Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES},
	Migrations:      {Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_MIGRATIONS},
	MinorFaults:     {Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS_MIN},
	MajorFaults:     {Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	Cycles:          {Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES},
	Instructions:    {Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_INSTRUCTIONS},
	Branches:        {Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	BranchMisses:    {Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_BRANCH_MISSES},
	CacheMisses:     {Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CACHE_MISSES},
}

// EventCounts counts events of a process's main thread since it was opened, with perf_event_open(2).
// The process does not notice.
type EventCounts struct {
	// Missing are the events that cannot be counted here, with the reason.
	Missing map[Event]error
	open    map[Event]int // file descriptors
}

// CountEvents begins to count. Close the result afterwards.
func CountEvents(pid int) *EventCounts {
	c := &EventCounts{Missing: map[Event]error{}, open: map[Event]int{}}
	for event, attr := range eventConfigs {
		attr.Size = unix.PERF_ATTR_SIZE_VER0
		attr.Read_format = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING
		fd, err := unix.PerfEventOpen(&attr, pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		switch {
		case err == nil:
			c.open[event] = fd
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV):
			c.Missing[event] = errors.New("no such counter on this machine")
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
			c.Missing[event] = fmt.Errorf("run as root, or with CAP_PERFMON (%w)", err)
		default:
			c.Missing[event] = err
		}
	}
	return c
}

// Read returns the counts until now. Where the processor has fewer counters than events, each was
// counted for a part of the time, and is scaled up.
func (c *EventCounts) Read() map[Event]uint64 {
	counts := map[Event]uint64{}
	for event, fd := range c.open {
		var b [24]byte // value, time enabled, time running
		if n, err := unix.Read(fd, b[:]); err != nil || n != len(b) {
			continue
		}
		value, enabled, running := le(b[0:]), le(b[8:]), le(b[16:])
		if running > 0 && running < enabled {
			value = uint64(float64(value) * float64(enabled) / float64(running))
		}
		counts[event] = value
	}
	return counts
}

func le(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// Close ends the counting.
func (c *EventCounts) Close() {
	for _, fd := range c.open {
		unix.Close(fd)
	}
	c.open = nil
}
