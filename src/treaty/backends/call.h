// One call of a model, whoever serves it: what every protocol can render.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "treaty/contracts/agent_result.h"
#include "treaty/results/thought.h"
#include "treaty/tools/tool.h"

namespace treaty::backends {

struct TextPart {
  std::string text;
  bool operator==(const TextPart&) const = default;
};

struct ImagePart {
  std::string media_type;  // "image/png".
  std::string base64;
  bool operator==(const ImagePart&) const = default;
};

using Part = std::variant<TextPart, ImagePart>;

struct UserMessage {
  std::vector<Part> parts;
  bool operator==(const UserMessage&) const = default;
};

// The thoughts of one answer, and who had them: they go back to that author only.
struct Thoughts {
  std::string author{};  // Call::author of the call that they came from.
  std::vector<results::Thought> parts{};
  bool lasting = false;  // The author wants them in later turns, too.
  bool operator==(const Thoughts&) const = default;
};

struct AssistantMessage {
  std::string text{};
  std::vector<contracts::AgentToolCall> tool_calls{};
  Thoughts thoughts{};  // Without parts: none.
  bool operator==(const AssistantMessage&) const = default;
};

// What one tool gave back. Consecutive ones answer the calls of the message before them.
struct ToolMessage {
  std::string tool_call_id;
  std::string tool_name;
  std::string content;
  bool failed = false;
  bool operator==(const ToolMessage&) const = default;
};

using Message = std::variant<UserMessage, AssistantMessage, ToolMessage>;

// Bytes of text in it: what was said, arguments of calls, results; pictures do not count.
std::size_t text_bytes(const Message& message);

// Bytes of memory that it takes, pictures included.
std::size_t memory_of(const Message& message);

// Messages in their order, which do not change any more. Copies share them, so that a long history
// goes from turn to turn without being copied.
class Messages {
 public:
  class Iterator {
   public:
    explicit Iterator(const Message* const* at) : at_(at) {}
    const Message& operator*() const { return **at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Message* const* at_;
  };

  Messages() = default;
  Messages(std::initializer_list<Message> messages) {
    for (const Message& message : messages) push_back(message);
  }

  void push_back(Message message) {
    auto kept = std::make_shared<const Message>(std::move(message));
    bytes_ += text_bytes(*kept);
    order_.push_back(kept.get());
    owners_.push_back(std::move(kept));
  }

  // Messages that `owner` keeps, as they are, with so many bytes of text. They are not looked at: a
  // long history is far from the processor.
  void share(std::span<const Message> messages, std::size_t bytes,
             const std::shared_ptr<const void>& owner) {
    bytes_ += bytes;
    for (const Message& message : messages) order_.push_back(&message);
    if (owners_.empty() || owners_.back() != owner) owners_.push_back(owner);
  }

  std::size_t size() const { return order_.size(); }
  bool empty() const { return order_.empty(); }
  std::size_t bytes() const { return bytes_; }  // Of text.
  const Message& operator[](std::size_t place) const { return *order_[place]; }
  const Message& back() const { return *order_.back(); }
  Iterator begin() const { return Iterator(order_.data()); }
  Iterator end() const { return Iterator(order_.data() + order_.size()); }

 private:
  std::vector<const Message*> order_{};
  std::vector<std::shared_ptr<const void>> owners_{};
  std::size_t bytes_ = 0;
};

// Whether the newest message of the user has pictures.
bool has_pictures(const Messages& messages);

using Tool = tools::ToolDeclaration;

// Structured output: the text of the answer shall be JSON that fits the schema.
struct OutputSchema {
  std::string name = "output";
  std::string schema_json;
  bool strict = true;  // Every member is required and typed: providers can be held to it.
  bool operator==(const OutputSchema&) const = default;
};

// How a model draws its words. What a protocol has no name for is left out.
struct Sampling {
  std::optional<double> top_p{};
  std::optional<std::int64_t> top_k{};
  std::optional<double> frequency_penalty{};
  std::optional<double> presence_penalty{};
  std::optional<std::int64_t> seed{};
  bool operator==(const Sampling&) const = default;
};

// How much a model shall think before it answers. With neither member: as much as it does by
// itself.
enum class Effort { minimal, low, medium, high };
constexpr std::array<std::string_view, 4> kEffortNames = {"minimal", "low", "medium", "high"};
std::string_view name_of(Effort effort);
std::optional<Effort> effort_of(std::string_view name);  // In any case; nothing: it is none.

struct Reasoning {
  std::optional<Effort> effort{};
  std::optional<std::int64_t> budget_tokens{};
  bool operator==(const Reasoning&) const = default;
};

// How long a backend may take for a part of a call. What is absent is not limited here.
struct CallTimeouts {
  std::optional<std::chrono::milliseconds> connect{};
  std::optional<std::chrono::milliseconds> first_token{};  // To the first piece of a stream.
  std::optional<std::chrono::milliseconds> stall{};        // Between two pieces of it.
  bool operator==(const CallTimeouts&) const = default;
};

// The turn that a call is made for, as the store numbers it.
struct CallOrigin {
  std::int64_t session = 0;  // 0: no turn.
  std::int64_t round = 0;    // Within the turn.
  bool operator==(const CallOrigin&) const = default;
};

struct Call {
  std::string model;
  std::string system{};
  Messages messages{};
  std::vector<Tool> tools{};
  std::optional<OutputSchema> output{};
  std::optional<std::int64_t> max_output_tokens{};
  std::optional<double> temperature{};
  Sampling sampling{};
  std::vector<std::string> stop{};
  std::optional<Reasoning> reasoning{};
  bool stream = false;
  CallTimeouts timeouts{};

  // Names the model and the address that are asked: thoughts of the same author are sent with the
  // messages, and thoughts of this answer are kept under it. Empty: none are sent, none are kept.
  std::string author{};
  bool sends_thoughts = true;   // False: the author has refused those of this call.
  bool shows_thinking = false;  // Ask for readable summaries where they are off by default.

  bool caches = true;          // The provider may keep the prompt for the calls that follow.
  std::string conversation{};  // Names the session, for providers that keep prompts by name.

  // Whoever asks, by a name of its own that no other asker has or had: a backend that keeps what it
  // does goes on with it when the same one asks again. Empty: nobody asks again.
  std::string asker{};
  CallOrigin origin{};
  std::int64_t depth = 0;  // How many machines stand above this call.

  // Whether it says how the answer is to be made: how long, how free, where to stop.
  bool has_settings() const {
    return max_output_tokens || temperature || !stop.empty() || sampling != Sampling{};
  }
};

}  // namespace treaty::backends
