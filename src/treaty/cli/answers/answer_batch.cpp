#include "treaty/cli/answers/answer_batch.h"

#include "treaty/base/text.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

constexpr std::size_t kLargestAnswer = std::size_t{16} << 20U;

int for_each_line(const std::string& path, const std::function<void(const AnswerInput&)>& each) {
  auto lines = Lines::open(path, kLargestAnswer);
  if (!lines) {
    print_error("{}: {}\n", harmless(path), lines.error().message);
    return kViolated;
  }
  int code = kOk;
  for (std::size_t number = 1; const auto line = lines->next(); ++number) {
    if (is_blank(*line)) continue;
    if (const auto answer = read_answer(*line)) {
      each(*answer);
      continue;
    } else {
      print_error("{}:{}: {}\n", harmless(path), number, harmless(answer.error().message));
    }
    print("null\n");
    code = kViolated;
  }
  if (const auto error = lines->error()) {
    print_error("{}: {}\n", harmless(path), error->message);
    code = kViolated;
  }
  return code;
}

}  // namespace

int for_each_answer(const std::string& command, const Arguments& arguments,
                    const std::function<void(const AnswerInput&)>& each) {
  if (arguments.positionals.size() > 1) return wrong_usage(command, "one file at a time");
  const std::string path = arguments.positionals.empty() ? "-" : arguments.positionals[0];
  if (arguments.has("--ndjson")) return for_each_line(path, each);
  const auto text = read_input(path, kLargestAnswer);
  if (!text || text->size() > kLargestAnswer) {
    print_error("{}: {}\n", harmless(path), text ? "is larger than 16 MiB" : text.error().message);
    return kViolated;
  }
  const auto answer = read_answer(*text);
  if (!answer) {
    print_error("{}: {}\n", harmless(path), harmless(answer.error().message));
    return kViolated;
  }
  each(*answer);
  return kOk;
}

}  // namespace treaty::cli
