# `make` lists the targets. The script of a target finds, installs or asks for what it
# needs beyond Go. The comment at its head names its variables:
# `make test PKG=./pool/... GOTESTFLAGS=-v`, `make fuzz FUZZTIME=5m`.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help
NEED_GO := source scripts/lib.sh; need_go
.PHONY: help demo test test-all integration soak lint bench bench-check fuzz mutants verify simulate image demo-image up down compose-demo compose-check \
	release release-check

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## see Redlock work, on five masters inside the program; needs Go alone (ARGS=--json …)
	@$(NEED_GO)
	@echo '1 of 3: fetching the modules that are not here yet (seconds, the first time)' >&2
	@go mod download
	@echo '2 of 3: compiling (a minute or two the first time, then a second)' >&2
	@CGO_ENABLED=0 go build -v -o bin/redlock-demo ./cmd/redlock-demo 2>&1 | \
		{ n=0; while read -r line; do case $$line in *' '*) echo "$$line" ;; *) n=$$((n + 1)); [ $$((n % 40)) != 0 ] || echo "        $$n packages" ;; esac; done; } >&2
	@echo '3 of 3: five masters inside the program, 32 buyers, and deaths (half a minute)' >&2
	@bin/redlock-demo $(ARGS)

test: ## run the tests for a commit, under the race detector and on real masters: 2 minutes on two cores
	@scripts/test.sh quick

test-all: ## run all tests: those, and the slow ones of test/slow.txt, with all mutants and seeds
	@scripts/test.sh

integration: ## run the tests on real masters, and print the fault matrix (RECORD=1: into docs/project/faults.md; LONG=1)
	@scripts/integration.sh

soak: ## mix the faults at random under load, on real masters (MINUTES, SEED)
	@scripts/integration.sh soak

lint: ## check everything that can be checked without running it
	@scripts/lint.sh

bench: ## measure against real masters, beside other libraries (BENCH, COUNT, BENCHTIME, BASE)
	@scripts/bench.sh

bench-check: ## a minute of it, compared with bench/bounds.json; fails where a bound is not kept
	@scripts/bench.sh check

fuzz: ## fuzz whatever parses bytes (FUZZTIME, FUZZ)
	@scripts/fuzz.sh

mutants: ## run all tests of a room, and then of redlock, with each mutant of the room (ROOM=ballot)
	@$(NEED_GO); cd test/proof && go test ./mutants -count 1 -v -timeout 3h -run '^TestFirstFindersOfTheMutantsOfARoom$$' -room '$(or $(ROOM),$(error ROOM names a room, such as ballot))'

verify: ## visit all states of the models of the protocol; a quarter of an hour, below 2 GB (ARGS=-traces)
	@$(NEED_GO); cd verification && go run ./explore -long $(ARGS)

simulate: ## run the library in virtual time with faults, a run a seed (SEEDS, FROM, PROFILES, TIMELINE=1, RACE=1)
	@scripts/simulate.sh

image: ## build redquorum/redis:local of the redis-server installed here, without a registry
	@scripts/image.sh

demo-image: ## build redquorum/redlock-demo:local, without a registry
	@scripts/demo-image.sh

up: ## start five masters in containers, on 127.0.0.1:7101 to 7105 (REDIS_IMAGE)
	@scripts/compose.sh up

down: ## stop them and remove what they stored
	@scripts/compose.sh down

compose-demo: ## start them, run the demonstration against them, stop them (ARGS)
	@scripts/compose.sh demo $(ARGS)

compose-check: ## start them, demonstrate against them, stop them, as continuous integration does
	@scripts/compose.sh check

release: ## check, commit, tag and build a release; publishes nothing (VERSION=v0.1.0, TESTS, BRANCH)
	@scripts/release.sh $(VERSION)

release-check: ## rehearse it, and have an empty module get, build and run all that users import
	@scripts/release-check.sh
