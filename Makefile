# The commands of the project. `make run` and `make test` do all setup themselves.
#
#   make run     an overview: real datagrams, a video over a simulated path, two tables of a paper, a report
#   make test    everything: format, lints, documents, Rust and Python tests, examples, papers' claims
#   make check   the two-minute subset for the inner loop
#   make bench   benchmarks, compared with ns-2, ns-3 and quinn if they are installed
#   make instructions  the simulator's instructions per link forward, compared with the recorded ones
#   make faults  the next SEEDS (20000) trials of each kind of two endpoints on a hostile path, JOBS (2) at a time (docs/faults.md)
#   make mutants  small changes of the code for which a test must fail; MUTANTS selects some ("--file path_mtu --shard 1/20")
#   make properties  the property tests with fresh seeds and CASES (2000) cases each; TESTS selects some ("-p whimbrel-proto --test all liveness")
#   make fuzz    every fuzz target for FUZZ_SECONDS (60) each
#   make interop   tests against the DCCP of an unmodified Linux 6.1 kernel, in an emulated guest (docs/interop.md)
#   make interop-multipath  MP-DCCP with a kernel that has it, once interop/multipath/build_multipath_kernel.sh has built it (docs/interop.md)
#   make tcp-real  bulk transfers of Linux's TCP in that guest, to compare the simulated TCP with (docs/interop.md)
#   make confront-real  the confronts of the paper with Linux's TCP, UDP and DCCP in that guest (papers/confront/README.md)
#   make reorder-real  a real video and speech over netem that reorders, in that guest (docs/reordering.md)
#   make handover  a real stream over a real handover, between network namespaces (docs/handover.md)
#   make emulation  real datagrams across emulated networks, compared with simulations: out/emulation/page.md
#   make live    a video over bad paths by real programs: whimbrel relay, SRT, RIST, GStreamer, TCP, in hours: docs/live.md
#   make gst-check  the GStreamer elements: format, lints, pipelines (docs/gstreamer.md)
#   make netem   the same paths through Linux's tbf and netem, in the guest: out/netem/page.md
#   make wheel   a wheel for `pip install`, with profile-guided optimisation, into out/wheels
#   make c-library  the C library with its header and whimbrel.pc, into PREFIX (docs/embed.md)
#   make release  all that a release has, into out/release/files; STAGES selects some ("relays debian"): docs/install.md
#   make publish-check  packs the library crates as for crates.io and checks them; BUILD=--build also compiles the packages
#   make other-stacks  congestion control in quinn, repair in quinn and str0m: the examples of two READMEs, and a bridge for Zenoh (examples)
#   make picture  the recording of the live page in README.md, by chromium and ffmpeg: docs/images/live-view.webp
#   make docs    the documentation site, into out/docs: pages, papers, notebooks, references, the playground
#   make playground  the laboratory in a browser, as one page: out/playground/index.html (docs/playground.md)
#   make validation   compute tests/golden/validation-80211.md, 802.11 against theory and ns-2, in minutes
#   make compliance   the RFCs' requirements: checks compliance/*.toml against the source and counts them

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.SILENT:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
PREFIX ?= $(OUT)/c
FUZZ_SECONDS ?= 60
SEEDS ?= 20000
JOBS ?= 2
CASES ?= 2000
TESTS ?= --workspace
MUTANTS ?= --listed
CARGO ?= cargo
export RUSTDOCFLAGS := -D warnings
# With REQUIRE_ALL=1 a missing optional tool is an error instead of a skipped part.
export REQUIRE_ALL ?= 0

# The property tests draw the same cases in each run. `make properties` searches for new ones.
export PROPTEST_RNG_SEED ?= 1

SANS_IO := -p whimbrel-units -p whimbrel-wire -p whimbrel-control -p whimbrel-proto -p whimbrel-rtp -p whimbrel-repair -p whimbrel-wifi -p whimbrel-cell -p whimbrel-netsim

.PHONY: run test check bench instructions faults mutants properties fuzz docs setup extension wheel tools clean lint python-lint rust-tests python-tests deny interop interop-quick interop-multipath handover handover-quick reorder-real reorder-real-quick tcp-real tcp-real-quick confront-real confront-real-quick compliance validation validation-check emulation emulation-quick netem netem-quick bonded bonded-quick live live-quick gst-check c-library publish-check picture playground other-stacks release

