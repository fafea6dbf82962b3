# Builds, proves and runs the ingress lanes. Every target is enough alone: `run-l4`, `run`
# and `test` install what is missing and build what is stale. `make` alone lists them.
#
# Guest programs and host tools are built by separate cargo invocations: in one, cargo would
# unify features and pull the standard library into the guest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
export DOCS_RS := 1

# Whatever the environment says, the paths below are where the files are.
override CARGO_TARGET_DIR := $(CURDIR)/target
export CARGO_TARGET_DIR

L4 := target/release/l4
OUT ?= target/l4
ARGS ?=

# Which package brings which program; `setup` installs those whose program is missing.
NEEDS_RUN := qemu-system-x86_64:qemu-system-x86 capnp:capnproto curl:curl setpriv:util-linux cc:build-essential c++:g++
NEEDS_TEST := $(NEEDS_RUN) wrk:wrk haproxy:haproxy slowhttptest:slowhttptest hping3:hping3 ip:iproute2 nft:nftables \
	git:git

GUEST := -p harness-kernel -p remote-session-web-ui -p ingress-probe -p hostile
GUEST_FEATURES := --features harness-kernel/guest,remote-session-web-ui/capos,hostile/guest
HOST_ONLY := -p ingress-schema -p ingress-ledger -p remote-session-web-ui -p mkmanifest -p l4 \
	-p treecheck -p harness-net -p fuzz
GUEST_LIBS := -p harness-kernel -p ingress-probe -p hostile
HOST := $(HOST_ONLY) $(GUEST_LIBS)
SMALL := thumbv7em-none-eabi
BROKEN := broken-lane-from-header broken-leak-on-cancel
BROKEN_KERNEL := broken-endless-entry broken-any-cookie broken-nagle broken-lone-end
# Counters of edges and calls at comparisons, for libFuzzer: passes of LLVM, so that the pinned
# compiler has them. No sanitizer: next to nothing here is unsafe.
SANCOV := -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,level=4 \
	inline-8bit-counters pc-table trace-compares)
FUZZ_BUILD := target/fuzz-build
FUZZ_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ = target/debug/fuzz
FUZZ_PROGRAM = $(FUZZ_BUILD)/$(FUZZ_HOST)/fuzz/fuzz-targets
SECONDS := 60
TARGET ?=
SMOKE_LINK := -nostartfiles -nostdlib -static -no-pie -Wl,--build-id=none \
	-Wl,-z,max-page-size=4096 -Wl,--gc-sections

.PHONY: help setup setup-run setup-check guest smoke tools broken run-l4 attack soak negative-controls \
	run test unit check fmt-check clippy small doc generated deny bench \
	fuzz fuzz-build fuzz-keep clean

help: ## List the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

define install_missing
	@missing=(); for need in $(1); do \
		command -v "$${need%%:*}" >/dev/null 2>&1 || [ -x "/usr/sbin/$${need%%:*}" ] || missing+=("$${need##*:}"); \
	done; \
	if [ "$${#missing[@]}" -gt 0 ]; then \
		if [ "$$(id -u)" != 0 ]; then \
			echo "missing; install with: sudo apt-get install $${missing[*]}" >&2; exit 1; \
		fi; \
		echo "setup: installing $${missing[*]}"; \
		apt-get update -qq; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$${missing[@]}" >/dev/null; \
	fi
	@command -v $(CARGO) >/dev/null || { echo "missing: cargo; see https://rustup.rs" >&2; exit 1; }
endef

setup: ## Install every program that the tests drive
	$(call install_missing,$(NEEDS_TEST))

setup-run:
	$(call install_missing,$(NEEDS_RUN))

setup-check: ## Install cargo-deny for `check`
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny

guest: setup-run smoke ## Build the kernel, the service and the in-guest programs
	$(CARGO) build --locked --profile guest $(GUEST) $(GUEST_FEATURES)

# The published runtime's own smoke program, from its published source and with its own
# linker script; only the memory routines that a compiler wants come from us.
smoke: setup-run
	$(CARGO) build --locked --release -p freestanding --features freestanding/runtime
	@runtime=$$($(CARGO) metadata --locked --format-version 1 \
		| grep -o '"manifest_path":"[^"]*/capos-rt-[0-9.]*/Cargo.toml"' | cut -d'"' -f4 | xargs dirname); \
	set -x; $(CARGO) rustc --locked --release -p capos-rt --bin capos-rt-smoke -- \
		-C relocation-model=static -C strip=symbols $(SMOKE_LINK:%=-C link-arg=%) \
		-C "link-arg=-T$$runtime/linker.ld" -C "link-arg=$(CURDIR)/target/release/libfreestanding.rlib"
	@mkdir -p target/smoke && cp target/release/capos-rt-smoke target/smoke/

