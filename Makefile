# The daily targets; all of them stand on script/, which needs no make.
.DEFAULT_GOAL := help

.PHONY: help build test simulate study weights modes fuzz test-static test-builds test-commands test-releases test-fleet fleet-figures test-harm test-kernels test-uv test-uv-newer test-uv-programs uv-exits lint bench release prove-packages prove clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 25

build: ## bin/moonlap
	script/build

test: ## every test
	script/test

simulate: ## how often comparisons of load err, in 1200 simulated runs (5 to 15 minutes)
	MOONLAP_TEST_LONG=1 go test -count=1 ./internal/stat/sequential -run TestBlocks -v

study: build ## how far figures of 40 runs in four hours lie apart, by each rule: a run of a minute every six
	cd benchmarks/truth/quiet && go run . -moonlap ../../../bin/moonlap

weights: ## how many pairs a verdict takes by each weight of quiet pairs, on the kept runs of the study (2 minutes)
	MOONLAP_KEPT=$(CURDIR)/benchmarks/truth/quiet/kept.jsonl go test -count=1 ./internal/stat/sequential -run TestWeightsOnKeptData -v

modes: build ## how often levels of processes are found, and told where there are none: make modes RUNS=100 (15 s each)
	cd benchmarks/truth/quiet && go run . -moonlap ../../../bin/moonlap -modes $(or $(RUNS),100)

fuzz: ## every parser on hostile input: make fuzz FUZZTIME=10m TARGETS='Moment Place' (2 minutes each; for the night)
	FUZZTIME=$(FUZZTIME) script/fuzz $(TARGETS)

test-static: build ## explain, profile, watch and heap on a stripped nginx that Lua is linked into, from Debian's sources
	script/test-static

test-builds: build ## the same on other builds of luajit and nginx: make test-builds PROGRAMS='/path/to/luajit …'
	script/test-builds $(PROGRAMS)

test-commands: build ## each command once on other builds, as root: make test-commands PROGRAMS='/path/to/nginx …'
	script/test-commands $(PROGRAMS)

test-releases: build ## the same on nginx and LuaJIT of other releases of Debian and Ubuntu: make test-releases RELEASES='trixie noble'
	script/test-releases $(RELEASES)

test-kernels: build ## what works on Debian's kernels, in virtual machines (5 to 15 minutes each): make test-kernels KERNELS='6.1 6.12'
	script/test-kernels $(KERNELS)

test-fleet: ## what befalls runs on hosts by ssh and by Slurm, N times each, at random: make test-fleet N=50 (10 s each)
	MOONLAP_TEST_REQUIRE_ALL=1 MOONLAP_ACCIDENTS=$(or $(N),50) go test -count=1 -v -timeout 1h ./internal/cli -run TestScripts/on_.*accidents

fleet-figures: build ## what runs on hosts cost, and how often verdicts over hosts err: see benchmarks/fleet (5 minutes)
	MOONLAP_FLEET_FIGURES=1 go test -count=1 -v ./internal/cli -run TestFleetFigures
	MOONLAP_TEST_LONG=1 go test -count=1 -v ./internal/stat/hosts -run TestPlanted

test-harm: ## accidents to moonlap and to workers, each N times (as root): make test-harm N=30
	MOONLAP_TEST_REQUIRE_ALL=1 MOONLAP_HARM=$(or $(N),30) go test -count=1 -v -timeout 3h ./internal/harm

test-uv: build ## luv's own tests with moonlap.uv: make test-uv LUV=/path/to/luv (tag 1.44.2-0)
	script/test-uv "$(LUV)"

test-uv-newer: build ## moonlap.uv with another libuv: make test-uv-newer LIBUV=/path/to/lib LUV=/path/to/luv
	script/test-uv-newer "$(LIBUV)" "$(LUV)"

test-uv-programs: build ## others' programs with moonlap.uv: LUV=, LUVIT=, LIT= and WEBLIT= with LUVI=, PROMISE=, NIO=
	$(if $(LUV),script/test-uv-programs luv "$(LUV)")
	$(if $(LUVIT),script/test-uv-programs luvit "$(LUVIT)" "$(LUVI)")
	$(if $(LIT),script/test-uv-programs lit "$(LIT)" "$(LUVI)")
	$(if $(WEBLIT),script/test-uv-programs weblit "$(WEBLIT)" "$(LUVI)" "$(LIT)")
	$(if $(PROMISE),script/test-uv-programs promise "$(PROMISE)")
	$(if $(NIO),script/test-uv-programs nio "$(NIO)")
	@$(if $(LUV)$(LUVIT)$(LIT)$(WEBLIT)$(PROMISE)$(NIO),:,script/test-uv-programs)

uv-exits: build ## 1000 random ends of programs with moonlap.uv: HOW=plain, valgrind or asan
	script/uv-exits 1000 $(HOW)

lint: ## the checks without the tests
	script/test gofmt vet luacheck shell prose

bench: build ## the figures that benchmarks/bench claims, measured here (6 minutes)
	benchmarks/bench/all

release: ## packages, checksums and the bill of materials into dist/: make release VERSION=1.2.3
	script/release $(if $(VERSION),--version $(VERSION))

prove-packages: ## each package built twice, installed in bare roots, used, removed (as root; 5 minutes)
	script/prove-packages

prove: ## both commands of the README on a fresh minimal Debian (as root)
	script/prove-bare

clean: ## bin and .cache
	rm -rf bin .cache
