# The front door: every everyday job of the project. `make` alone prints help.

FUZZ_SECONDS ?= 60
ROUNDS ?= 200
PREFIX ?= /usr/local
export NINJA_STATUS := [%f/%t] 

.DEFAULT_GOAL := help
.PHONY: help setup build run test check bench fuzz torture interop sanitize coverage install

# $(call configure,PRESET): configures once; ninja itself notices later changes of the CMake files.
configure = test -f build/$(1)/build.ninja -a build/$(1)/build.ninja -nt CMakePresets.json || \
  { echo "== configure $(1)"; mkdir -p build; cmake --preset $(1) >build/configure-$(1).log 2>&1 || \
    { cat build/configure-$(1).log; exit 1; }; }

# $(call build,PRESET): configures when needed, then builds what the preset stands for.
build = $(call configure,$(1)) && echo "== build $(1)" && cmake --build --preset $(1)

help: ## Print this help
	@echo "Treaty: make TARGET"
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: ## Install the Debian packages that are missing
	@tools/setup

build: setup ## Build the release binary, build/release/treaty
	@test -e build/release/treaty || tools/build_report --estimate
	@$(call build,release) --target treaty

run: build ## Start the server on 127.0.0.1:8088 (ARGS="--listen …" for another)
	@echo "== treaty serve $(ARGS)"
	@exec build/release/treaty serve $(ARGS)

test: setup ## Run all tests on the release build
	@test -e build/release/treaty_tests || tools/build_report --estimate test
	@$(call build,release) --target all manual
	@echo "== test release"
	@ctest --preset release

check: setup ## Format, tidy, layers, sizes, names, links; headers, benches and fuzz targets compile
	@$(call configure,dev)
	@tools/check

bench: setup ## Build and run the benchmarks
	@tools/setup --bench
	@$(call build,release) --target bench treaty
	@rm -f build/release/bench/rows.tsv
	@for program in build/release/bench/*_bench; do \
	  echo "== $$program"; TREATY_BENCH_ROWS=build/release/bench/rows.tsv "$$program" || exit 1; done
	@echo "== the goals" && tools/bench_table build/release/bench/rows.tsv bench/results/goals.svg

fuzz: setup ## Run every fuzz target for FUZZ_SECONDS (60)
	@$(call build,fuzz)
	@tools/fuzz $(FUZZ_SECONDS)

torture: setup ## Kill the server ROUNDS (200) times under load and compare; provider faults in real time
	@$(call build,release) --target treaty disk_faults
	@tests/torture_faults.py
	@TREATY_DISK_FAULTS="$(CURDIR)/build/release/libdisk_faults.so" tests/torture.py --rounds $(ROUNDS)

interop: build ## Try the contracts against foreign implementations (node, npm)
	@if test -x tests/interop/run; then tools/setup --interop && tests/interop/run; \
	  else echo "no interop tests yet"; fi

sanitize: setup ## Run the tests under ASan and UBSan, then under TSan
	@$(call build,asan) && echo "== test asan" && ctest --preset asan
	@$(call build,tsan) && echo "== test tsan" && ctest --preset tsan

coverage: setup ## Run the tests with coverage; report in build/coverage
	@tools/setup --coverage
	@$(call build,coverage)
	@rm -rf build/coverage/profiles
	@echo "== test coverage"
	@LLVM_PROFILE_FILE="$(CURDIR)/build/coverage/profiles/%p.profraw" ctest --preset coverage
	@llvm-profdata-19 merge -sparse build/coverage/profiles/*.profraw -o build/coverage/tests.profdata
	@llvm-cov-19 show -format=html -output-dir=build/coverage/html -instr-profile=build/coverage/tests.profdata \
	  -ignore-filename-regex='_test\.cpp$$|/testing/' build/coverage/treaty_tests -object build/coverage/treaty
	@llvm-cov-19 report -instr-profile=build/coverage/tests.profdata \
	  -ignore-filename-regex='_test\.cpp$$|/testing/' build/coverage/treaty_tests -object build/coverage/treaty \
	  | tail -n 1
	@echo "report: build/coverage/html/index.html"

install: setup ## Install it with completions and manual under PREFIX (/usr/local); DESTDIR is honoured
	@$(call build,release) --target treaty manual
	@cmake --install build/release --prefix "$(PREFIX)"
