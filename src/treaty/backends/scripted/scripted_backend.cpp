#include "treaty/backends/scripted/scripted_backend.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <limits>

#include "treaty/backends/answer_reader.h"
#include "treaty/base/json_write.h"
#include "treaty/base/notifier.h"
#include "treaty/results/agent_results.h"

namespace treaty::backends {
namespace {

namespace asio = boost::asio;
using contracts::AgentError;
using contracts::AgentResult;

// As much as the HTTP client takes of an answer.
constexpr std::size_t kLargestAnswer = std::size_t{32} << 20U;

// False when the call was cancelled meanwhile. No time at all still lets others have their turn.
asio::awaitable<bool> wait(std::chrono::steady_clock::duration time) {
  if (time.count() == 0) {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  } else {
    co_await sleep_for(time);
  }
  co_return !co_await is_cancelled();
}

asio::awaitable<bool> wait_for_ever() {
  while (co_await wait(std::chrono::hours(1))) {
  }
  co_return false;
}

AgentError broken(std::string type, std::string message) {
  return {.message = std::move(message),
          .code = "server_error",
          .type = std::move(type),
          .retryable = true};
}

std::string error_body(const ScriptedError& error) {
  json::Writer writer;
  writer.begin_object().name("error").begin_object();
  writer.member("message", error.message.value_or("The script says so."));
  if (error.type) writer.member("type", *error.type);
  if (error.code) writer.member("code", *error.code);
  return writer.end_object().end_object().take();
}

results::Answer answer_of(const Reply& reply, const Asked& asked) {
  results::Answer answer{.refusal = reply.refusal.value_or(""),
                         .finish_reason_raw = reply.finish_reason.value_or(
                             reply.tool_calls.empty() ? "stop" : "tool_use"),
                         .model = reply.model.value_or(asked.model)};
  std::size_t said = answer.refusal.size();
  for (const std::string& text : reply.thinking) said += text.size();
  for (const std::string& text : reply.text) said += text.size();
  for (const ScriptedToolCall& call : reply.tool_calls) {
    answer.tool_calls.push_back({.id = reply.faults.missing_ids ? "" : call.id.value_or(""),
                                 .name = call.name,
                                 .arguments = call.arguments});
    said += call.name.size() + call.arguments.size();
  }
  const ScriptedUsage usage = reply.usage.value_or(ScriptedUsage{});
  const std::int64_t input = usage.input_tokens.value_or(estimated_tokens(asked.prompt_bytes));
  const std::int64_t output = usage.output_tokens.value_or(estimated_tokens(said));
  answer.usage = contracts::UsageInfo{.input_tokens = input,
                                      .output_tokens = output,
                                      .total_tokens = input + output,
                                      .api_calls = 1};
  if (usage.cache_read_tokens > 0) answer.usage->cache_read_tokens = usage.cache_read_tokens;
  if (usage.cache_write_tokens > 0) answer.usage->cache_write_tokens = usage.cache_write_tokens;
  return answer;
}

// One call on its way: what is known of its answer so far.
struct Run {
  const Reply& reply;
  results::Exchange& exchange;
  results::Answer answer;
  Sink& sink;
  std::size_t limit;  // Bytes of text before the answer breaks off.
  bool is_heard;      // While it is said: piece by piece, and others have their turn in between.
};

AgentResult aborted(const Run& run) {
  return results::result_of_error(run.exchange, cancelled_error(), "aborted");
}

// Tells the thoughts, piece by piece. False when the call was cancelled.
asio::awaitable<bool> think(Run& run) {
  for (const std::string& piece : spoken_pieces(run.reply.thinking)) {
    const bool pauses = run.is_heard || run.reply.chunk_delay.count() > 0;
    if (!run.answer.thinking.empty() && pauses && !co_await wait(run.reply.chunk_delay)) {
      co_return false;
    }
    run.sink.on_thinking(piece);
    run.answer.thinking += piece;
  }
  co_return true;
}

// As Chat Completions has them.
void give_thoughts(Sink& sink, std::string_view thinking, const Call& call) {
  if (thinking.empty() || call.author.empty()) return;
  json::Writer writer;
  writer.begin_object().member("reasoning_content", thinking).end_object();
  sink.on_thoughts({.author = call.author, .parts = {{.json = writer.take()}}});
}

// Says the text, piece by piece. False when the call was cancelled.
asio::awaitable<bool> say(Run& run) {
  const std::vector<std::string> pieces = spoken_pieces(run.reply.text);
  const bool endless = run.reply.faults.endless && !pieces.empty();
  for (std::size_t i = 0; endless || i < pieces.size(); ++i) {
    const bool pauses = i > 0 && (run.is_heard || endless || run.reply.chunk_delay.count() > 0);
    if (pauses && !co_await wait(run.reply.chunk_delay)) co_return false;
    const std::string& piece = pieces[std::min(i, pieces.size() - 1)];
    if (run.answer.content.size() + piece.size() > run.limit) co_return true;
    run.sink.on_text(piece);
    run.answer.content += piece;
  }
  co_return true;
}

// What the faults make of an answer that was said.
AgentResult result_after_faults(Run& run) {
  const Faults& faults = run.reply.faults;
  if (faults.endless) {
    return results::result_of_error(run.exchange,
                                    broken("AnswerTooLarge", "the answer is too large"));
  }
  if (faults.cut || faults.reset) {
    return results::result_of_error(
        run.exchange,
        broken("ConnectionReset", "the connection broke before the answer was whole"));
  }
  if (faults.garbage || faults.malformed != Malformed::no) {
    run.answer = {};
    return results::result_of_answer(run.exchange, std::move(run.answer));
  }
  if (run.reply.error) {
    run.answer.error_body = error_body(*run.reply.error);
  } else {
    run.answer.complete = true;
  }
  return results::result_of_answer(run.exchange, std::move(run.answer));
}

std::size_t limit_of(const Faults& faults) {
  for (const auto& point : {faults.cut, faults.reset, faults.stall}) {
    if (point) return point->body_bytes;
  }
  if (faults.garbage) return faults.garbage->after;
  return faults.endless ? kLargestAnswer : std::numeric_limits<std::size_t>::max();
}

}  // namespace

ScriptedBackend::ScriptedBackend(std::shared_ptr<ScriptPlayer> player,
                                 std::shared_ptr<const Clock> clock)
    : player_(std::move(player)), clock_(std::move(clock)) {}

asio::awaitable<AgentResult> ScriptedBackend::run(const Call& call, Sink& sink) {
  co_await asio::this_coro::throw_if_cancelled(false);  // A cancelled call still has its result.
  const Asked asked = asked_of(call);
  const Reply reply = player_->next(asked);
  const Faults& faults = reply.faults;
  Headers headers = player_->script().headers;
  for (const auto& [name, value] : reply.headers) headers.set(name, value);
  results::Exchange exchange{.provider = "scripted",
                             .headers = headers,
                             .now = unix_seconds(clock_->wall_now()),
                             .wants_output = call.output.has_value()};
  Run run{reply, exchange, answer_of(reply, asked), sink, limit_of(faults), call.stream};
  if (!co_await wait(reply.delay)) co_return aborted(run);
  for (const auto& point : {faults.cut, faults.reset}) {
    if (point && point->before_head) {
      co_return results::result_of_error(exchange, broken("ConnectionReset", "no answer came"));
    }
  }
  if (faults.stall && faults.stall->before_head) {
    co_await wait_for_ever();
    co_return aborted(run);
  }
  exchange.status = reply.status.value_or(200);
  if (reply.body) {
    if (reply.content_type) headers.set("content-type", *reply.content_type);
    AnswerReader reader(chat_completions(), *exchange.status, headers);
    reader.feed(*reply.body);
    co_return reader.finish(exchange);
  }
  // As over the wire: with a text before it, an error comes in the middle of a stream.
  if (reply.error && (reply.text.empty() || !call.stream)) {
    exchange.status = reply.error->status;
    co_return results::result_of_failure(exchange, error_body(*reply.error));
  }
  if (!co_await think(run) || !co_await say(run)) co_return aborted(run);
  if (faults.stall) {
    co_await wait_for_ever();
    co_return aborted(run);
  }
  const std::string thinking = run.answer.thinking;
  AgentResult result = result_after_faults(run);
  if (!result.error) give_thoughts(sink, thinking, call);
  co_return result;
}

}  // namespace treaty::backends
