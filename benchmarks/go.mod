// The benchmarks that need nothing but Go's own library; those beside a peer in Go are modules of their own.
module github.com/moonlap/moonlap/benchmarks

go 1.26.0
