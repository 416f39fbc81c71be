package probe

import (
	"errors"
	"testing"
)

// TestCheapAt: what the kernel would single-step is passed over as long as each call comes by, the lock's address stays in its
// register, and, for a function whose return is probed as well, the other arguments in theirs and its return address on top of the
// stack.
func TestCheapAt(t *testing.T) {
	const refused = -1
	for code, at := range map[string]struct{ entry, within int }{
		"\x53\x48":                 {0, 0}, // push %rbx
		"\x41\x54\x55":             {0, 0}, // push %r12
		"\x90":                     {0, 0}, // nop
		"\xf3\x0f\x1e\xfa\x41\x57": {4, 4}, // endbr64; push %r15
		"\xf3\x0f\x1e\xfa\x55":     {4, 4}, // endbr64; push %rbp
		"\xf3\x0f\x1e\xfa\x48\x8b": {refused, refused},
		"\x48\x8b\x17":             {refused, refused}, // mov (%rdi),%rdx
		"\x41\x8b\x17\x53":         {refused, 3},       // mov (%r15),%edx; push %rbx
		"\x89\xfe\x53":             {refused, 2},       // mov %edi,%esi; push %rbx
		"\x41\x90\x53":             {refused, refused}, // xchg %eax,%r8d; push %rbx
		"\x48\x89\xfb\x53":         {3, 3},             // mov %rdi,%rbx; push %rbx
		"\x48\x89\xdf\x53":         {refused, refused}, // mov %rbx,%rdi; push %rbx
		"\x31\xff\x53":             {refused, refused}, // xor %edi,%edi; push %rbx
		"\x48\x83\xec\x08\x53":     {refused, 4},       // sub $8,%rsp; push %rbx
		"\xc3\x53":                 {refused, refused}, // ret
		"\x41":                     {refused, refused},
		"\xf3\x0f\x1e\xfa":         {refused, refused},
		"":                         {refused, refused},
		// A loop from the push on; then one that begins behind it.
		"\x48\x89\xfb\x53\x90\x75\xfc\xc3": {refused, refused},
		"\x48\x89\xfb\x53\x90\x75\xfd\xc3": {3, 3},
		// ngx_shmtx_unlock of an nginx without --with-debug: by gcc 12 -O1; -O2, PIC and not; clang 14 -O2.
		"\x48\x8b\x17\x48\x63\x05\x38\xe5\x1c\x00\xb9\x00\x00\x00\x00\xf0\x48\x0f\xb1\x0a\x75\x0e\x48\x83\xec\x08\xe8\x60\xfd\xff\xff\x48\x83\xc4\x08\xc3\xc3": {refused, 20},
		"\xf3\x0f\x1e\xfa\x48\x8b\x17\x48\x63\x05\xf2\x88\x1f\x00\x31\xc9\xf0\x48\x0f\xb1\x0a\x75\x05\xe9\x08\xfd\xff\xff\xc3":                                 {refused, 21},
		"\x48\x8b\x05\x39\x0d\x1d\x00\x48\x8b\x17\x31\xc9\x48\x63\x00\xf0\x48\x0f\xb1\x0a\x75\x05\xe9\x05\xfd\xff\xff\xc3":                                     {refused, 20},
		"\x53\x48\x8b\x0f\x48\x8b\x05\xa5\x0d\x1d\x00\x48\x63\x00\x31\xd2\xf0\x48\x0f\xb1\x11\x75\x64":                                                         {0, 0},
	} {
		check := func(what string, want int, at uint64, err error) {
			switch {
			case want == refused && !errors.Is(err, ErrDear):
				t.Errorf("% x: %s is taken at %d: %v", code, what, at, err)
			case want != refused && (err != nil || at != uint64(want)):
				t.Errorf("% x: %s at %d, not at %d: %v", code, what, at, want, err)
			}
		}
		entry, err := CheapAtEntry("f", []byte(code))
		check("its entry", at.entry, entry, err)
		within, err := CheapAt("f", []byte(code))
		check("it", at.within, within, err)
	}
}