# The first build is a quick one, with the packages and the features that the tour needs. Where `make extension` has built, that is used.
run: PROFILE = $(if $(wildcard target/release/lib_core.*),release,first)
run: $(VENV)/.run
	$(build_extension)
	$(BIN)/python examples/first_look.py --out $(OUT)

test: tools lint python-lint compliance deny publish-check rust-tests validation-check docs python-tests instructions interop-quick handover-quick reorder-real-quick emulation-quick netem-quick bonded-quick live-quick gst-check
	echo "== make test: all passed"

check: tools
	$(CARGO) fmt --all --check
	$(PYTHON) scripts/check_layout.py
	$(PYTHON) scripts/check_rings.py
	$(PYTHON) scripts/check_imports.py
	$(PYTHON) scripts/authority.py
	$(CARGO) clippy --quiet $(SANS_IO) --lib -- -D warnings
	$(CARGO) test --quiet $(SANS_IO) --lib
	echo "== make check: all passed"

lint: tools
	echo "== format, layout, clippy"
	$(CARGO) fmt --all --check
	$(PYTHON) scripts/check_layout.py
	$(PYTHON) scripts/check_rings.py
	$(PYTHON) scripts/check_imports.py
	$(PYTHON) scripts/authority.py
	$(PYTHON) scripts/check_english.py
	$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	$(CARGO) clippy --quiet -p whimbrel-net --no-default-features -- -D warnings
	$(CARGO) clippy --quiet -p whimbrel-relay -- -D warnings
	$(CARGO) clippy --quiet -p whimbrel-cli --lib --no-default-features -- -D warnings

# Licences, sources and banned crates of the dependency tree.
deny: tools
	echo "== licences and sources"
	# The dependencies of other systems are checked, too.
	$(CARGO) fetch --quiet --locked
	# The workspaces of their own follow the crates that they depend on.
	for folder in gst fuzz benches/quic_carry benches/sockets examples/other_stacks examples/zenoh; do
	  $(CARGO) metadata --quiet --locked --format-version 1 --manifest-path $$folder/Cargo.toml >/dev/null
	done
	scripts/optional_tool.sh cargo-deny "cargo install cargo-deny --locked" -- \
	  $(CARGO) deny --offline --log-level error check bans licenses sources
	# Known vulnerabilities, where the database is to be had.
	if ! command -v cargo-deny >/dev/null; then
	  :
	elif $(CARGO) deny --log-level off fetch db >/dev/null 2>&1; then
	  $(CARGO) deny --log-level error check --disable-fetch advisories
	else
	  echo "advisories: skipped, because their database (github.com/rustsec/advisory-db) cannot be reached" >&2
	fi

# Every requirement names existing code and an existing test, or a reason.
compliance:
	echo "== RFC requirements"
	$(PYTHON) scripts/compliance.py

# Computes all tables of tests/golden/validation-80211.md.
validation: tools
	$(PYTHON) scripts/validation.py --write

# The page fits the code: its facts have tests, and a part of its tables comes out again.
validation-check: tools
	echo "== validation of 802.11"
	$(PYTHON) scripts/validation.py

# It is also the check that the sans-IO crates build without an operating system.
# Without the target for browsers it is skipped; under REQUIRE_ALL=1 it fails.
playground: tools
	$(PYTHON) scripts/build_playground.py $(OUT)/playground

rust-tests: tools
	echo "== Rust tests"
	# With an optional feature that has tests: a build of their own would compile a hundred crates again.
	# Many tests wait for clocks and programs.
	RUST_TEST_THREADS=$$((2 * $$(getconf _NPROCESSORS_ONLN))) \
	  $(CARGO) test --quiet --workspace --exclude whimbrel-python --features whimbrel-net/tracing

python-lint: setup
	echo "== Python: ruff, mypy"
	$(BIN)/ruff format --check python papers examples scripts benches interop site
	$(BIN)/ruff check python papers examples scripts benches interop site
	$(BIN)/mypy

