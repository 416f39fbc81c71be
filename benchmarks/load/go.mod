module github.com/moonlap/moonlap/benchmarks/load

go 1.26.0

require (
	github.com/moonlap/moonlap v0.0.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	golang.org/x/image v0.47.0 // indirect
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/moonlap/moonlap => ../..
