// A command of the user's own as a child process: input on stdin, output kept up to a limit, a time
// limit for all of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "treaty/cli/shared/environment.h"

namespace treaty::cli {

enum class ProcessEnd {
  exited,       // `code` is its exit code,
  killed,       // or the signal that ended it.
  timed_out,    // The rest were ended by us, with everything they had started.
  too_large,    // It wrote more than allowed.
  interrupted,  // The caller does not want it any more.
  not_started,  // `errors` says why.
};

struct ProcessRun {
  ProcessEnd end = ProcessEnd::not_started;
  int code = 0;
  std::string output{};
  std::string errors{};  // The end of what it wrote to stderr.
  std::chrono::milliseconds took{0};
};

struct ProcessLimits {
  std::chrono::milliseconds time{60'000};
  std::size_t output_bytes = std::size_t{1} << 20U;
  std::size_t error_bytes = std::size_t{4} << 10U;
};

// Runs `/bin/sh -c command`. Ends it when `interrupt` (a descriptor, or -1) becomes readable.
ProcessRun run_process(const std::string& command, std::string_view input,
                       const Variables& variables, const ProcessLimits& limits, int interrupt);

}  // namespace treaty::cli
