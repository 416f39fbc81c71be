package runtime

import (
	goruntime "runtime"
	"testing"
)

func TestWorkersGetCPUsOfTheirOwn(t *testing.T) {
	cpus := goruntime.NumCPU()
	for _, c := range []struct {
		name    string
		workers int
		main    []string
		want    bool
	}{
		{"one worker needs none", 1, nil, false},
		{"two where there are two", 2, nil, cpus >= 2},
		{"more than there are", cpus + 1, nil, false},
		{"the user has said", 2, []string{"worker_priority 1;\nworker_cpu_affinity 01 10;"}, false},
	} {
		conf := &nginxConf{Workers: c.workers, MainConf: c.main}
		if got := conf.Spread(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
