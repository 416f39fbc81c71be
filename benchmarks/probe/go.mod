module github.com/moonlap/moonlap/benchmarks/probe

go 1.26
