package probe

// OneByOne has sessions that are opened from now on attach probes as before Linux 6.6, until again is called.
func OneByOne() (again func()) {
	have := haveMulti
	haveMulti = func() bool { return false }
	return func() { haveMulti = have }
}
