module github.com/moonlap/moonlap/benchmarks/lap

go 1.26.0

require (
	github.com/loov/hrtime v1.0.4
	github.com/moonlap/moonlap v0.0.0
)

require github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect

replace github.com/moonlap/moonlap => ../..
