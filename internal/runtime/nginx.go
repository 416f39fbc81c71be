package runtime

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

func (p *Process) startNginx(ctx context.Context, library, job string) error {
	phase := cmp.Or(p.spec.Job.Phase, PhaseTimer)
	if !slices.Contains(Phases, phase) {
		return fmt.Errorf("no such phase: %q; there are %s", phase, strings.Join(Phases, ", "))
	}
	sock, err := newSocket(p.folder)
	if err != nil {
		return err
	}
	env := environ(append(uvShim(), "MOONLAP_JOB="+job, p.spec.Job.Pad(), "NGINX=", "NGINX_BPF_MAPS=")...)
	p.conf = p.newConf(library, phase, sock.path, env)
	c, err := p.startMaster(env)
	if err != nil {
		sock.close()
		return err
	}
	s := &supervisor{
		p: p, c: c, nginx: true,
		log:     &nginxLog{master: c.cmd.Process.Pid},
		answers: make(chan answer, p.spec.Job.Workers),
	}
	asking, enough := context.WithCancel(ctx)
	s.supervise(ctx, func() {
		enough()
		sock.close()
	})
	if phase != "init_worker" {
		for range p.spec.Job.Workers {
			go func() { s.answers <- sock.startJob(asking, phase) }()
		}
		if p.spec.Job.Workers > 1 {
			go sock.askAgain(asking)
		}
	}
	return nil
}

// newConf is what the configuration says of the job.
func (p *Process) newConf(library, phase, socket string, env []string) *nginxConf {
	conf := &nginxConf{
		Modules: modules(p.spec.Runtime.LuaModule),
		Without: p.spec.Runtime.Without,
		User:    workerUser(),
		Workers: p.spec.Job.Workers,
		Env:     variableNames(env),
		Phase:   phase,
		Socket:  socket,
		Library: library,
		Call:    fmt.Sprintf(`require("moonlap.bench.process").nginx(%q)`, phase),
		folder:  p.folder,
	}
	if p.spec.Job.Mode == ModeRun {
		conf.Call = `require("moonlap.run").main()`
	}
	return conf
}

// startMaster writes the configuration and starts nginx with it.
func (p *Process) startMaster(env []string) (*child, error) {
	file, err := p.writeConf()
	if err != nil {
		return nil, err
	}
	args := []string{"-p", p.folder + "/", "-c", file}
	if hasErrorLogFlag(p.spec.Runtime.Version) {
		args = append(args, "-e", "stderr")
	}
	c, err := startChild(childSpec{
		path:     p.spec.Runtime.Path,
		name:     "nginx",
		dir:      p.spec.Dir,
		args:     args,
		env:      env,
		channels: p.spec.Job.Workers,
		stdin:    p.spec.Stdin,
		stdout:   p.spec.Stdout,
		// Not SIGKILL: the workers would get no signal.
		parentDeath:    syscall.SIGTERM,
		shareTerminal:  isTerminal(p.spec.Stdin),
		outliveOutputs: grace,
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.spec.Runtime.Path, err)
	}
	return c, nil
}

// writeConf writes the configuration into the private folder.
func (p *Process) writeConf() (file string, err error) {
	if p.conf.MainConf, err = userConf("--main-conf", p.spec.Dir, p.spec.MainConf); err != nil {
		return "", err
	}
	if p.conf.HTTPConf, err = userConf("--http-conf", p.spec.Dir, p.spec.HTTPConf); err != nil {
		return "", err
	}
	text, err := p.conf.render()
	if err != nil {
		return "", err
	}
	// nginx before 1.19.5 opens this log before it has read its configuration.
	if err := os.Mkdir(filepath.Join(p.folder, "logs"), 0o700); err != nil {
		return "", err
	}
	file = filepath.Join(p.folder, "nginx.conf")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// modules are the dynamic modules to load, given the Lua module's path.
func modules(lua string) []string {
	if lua == "" {
		return nil
	}
	var all []string
	if ndk := filepath.Join(filepath.Dir(lua), ndkModule); executableOrPlain(ndk) {
		all = append(all, ndk)
	}
	return append(all, lua)
}

func executableOrPlain(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// workerUser keeps workers from changing to another user, to whom our folder is
// closed. Only root's workers would, and only root may say so.
func workerUser() string {
	if os.Geteuid() != 0 {
		return ""
	}
	root, err := user.LookupId("0")
	if err != nil {
		return "root"
	}
	group, err := user.LookupGroupId(root.Gid)
	if err != nil {
		return root.Username
	}
	return root.Username + " " + group.Name
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variableNames are the names that nginx must be configured to keep for its workers. NGINX
// holds inherited sockets and is none of the user's.
func variableNames(env []string) []string {
	var names []string
	for _, s := range env {
		name, _, _ := strings.Cut(s, "=")
		if plainName.MatchString(name) && !strings.HasPrefix(name, "NGINX") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var versionNumber = regexp.MustCompile(`/(\d+)\.(\d+)\.(\d+)`)

// hasErrorLogFlag reports whether nginx knows -e: from 1.19.5 on.
func hasErrorLogFlag(version string) bool {
	m := versionNumber.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	var have [3]int
	for i := range have {
		fmt.Sscan(m[i+1], &have[i])
	}
	return slices.Compare(have[:], []int{1, 19, 5}) >= 0
}

// retry is the pause between two requests for a worker without a job: short at
// first, as workers start in a few milliseconds.
func retry(n int) time.Duration {
	return min(time.Millisecond<<min(n, 10), 20*time.Millisecond)
}
