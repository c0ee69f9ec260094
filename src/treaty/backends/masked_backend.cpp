#include "treaty/backends/masked_backend.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::backends {
namespace {

using contracts::AgentResult;

class Masking {
 public:
  explicit Masking(const KnownSecrets& secrets) : secrets_(secrets) {}

  void mask(std::string& text) const {
    if (auto masked = secrets_.masked(text)) text = *std::move(masked);
  }

  void mask(json::ObjectText& object) const {
    if (!secrets_.may_be_in(object.text())) return;
    const json::Document document = object.read();
    if (!is_telling(*document.root())) return;
    json::ObjectText masked = masked_object(*document.root());
    object = std::move(masked);
  }

  template <class T>
  void mask(std::optional<T>& perhaps) const {
    if (perhaps) mask(*perhaps);
  }

  void mask(contracts::AgentToolCall& call) const {
    mask(call.id);
    mask(call.name);
    mask_json(call.arguments);
  }

  // JSON as a model wrote it, or what was meant to be JSON: a secret in it may be escaped, or cut
  // off at the end of a string. JSON stays JSON, and its bytes change only where a secret is.
  void mask_json(std::string& text) const {
    if (!secrets_.may_be_in(text)) return;
    const json::Document document(text, {.max_size = text.size() + 1, .max_faults = 1});
    const auto root = document.root();
    if (!root || !document.faults().empty()) return mask(text);
    if (!is_telling(*root)) return;
    std::string masked = masked_value(*root).text();
    text = std::move(masked);
  }

  // Whether JSON text has a secret, in any spelling.
  bool is_in(std::string_view text) const {
    if (!secrets_.may_be_in(text)) return false;
    const json::Document document(text, {.max_size = text.size() + 1, .max_faults = 1});
    const auto root = document.root();
    return !root || !document.faults().empty() || is_telling(*root);
  }

  void mask(contracts::AgentError& error) const {
    mask(error.message);
    mask(error.code);
    mask(error.type);
  }

  void mask(contracts::RateLimitState& state) const {
    for (auto& window : state.windows) {
      mask(window.name);
      mask(window.resource);
    }
  }

  void mask(std::vector<contracts::AgentToolCall>& calls) const {
    for (auto& call : calls) mask(call);
  }

 private:
  // A string or a number without its secrets; nothing when it has none.
  std::optional<std::string> masked_scalar(json::Value value) const {
    if (value.is_string()) return secrets_.masked(value.text());
    return value.is_number() ? secrets_.masked(value.source()) : std::nullopt;
  }

  // Whether a text, a number or a name in it has a secret.
  bool is_telling(json::Value value) const {
    if (masked_scalar(value)) return true;
    for (const json::Value element : json::elements_of(value)) {
      if (is_telling(element)) return true;
    }
    if (!value.is_object()) return false;
    for (const json::Member member : value.members()) {
      if (is_telling(member.name) || is_telling(member.value)) return true;
    }
    return false;
  }

  // Names that have secrets come last; of those that are the same once masked, one is kept.
  json::ObjectText masked_object(json::Value object) const {
    std::vector<std::pair<std::string, json::ValueText>> members;
    std::unordered_map<std::string, std::size_t> places;  // In `members`, by name.
    for (const bool wants_secrets : {false, true}) {
      for (const json::Member member : object.members()) {
        auto masked = secrets_.masked(member.name.text());
        if (masked.has_value() != wants_secrets) continue;
        std::string name = masked ? *std::move(masked) : std::string(member.name.text());
        const auto [place, is_new] = places.try_emplace(name, members.size());
        if (is_new) {
          members.emplace_back(std::move(name), masked_value(member.value));
        } else {
          members[place->second].second = masked_value(member.value);
        }
      }
    }
    json::ObjectText out;
    for (const auto& [name, value] : members) out.add(name, value);
    return out;
  }

  json::ValueText masked_value(json::Value value) const {
    if (!is_telling(value)) return json::ValueText::of(value);
    if (auto scalar = masked_scalar(value)) return *std::move(scalar);
    if (value.is_object()) return masked_object(value);
    json::Writer writer;
    return json::ValueText::written(writer.array(
        value.elements(), [&](json::Value one) { writer.raw(masked_value(one).text()); }));
  }

  const KnownSecrets& secrets_;
};

class MaskedSink final : public Sink {
 public:
  MaskedSink(Sink& sink, const KnownSecrets& secrets)
      : sink_(sink), masking_(secrets), pieces_(secrets), thinking_(secrets) {}

  void on_text(std::string_view delta) override {
    if (late_.empty() && delta.size() <= kManyBytes) return give(pieces_.feed(delta));
    late_ += delta;
  }
  void on_progress(std::string_view kind, std::string_view data) override {
    std::string masked(data);
    masking_.mask_json(masked);
    sink_.on_progress(kind, masked);
  }
  void on_pictures_left_out() override { sink_.on_pictures_left_out(); }
  void on_thinking(std::string_view delta) override { think(thinking_.feed(delta)); }
  void on_thoughts_left_out(std::string_view why) override { sink_.on_thoughts_left_out(why); }
  void on_cut(std::size_t bytes) override { sink_.on_cut(bytes); }
  bool wants_more() const override { return sink_.wants_more(); }

  // They go back as they came or not at all, and what is masked is not as it came.
  void on_thoughts(Thoughts thoughts) override {
    think(thinking_.finish());
    if (std::ranges::any_of(thoughts.parts, [&](const results::Thought& thought) {
          return masking_.is_in(thought.json);
        })) {
      return sink_.on_thoughts_left_out("they contain a secret that is masked");
    }
    sink_.on_thoughts(std::move(thoughts));
  }

  std::size_t late_bytes() const { return late_.size(); }
  // What was not given yet, masked. For any thread.
  std::string rest() {
    std::string out(pieces_.feed(late_));
    return out += pieces_.finish();
  }
  void give(std::string_view text) {
    if (!text.empty()) sink_.on_text(text);
  }

 private:
  void think(std::string_view text) {
    if (!text.empty()) sink_.on_thinking(text);
  }

  Sink& sink_;
  Masking masking_;
  MaskedPieces pieces_;
  MaskedPieces thinking_;
  std::string late_{};  // From a large delta on.
};

}  // namespace

void mask(AgentResult& result, const KnownSecrets& secrets) {
  const Masking masking(secrets);
  masking.mask(result.output);
  masking.mask(result.content);
  masking.mask(result.metadata);
  masking.mask(result.finish_reason);
  masking.mask(result.error);
  masking.mask(result.rate_limit);
  masking.mask(result.provider_data);
  masking.mask(result.tool_calls);
  masking.mask(result.rendered_user_prompt);
}

boost::asio::awaitable<AgentResult> MaskedBackend::run(const Call& call, Sink& sink) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);  // A cancelled call has its result.
  MaskedSink masked(sink, *secrets_);
  AgentResult result = co_await backend_->run(call, masked);
  const auto mask_all = [&] {
    mask(result, *secrets_);
    return masked.rest();
  };
  std::optional<std::string> rest;
  if (pool_ != nullptr && text_bytes(result) + masked.late_bytes() > kManyBytes) {
    if (auto done = co_await pool_->run(mask_all)) rest = *std::move(done);
  }
  masked.give(rest ? *rest : mask_all());
  co_return result;
}

}  // namespace treaty::backends
