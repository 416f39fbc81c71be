package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A profile is what `moonlap profile` writes as JSON, as far as it is looked into.
type profile struct {
	Head     struct{ Failed, Lost int } // samples without a stack, and those that were not taken in time
	Stacks   []stack
	Evidence struct {
		Resumes struct {
			Phases []struct {
				Phase string
				Own   struct {
					Count   int
					Median  float64 `json:"p50_ns"`
					Longest float64 `json:"longest_ns"`
				}
			}
		}
	}
}

// A stack was sampled Count times; the outermost frame is its first.
type stack struct {
	Count  int
	Labels map[string]string
	Frames []frame
}

type frame struct{ Function, File, Kind string }

// profile has the workers profiled through eBPF.
func (s *server) profile(moonlap string, flags ...string) (profile, error) {
	var p profile
	file := filepath.Join(s.folder, "profile.json")
	flags = append([]string{"profile", "--by", "ebpf", "--master", fmt.Sprint(s.run.Process.Pid), "--out", file}, flags...)
	if out, err := exec.Command(moonlap, flags...).CombinedOutput(); err != nil {
		return p, fmt.Errorf("%w\n%s", err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(b, &p)
}
