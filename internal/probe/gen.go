package probe

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -type moment sample sample.bpf.c -- -O2 -mcpu=v3 -Wall -Wextra -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -type state sleep sleep.bpf.c -- -O2 -mcpu=v3 -Wall -Wextra -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -type window -type heap alloc alloc.bpf.c -- -O2 -mcpu=v3 -Wall -Wextra -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -type phase -type resumed -type resumer -type run resume resume.bpf.c -- -O2 -mcpu=v3 -Wall -Wextra -Werror
