# SPDX-License-Identifier: Apache-2.0
#
# `make demo` shows the main job, `make test` runs everything; `make help`
# lists the rest.

GO      ?= go
BUILD   := build
FUZZTIME ?= 20s
SCHEDULES ?= 10000
SCRIPTS ?= 100000
PREFIX  ?= /usr/local
DESTDIR ?=
SHELL   := bash

# Tests tell what they skip and why; of a package that passed nothing else.
GOTEST  := set -o pipefail; $(GO) test -v -count=1
QUIET   := | awk -f scripts/quiet.awk

.PHONY: help demo build test check race schedules fuzz conformance netns vectors sabotage lint faults hostile hostile-short bench-short bench-core bench-relay allocs install uninstall clean deps

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z%-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## two hosts, four rails, one TCP connection, a cable pulled; needs only Go
	$(GO) build -o $(BUILD)/bin/tbnetctl ./cmd/tbnetctl
	$(BUILD)/bin/tbnetctl demo --out $(BUILD)/demo.json

build: ## build the commands into build/bin
	$(GO) build -o $(BUILD)/bin/ ./cmd/...

test: ## install what is needed and run all tests, as CI does
	@scripts/test-all.sh

deps: ## install what the tests need (apt-get, as root)
	@scripts/deps.sh

lint: ## gofmt, go vet, staticcheck, and the rules of test/rules
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these files"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test -count=1 ./test/rules
	@if command -v shellcheck >/dev/null; then shellcheck scripts/*.sh packaging/*.sh .ci/run; fi

check: ## all Go tests, without the race detector
	$(GOTEST) -shuffle=on ./... $(QUIET)

race: ## Go tests with the race detector, but for the end-to-end ones
	$(GOTEST) -race -shuffle=on -timeout 18m $$($(GO) list ./... | grep -v /test/) $(QUIET)

schedules: ## the transport core's random schedules
	$(GO) test -count=1 ./transport -run 'TestSchedules$$' -schedules=$(SCHEDULES)

fuzz: ## every fuzz target for FUZZTIME
	@scripts/fuzz.sh $(FUZZTIME)

allocs: ## what must not allocate, without the race detector, which does
	$(GO) test -count=1 -run 'Alloc|Contract' ./transport ./tap ./rail/mem ./rail/packet

conformance: ## the C core against the Go core, over SCRIPTS generated scripts and all of test/vectors
	$(GOTEST) -timeout 60m ./test/conformance -scripts=$(SCRIPTS) $(QUIET)

netns: ## the end-to-end tests in network namespaces, one package at a time: they keep time
	$(GOTEST) -p 1 -timeout 18m ./test/... $(QUIET)

vectors: ## generate test/vectors from the C header again
	@scripts/vectors.sh

sabotage: ## tests must fail when what they test is broken on purpose
	@scripts/sabotage.sh test/sabotage/table.txt

bench-core: ## cost of a frame in the transport core against a channel hop
	$(GO) run ./test/bench/core -out $(BUILD)/bench/core.json

bench-short: ## short forms of the network benchmarks, as CI runs them
	$(GO) run ./test/bench/stripe -out $(BUILD)/bench/short/stripe.json -case '^(unequal-700-1400/gvisor|loss-2e-4/tap)/1$$' -measure 1s
	$(GO) run ./test/bench/userstack -out $(BUILD)/bench/short/userstack.json -case '^(gvisor|tap|no-link)$$' -runs 3 -warm 300ms -measure 500ms
	$(GO) run ./test/bench/share -out $(BUILD)/bench/short/share.json -runs 1 -measure 1s

bench-%: ## any other benchmark of test/bench, into build/bench
	$(GO) run ./test/bench/$* -out $(BUILD)/bench/$*.json

faults: ## verified flows through every fault, into build/faults.json
	$(GO) run ./test/faults -out $(BUILD)/faults.json

hostile: ## attacks by a peer of every kind beside an honest one, into build/hostile.json
	$(GO) run ./test/hostile -out $(BUILD)/hostile.json

hostile-short: ## the same, in half a minute
	$(GO) run ./test/hostile -out $(BUILD)/short/hostile.json -time 1500ms

bench-relay: ## what the simulated cable between real devices carries at most
	$(GO) test -run '^$$' -bench RelayCeiling -benchtime 20000x ./rail/relay

install: build ## install tbnetctl, its unit, completions and rules
	DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) packaging/install.sh install $(BUILD)/bin/tbnetctl

uninstall: ## remove what install has put there
	DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) packaging/install.sh uninstall

clean: ## remove build/
	rm -rf $(BUILD)
