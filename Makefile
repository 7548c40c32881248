# The two commands of the README are `make run` and `make test`. The rest is for people who work on Holdfast.
# Building is CMake's job (CMakePresets.json); this file only names what people do.

JOBS ?= $(shell nproc)

.PHONY: help setup build run test test-all test-asan test-tsan sim soak bench bench-micro bench-resp bench-quorum bench-relay bench-stores bench-hostile format format-check tidy package clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing
	@scripts/setup

build: ## a release binary at build/release/bin/holdfast
	@scripts/setup build
	@scripts/build release holdfast

run: build ## build, then serve on loopback
	@exec build/release/bin/holdfast serve --try

test: setup ## every test, on the release build
	@scripts/test release

test-all: setup ## every test, and under ASan+UBSan and TSan those that have something to find there; what CI runs
	@scripts/test all

test-asan: setup ## the tests under ASan and UBSan only
	@scripts/test asan

test-tsan: setup ## the threaded tests under TSan only
	@scripts/test tsan

sim: setup ## simulated clusters with a progress line; MINUTES=10, ARGS='--seed 7 --shrink', MUTANT=no_silence
ifdef MUTANT
	@scripts/build release sim_mutant
	@build/release/bin/sim_mutant --mutant $(MUTANT) $(ARGS)
else
	@scripts/build release holdfast_sim_program
	@build/release/bin/holdfast-sim $(if $(ARGS),$(ARGS),--minutes $(or $(MINUTES),1))
endif

soak: setup ## the long versions of the tests; MINUTES=30, ARGS='--seed 7 simulator histories'
	@scripts/build release
	@scripts/soak --minutes $(or $(MINUTES),30) $(ARGS)

bench: ## beside Redis, etcd, PostgreSQL and ZooKeeper, into docs/benchmarks.md; ARGS=--quick for five minutes
	@scripts/setup bench
	@scripts/build release holdfast peer_client lock_load postgres_load etcd_load zookeeper_load
	@scripts/bench --write-docs $(ARGS)

bench-micro: setup ## microbenchmarks of the embedded store
	@scripts/build release holdfast_bench
	@build/release/bin/holdfast_bench

bench-resp: setup ## beside a real Redis, speed and memory; ARGS=--quick for two minutes
	@scripts/build release holdfast resp_load wire_bench
	@scripts/bench-resp $(ARGS)

bench-quorum: ## three nodes beside three of etcd; ARGS=--quick for two minutes
	@scripts/setup bench
	@scripts/build release holdfast lock_load etcd_load
	@scripts/bench-quorum $(ARGS)

bench-relay: ## 10,000 publishers, and streams beside nginx; ARGS=--quick for two minutes
	@scripts/setup bench
	@scripts/build release holdfast relay_publishers relay_streams
	@scripts/bench-relay $(ARGS)

bench-stores: ## fronts on Redis, PostgreSQL and etcd beside these themselves; ARGS=--quick for five minutes
	@scripts/setup bench
	@scripts/build release holdfast lock_load postgres_load etcd_load
	@scripts/bench-stores $(ARGS)

bench-hostile: setup ## renewals while 50 connections send all the work they can; ARGS=--quick for a minute
	@scripts/build release holdfast
	@scripts/bench-hostile $(ARGS)

format: setup ## rewrite the sources in the project's format
	@scripts/sources | xargs clang-format -i

format-check: setup ## fail if a source is not in the project's format
	@scripts/sources | xargs clang-format --dry-run -Werror

tidy: setup ## clang-tidy over every source
	@scripts/build dev
	@scripts/sources '*.cpp' | xargs -P $(JOBS) -n 1 clang-tidy --quiet -p build/dev

package: setup ## a .deb in build/release
	@scripts/build release
	@cd build/release && cpack -G DEB

clean: ## remove everything that was built
	rm -rf build
