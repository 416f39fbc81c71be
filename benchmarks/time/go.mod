module github.com/moonlap/moonlap/benchmarks/time

go 1.26.0
