package probe

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types -type worker -type counts -type sampled sample sample.bpf.c -- -O2 -mcpu=v3 -Wall -Wextra -Werror
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types -type state sleep sleep.bpf.c -- -O2 -mcpu=v3 -Wall -Wextra -Werror
