#include "treaty/cli/answers/answer_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

constexpr std::size_t kMostHeaders = 1'000;

Error refusal(std::string message) { return {ErrorCode::not_a_document, std::move(message)}; }

std::string_view text_of(json::Value value) {
  return value.is_string() ? value.text() : value.source();
}

std::optional<json::Value> given(json::Value object, std::string_view name) {
  const auto value = object.members().find(name);
  return value && !value->is_null() ? value : std::nullopt;
}

std::expected<AnswerInput, Error> read_object(json::Value object) {
  AnswerInput answer;
  const auto headers = object.members().find("headers");
  if (!headers && !given(object, "status") && !given(object, "body")) {
    answer.headers = read_headers(object);
    return answer;
  }
  if (headers && headers->is_object()) {
    answer.headers = read_headers(*headers);
  } else if (headers && !headers->is_null()) {
    return std::unexpected(refusal("headers is not an object of names and values"));
  }
  if (const auto status = given(object, "status")) {
    const auto number = read_number<std::int64_t>(text_of(*status));
    if (!number || *number < 100 || *number > 999) {
      return std::unexpected(refusal("status is not an HTTP status"));
    }
    answer.status = static_cast<int>(*number);
  }
  if (const auto body = given(object, "body")) answer.body = text_of(*body);
  if (const auto provider = given(object, "provider")) answer.provider = text_of(*provider);
  if (const auto at = given(object, "at")) {
    answer.at = at->is_number() ? at->number() : seconds_of_timestamp(text_of(*at));
    if (!answer.at) return std::unexpected(refusal("at is not an RFC 3339 time"));
  }
  return answer;
}

std::optional<int> status_line(std::string_view line) {
  if (!starts_with_folded(line, "http/")) return std::nullopt;
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  int status = 0;
  const auto [_, error] = std::from_chars(line.begin() + space + 1, line.end(), status);
  if (error != std::errc() || status < 100 || status > 999) return std::nullopt;
  return status;
}

std::expected<AnswerInput, Error> read_lines(std::string_view text) {
  AnswerInput answer;
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    at = line.next;
    if (is_blank(line.text) && status_line(line_at(text, at).text)) {
      answer = {};  // 100 Continue, or a proxy's own answer: the last head counts.
      continue;
    }
    if (is_blank(line.text)) {
      answer.body = text.substr(std::min(at, text.size()));
      break;
    }
    if (const auto status = status_line(line.text)) {
      answer.status = status;
      continue;
    }
    const std::size_t colon = line.text.find(':');
    if (colon == 0 || colon == std::string_view::npos) {
      return std::unexpected(refusal(fmt::format(
          "\"{}\" is no header line; give NAME: VALUE lines or JSON", line.text.substr(0, 60))));
    }
    if (answer.headers.size() >= kMostHeaders) {
      return std::unexpected(refusal(fmt::format("more than {} headers", kMostHeaders)));
    }
    answer.headers.add(line.text.substr(0, colon), line.text.substr(colon + 1));
  }
  return answer;
}

}  // namespace

Headers read_headers(json::Value object) {
  Headers headers;
  if (!object.is_object()) return headers;
  for (const auto& [name, value] : object.members()) {
    if (value.is_null() || headers.size() >= kMostHeaders) continue;
    if (!value.is_array()) {
      headers.add(name.text(), text_of(value));
      continue;
    }
    for (const json::Value element : value.elements()) headers.add(name.text(), text_of(element));
  }
  return headers;
}

std::expected<AnswerInput, Error> read_answer(std::string_view text) {
  if (!trimmed(text).starts_with('{')) return read_lines(text);
  const json::Document document(text);
  if (!document.faults().empty()) {
    return std::unexpected(refusal("is not JSON: " + document.faults()[0].message));
  }
  return read_object(*document.root());
}

namespace {

constexpr std::size_t kLargestAnswer = std::size_t{16} << 20U;

int read_answer_line(const std::string& path, const std::string& line, std::size_t number,
                     const std::function<void(const AnswerInput&)>& each) {
  if (const auto answer = read_answer(line)) {
    each(*answer);
    return kOk;
  } else {
    print_error("{}:{}: {}\n", harmless(path), number, harmless(answer.error().message));
  }
  print("null\n");
  return kViolated;
}

}  // namespace

int for_each_answer(const std::string& command, const Arguments& arguments,
                    const std::function<void(const AnswerInput&)>& each) {
  if (arguments.positionals.size() > 1) return wrong_usage(command, "one file at a time");
  const std::string path = arguments.positionals.empty() ? "-" : arguments.positionals[0];
  if (arguments.has("--ndjson")) {
    return for_each_line(path, kLargestAnswer, [&](const std::string& line, std::size_t number) {
      return read_answer_line(path, line, number, each);
    });
  }
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