python-tests: extension
	echo "== Python: tests, examples, claims"
	$(BIN)/pytest -n auto --dist worksteal
	echo "== the tour"
	$(BIN)/python examples/first_look.py --seconds 1 --out $(OUT)/test

# Without the required packages it prints their names and is skipped; under REQUIRE_ALL=1 it fails.
interop: tools
	$(PYTHON) interop/dccp/run.py --out $(OUT)/interop

interop-quick: tools
	echo "== tests against Linux's DCCP, quick form"
	$(PYTHON) interop/dccp/run.py --quick --out $(OUT)/test/interop

# It has the requirements of interop, and needs the image that interop/multipath/build_multipath_kernel.sh builds.
interop-multipath: tools
	$(PYTHON) interop/multipath/multipath.py --out $(OUT)/interop-multipath

# Without namespaces, veth or tbf it prints the reason and is skipped; under REQUIRE_ALL=1 it fails.
handover: extension
	$(BIN)/python interop/handover/handover.py --out $(OUT)/handover

handover-quick: extension
	echo "== a stream that survives a handover, quick form"
	$(BIN)/python interop/handover/handover.py --quick --out $(OUT)/test/handover

# Without namespaces or TUN devices it prints the reason and is skipped; under REQUIRE_ALL=1 it fails.
emulation: extension
	$(BIN)/python interop/emulation/emulation.py --out $(OUT)/emulation

emulation-quick: extension
	echo "== emulations against simulations, quick form"
	$(BIN)/python interop/emulation/emulation.py --quick --out $(OUT)/test/emulation

# It has the requirements of emulation and of interop.
netem: extension
	$(BIN)/python interop/emulation/netem.py --out $(OUT)/netem

netem-quick: extension
	echo "== emulations against Linux's tbf and netem, quick form"
	$(BIN)/python interop/emulation/netem.py --quick --out $(OUT)/test/netem

# Without namespaces, TUN devices or ffmpeg it prints the reason and is skipped; under REQUIRE_ALL=1 it fails.
bonded: extension
	$(BIN)/python interop/handover/bonded.py --out $(OUT)/bonded

bonded-quick: extension
	echo "== a video over two radios, quick form"
	$(BIN)/python interop/handover/bonded.py --ways wlan0,both --out $(OUT)/test/bonded

# Without namespaces or TUN devices it prints the reason and is skipped, and so is a program that is missing; under REQUIRE_ALL=1
# both fail. An interrupted command continues where it was.
live: extension
	PYTHONPATH=interop $(BIN)/python -m live --out $(OUT)/live --page docs/live.md

live-quick: extension
	echo "== live video by real programs, quick form"
	PYTHONPATH=interop $(BIN)/python -m live --quick --out $(OUT)/test/live

# Without GStreamer's headers it prints the reason and is skipped; under REQUIRE_ALL=1 it fails.
gst-check: tools
	echo "== GStreamer elements"
	scripts/gst_check.sh

# It has the same requirements as interop.
reorder-real: extension
	$(BIN)/python interop/reorder/reorder.py --out $(OUT)/reorder-real

reorder-real-quick: extension
	echo "== a stream over a path that reorders, quick form"
	$(BIN)/python interop/reorder/reorder.py --quick --out $(OUT)/test/reorder-real

# It has the same requirements as interop.
tcp-real: tools
	$(PYTHON) interop/stacks/tcp.py --out $(OUT)/tcp-real

tcp-real-quick: tools
	echo "== Linux's TCP against the recorded throughput, quick form"
	$(PYTHON) interop/stacks/tcp.py --quick --out $(OUT)/test/tcp-real

# It has the same requirements as interop.
confront-real: extension
	$(BIN)/python interop/stacks/confront.py --all --out $(OUT)/confront-real

confront-real-quick: extension
	echo "== confronts with real stacks, quick form"
	$(BIN)/python interop/stacks/confront.py --quick --out $(OUT)/test/confront-real

bench: extension
	$(BIN)/python benches/run.py --out $(OUT)/bench --page docs/speed.md

# After the extension, which is built with the same profile. Without valgrind it is skipped; under REQUIRE_ALL=1 it fails.
instructions: tools
	echo "== instructions of the simulator"
	$(PYTHON) benches/instructions.py

faults: tools
	$(PYTHON) scripts/fault_trials.py --trials $(SEEDS) --jobs $(JOBS)