tools: setup-run ## Build the host tools
	$(CARGO) build --locked --release -p mkmanifest -p l4

broken: setup-run ## Build the deliberately broken services and kernels for the negative controls
	@for feature in $(BROKEN); do \
		echo "broken: $$feature"; \
		$(CARGO) build --locked --profile guest -p remote-session-web-ui \
			--features "remote-session-web-ui/capos remote-session-web-ui/$$feature" \
			--target-dir target/broken-build; \
		mkdir -p "target/broken/$$feature"; \
		cp target/broken-build/guest/remote-session-web-ui "target/broken/$$feature/"; \
	done
	@for feature in $(BROKEN_KERNEL); do \
		echo "broken: $$feature"; \
		$(CARGO) build --locked --profile guest -p harness-kernel --features "guest,$$feature" \
			--target-dir target/broken-build; \
		mkdir -p "target/broken/$$feature"; \
		cp target/broken-build/guest/harness-kernel "target/broken/$$feature/"; \
	done

run-l4: setup guest tools ## Prove the lanes: boot every case in QEMU (ARGS="--case NAME")
	$(L4) prove --out $(OUT) $(ARGS)

attack: setup guest tools ## The longer attacks
	$(L4) prove --suite attack --out $(OUT)-attack $(ARGS)

soak: setup guest tools ## Everything mixed for ten minutes
	$(L4) prove --case soak --out $(OUT)-soak $(ARGS)

negative-controls: setup guest tools broken ## Show that each case can fail
	$(L4) prove --negative-controls --out $(OUT)-controls $(ARGS)

run: guest tools ## Boot the three lanes and stay up until Ctrl-C
	$(L4) run $(ARGS)

# What a debug build answers with a panic, a release build answers with a counted fault.
unit: setup ## The tests of every crate, on the host
	$(CARGO) test --locked $(HOST)
	$(CARGO) test --locked -p ingress-probe --lib
	$(CARGO) test --locked --release -p ingress-ledger -p harness-net --lib --test misuse

test: unit run-l4 ## Every crate's tests and the proof matrix

check: fmt-check clippy small doc deny ## Formatting, lints, small machines, documentation, dependencies

fmt-check: setup-run ## Formatting
	$(CARGO) fmt --all --check

# The guest crates' binaries are linted with the guest's features, their hardware-free
# libraries and tests with the host's.
clippy: setup-run ## Lints
	$(CARGO) clippy --locked $(HOST_ONLY) --all-targets -- -D warnings
	$(CARGO) clippy --locked $(GUEST_LIBS) --lib --tests -- -D warnings
	$(CARGO) clippy --locked --release $(GUEST) $(GUEST_FEATURES) -- -D warnings

# No 64-bit words, no 64-bit atomics, no standard library.
small: ## The ledger for a machine that has little
	@rustup --quiet target add $(SMALL)
	$(CARGO) check --locked -p ingress-ledger --target $(SMALL)

doc: setup-run ## The documentation of every crate
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps $(HOST)

generated: setup-run ## Write anew what follows from the code: tables, schema parts, golden bytes
	$(CARGO) test --locked -p treecheck --test documented -- --ignored
	$(CARGO) test --locked -p ingress-schema --test golden -- --ignored

deny: setup-check ## Dependencies: bans, licences, sources
	$(CARGO) deny --locked check bans licenses sources

# The target is named so that the flags reach no build script.
fuzz-build: setup-run
	RUSTFLAGS="$(SANCOV)" $(CARGO) build --locked --profile fuzz -p fuzz --bin fuzz-targets \
		--features fuzz/libfuzzer --target $(FUZZ_HOST) --target-dir $(FUZZ_BUILD)
	$(CARGO) build --locked -p fuzz --bin fuzz

fuzz: fuzz-build ## Fuzz each target for a minute (SECONDS=20 TARGET="heads bodies")
	$(FUZZ) run --program $(FUZZ_PROGRAM) --jobs $$(nproc) --seconds $(SECONDS) $(TARGET)

fuzz-keep: fuzz-build ## Keep the fewest inputs that reach all that `make fuzz` reached
	$(FUZZ) keep --program $(FUZZ_PROGRAM) $(TARGET)

bench: setup-run ## Measure the ledger beside the usual alternatives
	$(CARGO) bench --locked -p ingress-ledger

clean: ## Remove everything that was built
	$(CARGO) clean
