#include "treaty/mock/scripted_answer.h"

#include "treaty/backends/scripted/script_player.h"

namespace treaty::mock {
namespace {

using backends::OutgoingAnswer;

backends::OutgoingUsage usage_of(const backends::Reply& reply, const OutgoingAnswer& answer,
                                 std::size_t prompt_bytes) {
  std::size_t said = answer.refusal.size();
  for (const std::string& piece : answer.pieces) said += piece.size();
  for (const auto& call : answer.tool_calls) said += call.name.size() + call.arguments.size();
  const backends::ScriptedUsage given = reply.usage.value_or(backends::ScriptedUsage{});
  return {.input = given.input_tokens.value_or(backends::estimated_tokens(prompt_bytes)),
          .output = given.output_tokens.value_or(backends::estimated_tokens(said)),
          .cache_read = given.cache_read_tokens,
          .cache_write = given.cache_write_tokens};
}

std::string finish_of(const backends::Reply& reply) {
  if (reply.finish_reason) return *reply.finish_reason;
  if (!reply.tool_calls.empty()) return "tool_use";
  return reply.refusal ? "content_filter" : "stop";
}

}  // namespace

std::string Ids::next(std::string_view prefix, std::size_t length) {
  constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id(prefix);
  while (id.size() < prefix.size() + length) id += kLetters[random_() % kLetters.size()];
  return id;
}

std::string Ids::bytes(std::size_t length) {
  std::string out;
  out.reserve(length);
  while (out.size() < length) out += static_cast<char>(random_());
  return out;
}

OutgoingAnswer scripted_answer(const backends::Reply& reply,
                               const backends::ReceivedRequest& request, std::size_t prompt_bytes,
                               const backends::Protocol& protocol, std::int64_t now, Ids& ids) {
  OutgoingAnswer answer{.id = ids.next(protocol.ids.answer, 24),
                        .message_id = ids.next(protocol.ids.message, 24),
                        .created = now,
                        .model = reply.model.value_or(request.call.model),
                        .refusal = reply.refusal.value_or(""),
                        .finish_reason = finish_of(reply),
                        .with_ids = !reply.faults.missing_ids,
                        .include_usage = request.include_usage};
  answer.pieces = reply.text.size() == 1 ? backends::spoken_pieces(reply.text[0]) : reply.text;
  for (const backends::ScriptedToolCall& call : reply.tool_calls) {
    answer.tool_calls.push_back({.id = call.id.value_or(ids.next(protocol.ids.tool_call, 22)),
                                 .item_id = ids.next("fc_", 24),
                                 .name = call.name,
                                 .arguments = call.arguments});
  }
  answer.usage = usage_of(reply, answer, prompt_bytes);
  return answer;
}

backends::OutgoingError scripted_error(const backends::ScriptedError& error,
                                       const backends::Protocol& protocol, std::string_view model,
                                       std::string request_id) {
  backends::OutgoingError outgoing = backends::usual_error(protocol, error.status, model);
  outgoing.request_id = std::move(request_id);
  if (error.message) outgoing.message = *error.message;
  if (error.type) {
    outgoing.type = *error.type;
    outgoing.code.reset();
  }
  if (error.code) {
    outgoing.code.reset();  // `code: ""` stands for null.
    if (!error.code->empty()) outgoing.code = error.code;
  }
  return outgoing;
}

}  // namespace treaty::mock
