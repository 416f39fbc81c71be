// Package probe samples processes through eBPF: programs in the kernel copy, at each tick of a CPU
// clock, a worker's registers and the memory that a walk of its stacks will want, without stopping it.
// User space walks the copies, with the code that walks a stopped worker.
//
// The programs are written in C (sample.bpf.c); the object made of them is committed, so that building
// moonlap takes no compiler for it. `go generate ./internal/probe` makes it anew, with clang-14.
package probe
