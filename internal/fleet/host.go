// Package fleet has a command run on many hosts at once: by ssh, or by Slurm's srun. The program and the files of the
// run travel there, each host's record streams back, and nothing stays on the host.
package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Host is one place to measure on.
type Host struct {
	Name string
	// Shell is the command that has sh run a script there. The script has no single quotes.
	Shell func(script string) []string
	// Patience is how long the host may take until it is ready: to log in, or to get a node of a queue.
	Patience time.Duration
	// Why says why a node has not come yet, as far as that is known; nil: the host is no node of a queue.
	Why func() string
}

// ssh asks for no password, so that a run that waits for one ends, and notices a lost connection within 20 s.
var ssh = []string{"ssh", "-T", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=4"}

// srun starts one task on a node of its own; Slurm hands its stdin, its output and its exit status on.
var srun = []string{"srun", "--quiet", "--nodes=1", "--ntasks=1", "--exclusive", "--unbuffered", "--kill-on-bad-exit=1"}

// How long hosts may take until they are ready, where --on says nothing.
const (
	toLogIn = time.Minute
	inQueue = 10 * time.Minute
)

// Hosts reads the value of --on: "ssh:HOST,HOST…" with what ssh takes for a host, or "slurm:OPTION=VALUE,…". Of
// Slurm's options, nodes is how many, wait how long a node may take to come, and all others are srun's.
func Hosts(on string) ([]Host, error) {
	kind, rest, _ := strings.Cut(on, ":")
	switch kind {
	case "ssh":
		return sshHosts(rest)
	case "slurm":
		return slurmHosts(rest)
	}
	return nil, fmt.Errorf("%q: give ssh:HOST,HOST… or slurm:nodes=N,…", on)
}

func sshHosts(list string) ([]Host, error) {
	var hosts []Host
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
			return nil, fmt.Errorf("ssh:%s: a host's name is missing", list)
		case strings.HasPrefix(name, "-"):
			return nil, fmt.Errorf("ssh:%s: %q is an option, not a host; options belong into ~/.ssh/config", list, name)
		case slices.ContainsFunc(hosts, func(h Host) bool { return h.Name == name }):
			return nil, fmt.Errorf("ssh:%s: %s stands there twice", list, name)
		}
		hosts = append(hosts, Host{Name: name, Patience: toLogIn, Shell: func(script string) []string {
			return append(slices.Clone(ssh), "--", name, "exec sh -c '"+script+"'") // the user's shell may be no sh
		}})
	}
	return hosts, nil
}

func slurmHosts(list string) ([]Host, error) {
	nodes, patience := 2, inQueue
	var options []string
	for option := range strings.SplitSeq(list, ",") {
		name, value, given := strings.Cut(strings.TrimSpace(option), "=")
		var err error
		switch {
		case list == "":
		case name == "" || strings.HasPrefix(name, "-"):
			return nil, fmt.Errorf("slurm:%s: write options as in slurm:nodes=4,partition=measure", list)
		case name == "nodes":
			if nodes, err = strconv.Atoi(value); err != nil || nodes < 1 || nodes > 1000 {
				return nil, fmt.Errorf("slurm:%s: nodes is a number from 1 to 1000", list)
			}
		case name == "wait":
			if patience, err = time.ParseDuration(value); err != nil || patience <= 0 {
				return nil, fmt.Errorf("slurm:%s: wait is a duration, as in wait=5m", list)
			}
		case given:
			options = append(options, "--"+name+"="+value)
		default:
			options = append(options, "--"+name)
		}
	}
	hosts := make([]Host, nodes)
	for i := range hosts {
		job := fmt.Sprintf("moonlap-%s-%d", rand.Text(), i+1)
		hosts[i] = Host{
			Name: fmt.Sprintf("node%d", i+1), Patience: patience,
			Shell: func(script string) []string {
				own := []string{"--job-name=" + job} // the last one counts: the user's
				return slices.Concat(srun, own, options, []string{"sh", "-c", script})
			},
			Why: func() string { return pending(job) },
		}
	}
	return hosts, nil
}

// pending is why a job waits, as squeue knows it.
func pending(job string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "squeue", "--json").Output()
	if err != nil {
		return ""
	}
	return reason(out, job)
}

// reason reads why a job waits off squeue's JSON, in which newer versions give a list of states.
func reason(list []byte, job string) string {
	var queue struct {
		Jobs []struct {
			ID     int             `json:"job_id"`
			Name   string          `json:"name"`
			State  json.RawMessage `json:"job_state"`
			Reason string          `json:"state_reason"`
		} `json:"jobs"`
	}
	if json.Unmarshal(list, &queue) != nil {
		return ""
	}
	for _, j := range queue.Jobs {
		if j.Name == job {
			state := strings.ToLower(strings.Trim(string(j.State), "[]\" \n"))
			return fmt.Sprintf("job %d is %s, %s", j.ID, state, j.Reason)
		}
	}
	return ""
}
