# Everything a developer or CI runs. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# What is fetched or built for development: servers, the linter, reports. PIPELINE_CACHE moves it.
CACHE := $(abspath $(or $(PIPELINE_CACHE),.cache))
export PIPELINE_CACHE := $(CACHE)

GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(CACHE)/bin/golangci-lint-$(GOLANGCI_VERSION)
LEDGER := $(CACHE)/test-ledger.tsv

# In CI the log names every test; on a terminal, packages and failures are enough.
TESTFLAGS ?= $(if $(CI),-v)
FUZZTIME ?= 10s
BENCH ?= .
MANDIR ?= $(CACHE)/man
PROFILE ?= $(CACHE)/profile

.PHONY: help
help: ## Show this list.
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build the command into ./pipeline and every package.
	go build ./...
	go build -o pipeline ./cmd/pipeline

.PHONY: servers
servers: ## Unpack the Redis servers of the tests into the cache folder; nothing is installed.
	@tests/servers.sh

.PHONY: test
test: servers check race hostile ## All that a change must pass: build, vet, format, lint, race-detected tests on every server, attacks.

.PHONY: check
check: build fmt-check lint
	go vet ./...

.PHONY: fmt-check
fmt-check:
	@files=$$(find . -name '*.go' -not -path './.*' -exec gofmt -l {} +); \
	if [[ -n $$files ]]; then printf 'not formatted, run gofmt -w:\n%s\n' "$$files" >&2; exit 1; fi

# The cache of test results is passed by: it cannot know that a server has changed. The summary is printed
# after a failure, too, and fails by itself when a server version saw no case. What failed is told last.
.PHONY: race
race: servers
	@mkdir -p '$(CACHE)/bin' && rm -f '$(LEDGER)'
	@go build -o '$(CACHE)/bin/' ./tests/redistest/summary ./tests/failures
	@status=0; \
	{ PIPELINE_TEST_REQUIRE_SERVERS=1 PIPELINE_TEST_LEDGER='$(LEDGER)' \
		go test -json -race -count=1 -timeout 40m $(TESTFLAGS) ./... 2>&1 || status=$$?; \
		'$(CACHE)/bin/summary' '$(LEDGER)' 2>&1 || status=$$?; exit $$status; } | \
		'$(CACHE)/bin/failures' $(filter -v,$(TESTFLAGS))

# The bounds on memory and system calls that make a child process die of an attack do not go with the race
# detector.
.PHONY: hostile
hostile: ## Run every attack on handlers, fenced in.
	go test -count=1 -timeout 20m $(TESTFLAGS) -run '^(TestHostile|TestHarmIsSeen)$$' ./sandbox/...

.PHONY: lint
lint: $(GOLANGCI) ## Run the linters of .golangci.yml.
	$(GOLANGCI) run ./...

# Built from source once, with its own pinned dependencies: they stay out of go.mod.
$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION) once; this takes a few minutes"
	@mkdir -p '$(@D)'
	GOBIN='$(@D)/new' go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv '$(@D)/new/golangci-lint' '$@' && rmdir '$(@D)/new'

.PHONY: guide
guide: servers ## Follow docs/guide.md from a clean clone, as a newcomer would.
	@tests/guide/run.sh

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME (10s).
	@{ grep -rl --include='*_test.go' '^func Fuzz' . || true; } | xargs -r -n1 dirname | sort -u | while read -r folder; do \
		go test -list '^Fuzz' "$$folder" | { grep '^Fuzz' || true; } | while read -r target; do \
			echo "== $$folder $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime '$(FUZZTIME)' "$$folder" </dev/null; \
		done; \
	done

.PHONY: bench
bench: ## Run the benchmarks that match BENCH (all).
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: profile
profile: servers ## Profile the product while it replies to entries: cpu.pprof and allocs.pprof in PROFILE.
	tests/profile.sh '$(PROFILE)'

.PHONY: cover
cover: servers ## Measure what the tests reach; the report is cover.html in the cache folder.
	PIPELINE_TEST_REQUIRE_SERVERS=1 go test -count=1 -coverpkg=./... -coverprofile='$(CACHE)/cover.out' ./...
	@go tool cover -html='$(CACHE)/cover.out' -o '$(CACHE)/cover.html'
	@go tool cover -func='$(CACHE)/cover.out' | tail -n 1

.PHONY: man
man: ## Write the manual pages into MANDIR (man in the cache folder).
	go run ./cmd/pipeline man --dir '$(MANDIR)'

.PHONY: clean
clean: ## Remove what was fetched and built.
	rm -rf '$(CACHE)/servers' '$(CACHE)/bin' '$(CACHE)/man' '$(CACHE)/profile' '$(LEDGER)' '$(CACHE)'/cover.* pipeline