# All of them take days. By default, only those that once survived.
mutants: tools
	$(PYTHON) scripts/mutants.py $(MUTANTS)

properties: tools
	env -u PROPTEST_RNG_SEED PROPTEST_CASES=$(CASES) $(CARGO) test --quiet $(TESTS)

fuzz: tools
	$(PYTHON) scripts/fuzz.py --seconds $(FUZZ_SECONDS)

docs: extension playground
	echo "== documents"
	$(CARGO) doc --quiet --workspace --no-deps --exclude whimbrel-python
	$(PYTHON) scripts/check_links.py README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs papers
	$(BIN)/python scripts/build_site.py $(OUT)/docs --rust target/doc --playground $(OUT)/playground

tools:
	scripts/check_tools.sh

setup: $(VENV)/.ready

# $(VENV)/.run has what `make run` needs, $(VENV)/.ready also what the tests and documents need.
$(VENV)/.run: requirements-run.lock | tools
$(VENV)/.ready: requirements.lock | tools
$(VENV)/.run $(VENV)/.ready:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	scripts/step.sh "Python environment in $(VENV)" $(OUT)/log/environment.log \
	  $(BIN)/python -m pip install --disable-pip-version-check -r $<
	touch $@

# maturin and cargo decide what must be rebuilt.
extension: PROFILE = release
extension: setup
	$(build_extension)

define build_extension
scripts/step.sh "building (the first time takes minutes)" $(OUT)/log/build.log \
  env -u CONDA_PREFIX VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --profile $(PROFILE) $(if $(filter first,$(PROFILE)),--no-default-features)
endef

picture: extension
	$(BIN)/python scripts/live_view_picture.py

wheel: setup
	rm -rf $(OUT)/wheels
	pgo=--pgo
	if [ -z "$$(find "$$(rustc --print sysroot)" -name 'llvm-profdata*' -print -quit)" ]; then
	  echo "without profile-guided optimisation, which needs: rustup component add llvm-tools"
	  pgo=
	fi
	scripts/step.sh "building the wheel (takes minutes)" $(OUT)/log/wheel.log \
	  env -u CONDA_PREFIX $(BIN)/maturin build --release $$pgo --out $(OUT)/wheels --interpreter $(BIN)/python
	ls $(OUT)/wheels/*.whl
	$(BIN)/python scripts/wheel_check.py $(OUT)/wheels/*.whl

publish-check: tools
	echo "== packages of the library crates"
	$(PYTHON) scripts/publish_check.py $(BUILD)
	$(PYTHON) scripts/release consistency --again --out $(OUT)/test/release

# Builds for hours on two cores: all stages, or STAGES. What is done for this commit is not done again.
release: tools
	$(PYTHON) scripts/release $(STAGES)

# In workspaces of their own, with QUIC, WebRTC and Zenoh: minutes of building. The bridge for Zenoh is tested with relays.
other-stacks: tools
	$(CARGO) build --quiet --bin whimbrel
	for folder in other_stacks zenoh; do
	  $(CARGO) clippy --quiet --locked --manifest-path examples/$$folder/Cargo.toml --all-targets -- -D warnings
	  $(CARGO) test --quiet --locked --manifest-path examples/$$folder/Cargo.toml
	done

# For `pkg-config --cflags --libs whimbrel`.
c-library: tools
	scripts/step.sh "building the C library (takes minutes)" $(OUT)/log/c-library.log \
	  $(CARGO) build --release -p whimbrel-capi
	install -d $(PREFIX)/include $(PREFIX)/lib/pkgconfig
	install -m 644 crates/capi/include/whimbrel.h $(PREFIX)/include
	install -m 755 target/release/libwhimbrel.so $(PREFIX)/lib
	install -m 644 target/release/libwhimbrel.a $(PREFIX)/lib
	version=$$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
	sed "s|@PREFIX@|$(abspath $(PREFIX))|; s|@VERSION@|$$version|" crates/capi/whimbrel.pc.in > $(PREFIX)/lib/pkgconfig/whimbrel.pc

clean:
	rm -rf target $(VENV) $(OUT) fuzz/target gst/target examples/other_stacks/target examples/zenoh/target
