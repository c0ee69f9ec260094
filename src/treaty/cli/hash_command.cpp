#include <algorithm>

#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/text/content_hash.h"

namespace treaty::cli::hash {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 30U;

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals.empty()) return misused("which file? - reads standard input");
  if (std::ranges::count(arguments.positionals, "-") > 1) {
    return misused("standard input can be read once");
  }
  int code = kOk;
  for (const std::string& path : arguments.positionals) {
    const auto bytes = read_within(path, kLargest);
    if (!bytes) {
      code = tell_unreadable(bytes.error());
      continue;
    }
    const std::string digest = contracts::content_hash(*bytes);
    if (arguments.has("--hex")) {
      print("{}\n", digest);
    } else {
      print("{}  {}\n", digest, harmless(path));
    }
  }
  return code;
}

}  // namespace

Command command() {
  return {
      .name = "hash",
      .positionals = "FILE...|-",
      .summary = "Compute the ContentHash of files, as a FileRef carries it",
      .description = R"(Text is hashed with its line ends made equal and its lines cut at 500 UTF-16
units; anything that is not UTF-8 is hashed byte by byte. SHA-256, in hex.)",
      .options = {{"--hex", "", "Print the digests alone"}},
      .examples = {{"hash report.pdf", "The hash and the name"},
                   {"hash --hex src/main.cpp", "The 64 digits alone"}},
      .run = run,
  };
}

}  // namespace treaty::cli::hash
