package process

import "fmt"

// An End is how a process ended.
type End struct {
	Known  bool   `json:"known"`            // the kernel tells; else the rest is empty
	Status int    `json:"status"`           // that it exited with, where no signal ended it
	Signal string `json:"signal,omitempty"` // that ended it: SIGSEGV; "": none did
}

// Well reports that the process exited as it meant to.
func (e End) Well() bool { return e.Known && e.Signal == "" && e.Status == 0 }

// String puts it into words: "was ended by SIGSEGV".
func (e End) String() string {
	switch {
	case !e.Known:
		return "ended; how, only its parent knows: see nginx's error log"
	case e.Signal != "":
		return "was ended by " + e.Signal
	}
	return fmt.Sprintf("exited with status %d", e.Status)
}
