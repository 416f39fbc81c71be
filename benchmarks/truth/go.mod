module github.com/moonlap/moonlap/benchmarks/truth

go 1.26
