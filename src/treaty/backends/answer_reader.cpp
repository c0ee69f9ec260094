#include "treaty/backends/answer_reader.h"

#include <fmt/format.h>

#include <utility>

#include "treaty/backends/failure_types.h"
#include "treaty/base/text.h"
#include "treaty/results/error_body.h"

namespace treaty::backends {
namespace {

// As much of an error body as is worth reading.
constexpr std::size_t kLargestFailure = std::size_t{1} << 20U;

// Before the first byte of an answer that tells what it is.
constexpr std::size_t kMostWhiteSpace = std::size_t{64} << 10U;

bool is_type(std::string_view content_type, std::string_view type) {
  return starts_with_folded(trimmed(content_type), type);
}

// An error may come in the frame of the stream that was asked for.
std::string unframed(const std::string& body) {
  http::EventStreamReader events;
  events.feed(body);
  auto event = events.next();
  if (!event) event = events.rest();
  return event ? std::string(event->data) : body;
}

}  // namespace

AnswerReader::AnswerReader(const Protocol& protocol, int status, const Headers& headers,
                           std::size_t largest)
    : protocol_(protocol), largest_(largest), stream_(protocol, largest) {
  constexpr int kUnauthorized = 401;
  if (status < 200 || status >= 300) form_ = Form::failure;
  status_decides_ = status == kUnauthorized || status >= 500;
  in_lines_ = is_type(headers.get("content-type"), "application/x-ndjson");
}

// No line of an event stream that means anything begins like JSON or like a proxy's page, and
// content types lie: the first byte decides. Lines of JSON can only be told by their type.
AnswerReader::Form AnswerReader::form_of_first_byte(char first) const {
  if (protocol_.framing == Framing::json_lines) return in_lines_ ? Form::stream : Form::plain;
  return first == '{' || first == '[' || first == '<' ? Form::plain : Form::stream;
}

// Keeps the bytes until the first one that tells has come, behind a byte order mark and white
// space. All of them are kept: to an event stream it matters where a line begins. Some servers send
// blank lines while they think, but not without end.
bool AnswerReader::tell_form(std::string_view bytes) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  body_.append(bytes);
  std::string_view text = body_;
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  text = trimmed(text);
  const std::size_t before =
      text.empty() ? body_.size() : static_cast<std::size_t>(text.data() - body_.data());
  if (before > kMostWhiteSpace) {
    form_ = form_of_first_byte(' ');
    return true;
  }
  if (kMark.starts_with(text)) return false;
  form_ = form_of_first_byte(text.front());
  return true;
}

std::string_view AnswerReader::feed(std::string_view bytes) {
  std::string begin;
  if (form_ == Form::unknown) {
    if (!tell_form(bytes)) return {};
    bytes = begin = std::exchange(body_, {});
  }
  if (form_ == Form::stream) {
    const std::string_view text = stream_.feed(bytes);
    gave_text_ |= !text.empty();
    return text;
  }
  const std::size_t most = form_ == Form::failure ? kLargestFailure : largest_;
  if (body_.size() + bytes.size() > most) {
    bytes = bytes.substr(0, most - body_.size());
    over_ = true;
  }
  body_.append(bytes);
  return {};
}

std::string_view AnswerReader::last_text(const contracts::AgentResult& result) const {
  if (gave_text_) return stream_.last_text();
  return result.content ? std::string_view(*result.content) : std::string_view();
}

bool AnswerReader::is_hopeless() const { return over_ || stream_.is_hopeless(); }

contracts::AgentResult AnswerReader::finish(const results::Exchange& exchange) {
  if (form_ == Form::failure && exchange.status.value_or(0) < 400) {
    return results::result_of_error(
        exchange, {.message = fmt::format("HTTP {}: the server sends the caller elsewhere, and "
                                          "redirects are not followed; check the base URL",
                                          exchange.status.value_or(0)),
                   .code = "server_error",
                   .type = "Redirect",
                   .retryable = false});
  }
  if (form_ == Form::failure) return results::result_of_failure(exchange, unframed(body_));
  results::Answer answer;
  if (form_ == Form::stream) answer = stream_.finish();
  if (over_ || stream_.is_too_large()) {
    return results::result_of_error(
        exchange, {.message = fmt::format("the answer is larger than {} MiB", largest_ >> 20U),
                   .code = "server_error",
                   .type = std::string(failure_types::kTooLarge),
                   .retryable = true});
  }
  if (form_ == Form::stream) {
    thoughts_ = std::move(answer.thoughts);
    return results::result_of_answer(exchange, std::move(answer));
  }
  if (is_utf8(body_)) answer = protocol_.parse_response(body_);
  if (!answer.complete && answer.error_body.empty() && results::is_page(trimmed(body_))) {
    return results::result_of_error(
        exchange,
        {.message = "a page of HTML came instead of an answer; is there a proxy between, or "
                    "is the base URL wrong?",
         .code = "server_error",
         .type = "NotAnAnswer",
         .retryable = true});
  }
  thoughts_ = std::move(answer.thoughts);
  plain_thinking_ = std::move(answer.thinking);
  return results::result_of_answer(exchange, std::move(answer));
}

}  // namespace treaty::backends
