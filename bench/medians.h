// What the micro-benchmarks share: allocations counted, CPU time as the median of repetitions in
// random order. Include it once in a program.
#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

inline std::size_t allocations = 0;  // One thread runs here.

inline void* counted(std::size_t size) {
  ++allocations;
  void* const block = std::malloc(std::max<std::size_t>(size, 1));
  if (block == nullptr) std::abort();
  return block;
}

struct Entry {
  const char* name;
  void (*run)(benchmark::State&);
};

inline void run_over(benchmark::State& state, std::string_view text, auto job) {
  job();  // What is kept from run to run is allocated once and not counted.
  const std::size_t before = allocations;
  job();
  const std::size_t each = allocations - before;
  for (auto _ : state) job();
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.counters["allocations"] = static_cast<double>(each);
}

struct Median {
  double nanoseconds = 0;  // CPU time of one run.
  double speed = 0;        // MB/s.
  double allocations = 0;  // Of one run.
};

// Keeps the medians.
class MedianReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.aggregate_name != "median") continue;
      medians_[run.run_name.function_name] = {.nanoseconds = run.GetAdjustedCPUTime(),
                                              .speed = run.counters.at("bytes_per_second") / 1e6,
                                              .allocations = run.counters.at("allocations")};
    }
  }

  const Median& operator[](const char* name) { return medians_[name]; }

  // In the order of the entries; those that were filtered out are left out.
  void print(std::span<const Entry> entries) {
    for (const Entry& entry : entries) {
      const Median& median = medians_[entry.name];
      if (median.speed == 0) continue;
      fmt::print("{:<28} {:>8.0f} ns {:>6.0f} MB/s {:>4.0f} allocations\n", entry.name,
                 median.nanoseconds, median.speed, median.allocations);
    }
  }

 private:
  std::map<std::string, Median> medians_;
};

// Runs the entries, prints their medians, and lets `conclude` say what they mean. Nothing is
// measured unless `is_right`: that what is measured is what it is said to be.
inline int run_all(std::span<const Entry> entries, int argc, char** argv, bool is_right,
                   void (*conclude)(MedianReporter&)) {
  if (!is_right) {
    fmt::print(stderr, "{}: what is to be measured is not read as it should be\n", argv[0]);
    return 1;
  }
  MedianReporter reporter;
  constexpr int kRepetitions = 9;
  for (const Entry& entry : entries) {
    benchmark::RegisterBenchmark(entry.name, entry.run)
        ->Repetitions(kRepetitions)
        ->MinTime(0.05)
        ->ReportAggregatesOnly();
  }
  std::vector<char*> arguments(argv, argv + argc);
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  arguments.push_back(interleave.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print(entries);
  conclude(reporter);
  return 0;
}

}  // namespace bench

// All other forms of new and delete, those for aligned types aside, end in these.
void* operator new(std::size_t size) { return bench::counted(size); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
