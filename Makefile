# The daily targets; all of them stand on script/, which needs no make.
.DEFAULT_GOAL := help
FILE ?= examples/re_find.lua
ARGS ?= --runtime auto

.PHONY: help build test lint bench prove clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

build: ## bin/moonlap
	script/build

test: ## every test
	script/test

lint: ## the checks without the tests
	script/test gofmt vet luacheck shell

bench: build ## measure a bench file: FILE=examples/re_find.lua ARGS="--runtime auto"
	bin/moonlap bench $(FILE) $(ARGS)

prove: ## both commands of the README on a fresh minimal Debian (as root)
	script/prove-bare

clean: ## bin and .cache
	rm -rf bin .cache
