# The daily targets; all of them stand on script/, which needs no make.
.DEFAULT_GOAL := help

.PHONY: help build test lint bench prove clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

build: ## bin/moonlap
	script/build

test: ## every test
	script/test

lint: ## the checks without the tests
	script/test gofmt vet luacheck shell

bench: build ## the figures that benchmarks/bench claims, measured here (6 minutes)
	benchmarks/bench/all

prove: ## both commands of the README on a fresh minimal Debian (as root)
	script/prove-bare

clean: ## bin and .cache
	rm -rf bin .cache
