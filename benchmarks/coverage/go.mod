module github.com/moonlap/moonlap/benchmarks/coverage

go 1.26
