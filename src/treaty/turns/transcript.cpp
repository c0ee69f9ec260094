#include "treaty/turns/transcript.h"

#include <cmath>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::turns {
namespace {

using backends::AssistantMessage;
using backends::ImagePart;
using backends::Message;
using backends::Part;
using backends::TextPart;
using backends::ToolMessage;
using backends::UserMessage;
using contracts::AgentToolCall;
using contracts::Usage;

// --- Out ----------------------------------------------------------------------------------------

void write(json::Writer& writer, const UserMessage& message) {
  writer.begin_object().member("role", "user").name("parts");
  writer.objects(message.parts, [&](const Part& part) {
    if (const auto* text = std::get_if<TextPart>(&part)) {
      writer.member("text", text->text);
    } else {
      const auto& image = std::get<ImagePart>(part);
      writer.member("media_type", image.media_type).member("base64", image.base64);
    }
  });
  writer.end_object();
}

void write(json::Writer& writer, const AssistantMessage& message) {
  writer.begin_object().member("role", "assistant").member("text", message.text);
  if (!message.tool_calls.empty()) {
    writer.name("tool_calls").objects(message.tool_calls, [&](const AgentToolCall& call) {
      writer.member("id", call.id).member("name", call.name).member("arguments", call.arguments);
    });
  }
  if (!message.thoughts.parts.empty()) {
    writer.member("author", message.thoughts.author);
    if (message.thoughts.lasting) writer.member("lasting", true);
    writer.name("thoughts").objects(message.thoughts.parts, [&](const results::Thought& thought) {
      writer.member("text", thought.text).member("calls", thought.calls);
      writer.member("json", thought.json);
    });
  }
  writer.end_object();
}

void write(json::Writer& writer, const ToolMessage& message) {
  writer.begin_object().member("role", "tool").member("id", message.tool_call_id);
  writer.member("name", message.tool_name).member("content", message.content);
  writer.member("failed", message.failed).end_object();
}

void write(json::Writer& writer, const Usage& usage) {
  writer.begin_object().member("prompt", usage.prompt_tokens);
  writer.member("completion", usage.completion_tokens).member("total", usage.total_tokens);
  if (usage.cached_tokens) writer.member("cached", *usage.cached_tokens);
  if (usage.reasoning_tokens) writer.member("reasoning", *usage.reasoning_tokens);
  writer.end_object();
}

void write(json::Writer& writer, const Progress& progress) {
  writer.begin_object();
  if (progress.usage) {
    writer.name("usage");
    write(writer, *progress.usage);
  }
  if (std::isfinite(progress.cost) && progress.cost != 0) writer.member("cost", progress.cost);
  if (progress.tool_rounds != 0) writer.member("tool_rounds", progress.tool_rounds);
  if (!progress.calls.empty()) {
    writer.name("calls").begin_object();
    for (const auto& [call, count] : progress.calls) writer.member(call, count);
    writer.end_object();
  }
  if (!progress.call_ids.empty()) {
    writer.name("call_ids").array(progress.call_ids, [&](const auto& id) { writer.value(id); });
  }
  if (progress.was_continued) writer.member("was_continued", true);
  writer.end_object();
}

// --- In -----------------------------------------------------------------------------------------

// Takes the members of an object in the order in which they were written. The first that is not as
// expected spoils the whole reading; what is read afterwards is of no use to anybody.
class Members {
 public:
  Members(json::Value object, bool& good) : good_(good) {
    if (!object.is_object()) {
      good_ = false;
      return;
    }
    at_.emplace(object.members().begin());
    end_.emplace(object.members().end());
  }

  bool at_end() const { return !at_ || *at_ == *end_; }
  bool next_is(std::string_view name) const { return !at_end() && (**at_).name.text() == name; }

  // The next member, whatever its name.
  std::optional<json::Member> take() {
    if (at_end()) return std::nullopt;
    const json::Member member = **at_;
    ++*at_;
    return member;
  }

  std::optional<json::Value> take(std::string_view name) {
    if (!next_is(name)) {
      good_ = false;
      return std::nullopt;
    }
    return take()->value;
  }

  std::string text(std::string_view name) {
    const auto value = take(name);
    good_ = good_ && value && value->is_string();
    return good_ ? std::string(value->text()) : std::string();
  }

  std::int64_t integer(std::string_view name) {
    const auto value = take(name);
    const auto integer = value ? value->integer() : std::nullopt;
    good_ = good_ && integer;
    return integer.value_or(0);
  }

  std::optional<std::int64_t> perhaps_integer(std::string_view name) {
    if (!next_is(name)) return std::nullopt;
    return integer(name);
  }

  bool boolean(std::string_view name) {
    const auto value = take(name);
    good_ = good_ && value && value->is_boolean();
    return good_ && value->boolean();
  }

  // Calls `read` with every element of an array,
  template <class Read>
  void each(std::string_view name, Read read) {
    const auto array = take(name);
    good_ = good_ && array && array->is_array();
    if (!good_) return;
    for (const json::Value element : array->elements()) read(element);
  }

  // which is left out when it is empty.
  template <class Read>
  void perhaps_each(std::string_view name, Read read) {
    if (next_is(name)) each(name, read);
  }

