# hostping: build, test and run. `make` alone lists the targets.
#
# Everything a target needs beyond Go, make and python3 it fetches or installs itself: the pinned Zig
# compiler into the user's cache folder, system packages through apt-get when root (else one line says
# what to install).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION  ?= 0.1.0-dev
REVISION ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
# The oldest glibc that the binaries must run on (RHEL 8, Debian 10).
TARGET   := x86_64-linux-gnu.2.28
FUZZTIME ?= 20s

# Only resolved by the recipes that use it: fetching Zig is not a side effect of `make help`.
ZIG       = $(eval ZIG := $(or $(shell contrib/build/fetch-zig),$(error the pinned Zig compiler is not to be had; the line above says why)))$(ZIG)
GO_CGO    = CGO_ENABLED=1 CC="$(ZIG) cc -target $(TARGET)" CXX="$(ZIG) c++ -target $(TARGET)" go
GO_FLAGS := -trimpath -buildvcs=false
# -s -w: the debug information of the Zig objects names the build machine's folders. Go's stack traces do not need it.
LDFLAGS   = -s -w -extldflags=-Wl,--strip-debug -X main.version=$(VERSION) -X main.revision=$(REVISION)
TOOL      = go tool -modfile=contrib/tools/go.mod
# Each package's tests are short; two packages at a time keep a small machine's timing tests sane.
GO_TEST  := test -p 2 -buildvcs=false -timeout 15m

##@ Use
.PHONY: run build
run: build runtime-packages ## build, then diagnose the simulated host: healthy, then with a fault
	@echo "== a healthy host: hostpingctl diagnose --sim"
	@bin/hostpingctl diagnose --sim
	@echo; echo "== the same host with a sick link: hostpingctl diagnose --sim --fault rnic_pcie:rnic0"
	@status=0; bin/hostpingctl diagnose --sim --fault rnic_pcie:rnic0 || status=$$?; \
	 [ $$status -eq 1 ] || { echo "make run: expected exit status 1 (a diagnosis stands), got $$status" >&2; exit 1; }

build: zig ## build bin/hostping and bin/hostpingctl
	@mkdir -p bin
	@$(GO_CGO) build $(GO_FLAGS) -ldflags "$(LDFLAGS)" -o bin/ ./cmd/hostping ./cmd/hostpingctl

##@ Test
.PHONY: test test-zig test-go test-portable test-binaries check lint fuzz bench campaign lab
test: build test-zig test-go test-portable test-binaries lab ## every test: Zig, Go with the race detector, fake provider, portable build, lab

test-zig: test-packages ## the Zig tests (layouts, loops and failures against the scripted fake provider)
	@$(ZIG) build test --summary all

test-go: test-artefacts ## the Go tests with the race detector, then the whole boundary on the fake provider
	@$(GO_CGO) $(GO_TEST) -race ./...
	@$(GO_CGO) $(GO_TEST) -race -tags fakeverbs ./internal/native

test-portable: ## the tests without cgo, and the macOS build
	@CGO_ENABLED=0 go $(GO_TEST) ./...
	@CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/hostping
	@CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/hostpingctl

test-binaries: build test-packages ## symbol versions and embedded paths of bin/*
	@contrib/build/check-binaries bin/hostping bin/hostpingctl

check: lint ## everything that needs no run: format, vet, staticcheck, shellcheck, header, architecture, docs
	@contrib/build/check-header "$(ZIG)"
	@$(GO_CGO) $(GO_TEST) ./internal/architecture/...

lint: zig lint-packages ## format, vet, staticcheck and shellcheck
	@contrib/build/check-format "$(ZIG)"
	@$(GO_CGO) vet ./...
	@CGO_ENABLED=0 go vet ./...
	@CC="$(ZIG) cc -target $(TARGET)" CGO_ENABLED=1 $(TOOL) staticcheck ./...
	@shellcheck $$(contrib/build/list-scripts)

fuzz: ## run each parser's fuzz target for FUZZTIME (20s)
	@contrib/build/fuzz $(FUZZTIME)

bench: build runtime-packages ## the figures of docs/design.md: start to exit, analysis, discovery
	@contrib/build/bench

campaign: ## how well the analyzer blames, over simulated hosts (resumes; CAMPAIGN="-seed 2 -only two.faults" adds flags)
	@go run ./internal/campaign -state "$${XDG_CACHE_HOME:-$$HOME/.cache}/hostping/campaign.json" $(CAMPAIGN)

lab: build test-artefacts ## boot the virtual RDMA server and run its scenarios (SCENARIO="a b" picks some)
	@contrib/lab/lab run $(SCENARIO)

##@ House-keeping
.PHONY: clean help zig test-artefacts runtime-packages test-packages lint-packages
clean: ## remove what the build made (the cache of compilers and lab images stays)
	@rm -rf bin zig-out .zig-cache

help: ## this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

zig:
	@$(ZIG) build -Dtarget=$(TARGET)

test-artefacts: zig test-packages
	@$(ZIG) build test-artefacts -Dtarget=$(TARGET)
	@$(GO_CGO) test -c $(GO_FLAGS) -o zig-out/test/native.test ./internal/native
	@CGO_ENABLED=0 go build $(GO_FLAGS) -o zig-out/test/validate ./contrib/lab/validate

runtime-packages:
	@contrib/build/ensure-packages libibverbs1

test-packages:
	@contrib/build/ensure-packages libibverbs1 libibverbs-dev binutils

lint-packages:
	@contrib/build/ensure-packages shellcheck
