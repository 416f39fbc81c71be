package locks

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -no-global-types -type locked -type taken lock lock.bpf.c -- -I../../probe -O2 -mcpu=v3 -Wall -Wextra -Werror