  ~Members() { good_ = good_ && at_end(); }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

 private:
  bool& good_;
  std::optional<json::Members::iterator> at_{};
  std::optional<json::Members::iterator> end_{};
};

class Reading {
 public:
  bool good() const { return good_; }

  Transcript transcript(json::Value root) {
    Transcript transcript;
    Members members(root, good_);
    members.each("messages",
                 [&](json::Value value) { transcript.messages.push_back(message(value)); });
    if (members.next_is("progress")) transcript.progress = progress(*members.take("progress"));
    members.perhaps_each("refused", [&](json::Value author) {
      good_ = good_ && author.is_string();
      if (good_) transcript.refused.emplace(author.text());
    });
    return transcript;
  }

 private:
  Message message(json::Value value) {
    Members members(value, good_);
    const std::string role = members.text("role");
    if (role == "assistant") return assistant(members);
    if (role == "tool") return tool(members);
    good_ = good_ && role == "user";
    return user(members);
  }

  AssistantMessage assistant(Members& members) {
    AssistantMessage message{.text = members.text("text")};
    members.perhaps_each("tool_calls", [&](json::Value value) {
      Members call(value, good_);
      message.tool_calls.push_back(
          {.id = call.text("id"), .name = call.text("name"), .arguments = call.text("arguments")});
    });
    if (!members.next_is("author")) return message;
    message.thoughts.author = members.text("author");
    message.thoughts.lasting = members.next_is("lasting") && members.boolean("lasting");
    members.each("thoughts", [&](json::Value value) {
      Members thought(value, good_);
      message.thoughts.parts.push_back({.text = place(thought.integer("text")),
                                        .calls = place(thought.integer("calls")),
                                        .json = thought.text("json")});
    });
    return message;
  }

  static ToolMessage tool(Members& members) {
    return {.tool_call_id = members.text("id"),
            .tool_name = members.text("name"),
            .content = members.text("content"),
            .failed = members.boolean("failed")};
  }

  UserMessage user(Members& members) {
    UserMessage message;
    members.each("parts", [&](json::Value value) {
      Members part(value, good_);
      if (part.next_is("text")) {
        message.parts.emplace_back(TextPart{part.text("text")});
      } else {
        message.parts.emplace_back(
            ImagePart{.media_type = part.text("media_type"), .base64 = part.text("base64")});
      }
    });
    return message;
  }

  Usage usage(json::Value value) {
    Members members(value, good_);
    return {.prompt_tokens = members.integer("prompt"),
            .completion_tokens = members.integer("completion"),
            .total_tokens = members.integer("total"),
            .cached_tokens = members.perhaps_integer("cached"),
            .reasoning_tokens = members.perhaps_integer("reasoning")};
  }

  std::size_t place(std::int64_t value) {
    good_ = good_ && value >= 0;
    return good_ ? static_cast<std::size_t>(value) : 0;
  }

  int count(std::optional<std::int64_t> value) {
    good_ = good_ && value && *value >= 0 && *value <= kMostCounted;
    return good_ ? static_cast<int>(*value) : 0;
  }

  Progress progress(json::Value value) {
    Progress progress;
    Members members(value, good_);
    if (members.next_is("usage")) progress.usage = usage(*members.take("usage"));
    if (members.next_is("cost")) {
      const auto cost = members.take("cost");
      good_ = good_ && cost->is_number();
      if (good_) progress.cost = cost->number();
    }
    progress.tool_rounds = count(members.perhaps_integer("tool_rounds").value_or(0));
    if (members.next_is("calls")) {
      Members made(*members.take("calls"), good_);
      while (const auto call = made.take()) {
        progress.calls.emplace(call->name.text(), count(call->value.integer()));
      }
    }
    members.perhaps_each("call_ids", [&](json::Value id) {
      good_ = good_ && id.is_string();
      if (good_) progress.call_ids.emplace(id.text());
    });
    if (members.next_is("was_continued")) {
      const auto continued = members.take("was_continued");
      good_ = good_ && continued->is_boolean();
      progress.was_continued = good_ && continued->boolean();
    }
    return progress;
  }

  static constexpr std::int64_t kMostCounted = 1'000'000'000;
  bool good_ = true;
};

}  // namespace

std::string encode(const Transcript& transcript) {
  json::Writer writer;
  writer.begin_object().name("messages").array(transcript.messages, [&](const Message& message) {
    std::visit([&](const auto& kind) { write(writer, kind); }, message);
  });
  if (transcript.progress != Progress{}) write(writer.name("progress"), transcript.progress);
  if (!transcript.refused.empty()) {
    writer.name("refused").array(transcript.refused, [&](const auto& one) { writer.value(one); });
  }
  return writer.end_object().take();
}

std::expected<Transcript, Error> decode_transcript(std::string_view json) {
  // Of any size: what was written once must be read again.
  const json::Document document(json, {.max_size = json.size() + 1, .max_faults = 1});
  Reading reading;
  if (document.root() && document.faults().empty()) {
    Transcript transcript = reading.transcript(*document.root());
    if (reading.good()) return transcript;
  }
  return fail(ErrorCode::corrupt,
              "a transcript in the journal cannot be read: it is damaged, or was "
              "written by another version");
}

}  // namespace treaty::turns
