#include "treaty/turns/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "treaty/base/base64.h"
#include "treaty/base/text.h"

namespace treaty::turns {
namespace {

using backends::ImagePart;
using backends::Message;
using backends::Part;
using backends::TextPart;
using contracts::Encoding;
using contracts::InputArtifact;
using contracts::UserTurn;

constexpr std::string_view kArtifact = "artifact";
constexpr std::string_view kWorkspace = "workspace";
constexpr std::string_view kSolution = "solution-context";

constexpr std::size_t kBytesOfToken = 4;
constexpr std::size_t kTokensOfImage = 1'500;  // About what providers count for a large one.
constexpr std::size_t kTokensOfFrame = 4;      // What a message or a call costs beside its text.

// --- Artifacts ----------------------------------------------------------------------------------

bool is_text(std::string_view bytes) { return !bytes.contains('\0') && is_utf8(bytes); }

// `Image/PNG; q=1` is image/png, and image/jpg what everybody means by it.
std::string image_type(std::string_view mime_type) {
  const std::string type = folded(trimmed(mime_type.substr(0, mime_type.find(';'))));
  return type == "image/jpg" ? "image/jpeg" : type;
}

// An image of markup is text that a model can read.
bool is_picture(std::string_view mime_type) {
  const std::string type = image_type(mime_type);
  return type.starts_with("image/") && !type.ends_with("+xml");
}

std::string_view last_segment(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// An artifact as it is going to be shown.
struct Prepared {
  const InputArtifact& artifact;
  std::string path{};  // With `/` between its segments, as REQ-31 reads it.
  std::string bytes{};
  std::string size{};
  std::string image{};  // Its place among the images, from 1; empty when it is none.
  bool readable = false;

  std::string_view contents() const {
    return artifact.encoding == Encoding::base64 ? std::string_view(bytes)
                                                 : std::string_view(artifact.contents);
  }
};

Prepared prepare(const InputArtifact& artifact, std::vector<Part>& images) {
  Prepared prepared{.artifact = artifact, .path = artifact.relative_path};
  std::ranges::replace(prepared.path, '\\', '/');
  const bool encoded = artifact.encoding == Encoding::base64;
  if (encoded && artifact.mime_type && is_picture(*artifact.mime_type) &&
      base64_decoded_size(artifact.contents).value_or(0) > 0) {
    images.emplace_back(ImagePart{image_type(*artifact.mime_type), artifact.contents});
    prepared.image = std::to_string(images.size());
    return prepared;
  }
  if (encoded) prepared.bytes = base64_decode(artifact.contents).value_or("");
  prepared.readable = is_text(prepared.contents());
  if (!prepared.readable) prepared.size = std::to_string(prepared.contents().size());
  return prepared;
}

std::vector<Attribute> attributes_of(const Prepared& prepared) {
  const InputArtifact& artifact = prepared.artifact;
  std::vector<Attribute> attributes = {{"path", prepared.path}};
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) attributes.push_back({name, value});
  };
  if (artifact.file_name != last_segment(prepared.path)) add("name", artifact.file_name);
  if (artifact.mime_type) add("type", *artifact.mime_type);
  if (artifact.language) add("language", *artifact.language);
  add("origin", artifact.origin == contracts::Origin::ide ? "ide" : "user");
  add("image", prepared.image);
  if (!prepared.size.empty()) {
    add("bytes", prepared.size);
    add("omitted", "not text");
  }
  return attributes;
}

std::vector<Attribute> hints_of(const UserTurn& turn) {
  std::vector<Attribute> hints;
  const auto add = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value && !is_blank(*value)) hints.push_back({name, *value});
  };
  add("id", turn.workspace_id);
  add("repo", turn.repo);
  add("language", turn.language);
  return hints;
}

// The name of a file in a sentence: on one line, and not longer than one reads.
std::string shown_name(std::string_view path) {
  constexpr std::size_t kLongestName = 200;
  std::string name(utf8_prefix(path, kLongestName));
  std::ranges::replace_if(name, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return name.size() < path.size() ? name + "…" : name;
}

std::vector<std::string> warnings_of(const UserTurn& turn, const std::vector<Prepared>& artifacts) {
  constexpr std::size_t kMostNamed = 10;
  std::vector<std::string> warnings;
  std::size_t left_out = 0;
  for (const Prepared& prepared : artifacts) {
    if (prepared.readable || !prepared.image.empty()) continue;
    if (++left_out > kMostNamed) continue;
    warnings.push_back(fmt::format(
        "The file {} was left out: it is neither text nor a picture, so the model got only its "
        "name and size ({} bytes).",
        shown_name(prepared.path), prepared.size));
  }
  if (left_out > kMostNamed) {
    warnings.push_back(fmt::format(
        "{} more files were left out: they are neither text nor pictures.", left_out - kMostNamed));
  }
  if (turn.rag_scope) {
    warnings.emplace_back("There is no index to search: RagScope was not used for this answer.");
  }
  return warnings;
}

// --- One message of a user

// One number for all blocks of a message, which no text of it has: nothing in it can pass for one.
std::uint32_t number_for(const UserTurn& turn, const std::vector<Prepared>& artifacts,
                         const std::vector<Attribute>& hints) {
  std::vector<std::string_view> texts;
  for (const Prepared& prepared : artifacts) {
    if (prepared.readable) texts.push_back(prepared.contents());
    for (const Attribute& attribute : attributes_of(prepared)) texts.push_back(attribute.value);
  }
  for (const Attribute& hint : hints) texts.push_back(hint.value);
  if (turn.instruction) texts.push_back(*turn.instruction);
  return free_number(std::array{kArtifact, kWorkspace}, texts);
}

std::size_t tokens_of(std::string_view text) {
  return (text.size() + kBytesOfToken - 1) / kBytesOfToken;
}

std::size_t tokens_of(const backends::UserMessage& message) {
  std::size_t tokens = kTokensOfFrame;
  for (const Part& part : message.parts) {
    const auto* text = std::get_if<TextPart>(&part);
    tokens += text != nullptr ? tokens_of(text->text) : kTokensOfImage;
  }
  return tokens;
}

std::size_t tokens_of(const backends::AssistantMessage& message) {
  std::size_t tokens = kTokensOfFrame + tokens_of(message.text);
  for (const auto& call : message.tool_calls) {
    tokens += kTokensOfFrame + tokens_of(call.name) + tokens_of(call.arguments);
  }
  return tokens;
}

std::size_t tokens_of(const backends::ToolMessage& message) {
  return kTokensOfFrame + tokens_of(message.content);
}

// --- Tagged blocks

// More digits than a number needs that no text of a request can use up.
constexpr std::size_t kMostDigits = 9;

// Every number that is written right behind `at`: of 123 also 1 and 12.
void add_numbers(std::vector<std::uint32_t>& numbers, std::string_view text, std::size_t at) {
  std::uint32_t number = 0;
  const std::size_t digits = run_length(text, at, is_digit, kMostDigits);
  for (std::size_t i = 0; i < digits; ++i) {
    number = number * 10 + static_cast<std::uint32_t>(text[at + i] - '0');
    if (number == 0) return;  // No number of ours begins with a zero.
    numbers.push_back(number);
  }
}

// U+0085, U+2028 and U+2029 break lines, too, for some.
bool breaks_line(char32_t c) { return c == 0x85 || c == 0x2028 || c == 0x2029; }

void append_value(std::string& out, std::string_view value) {
  while (!value.empty()) {
    const CodePoint next = read_code_point(value);
    const std::size_t length = std::max<std::size_t>(next.length, 1);
    switch (next.value) {
      case U'"': out += "&quot;"; break;
      case U'<': out += "&lt;"; break;
      case U'>': out += "&gt;"; break;
      case U'&': out += "&amp;"; break;
      default:
        if (next.value < 0x20 || next.value == 0x7F || breaks_line(next.value)) {
          fmt::format_to(std::back_inserter(out), "&#{};", static_cast<std::uint32_t>(next.value));
        } else {
          out.append(value.substr(0, length));
        }
    }
    value.remove_prefix(length);
  }
}

void append_head(std::string& out, const Tag& tag, std::span<const Attribute> attributes) {
  fmt::format_to(std::back_inserter(out), "<{}-{}", tag.word, tag.number);
  for (const Attribute& attribute : attributes) {
    fmt::format_to(std::back_inserter(out), " {}=\"", attribute.name);
    append_value(out, attribute.value);
    out.push_back('"');
  }
}

}  // namespace

std::uint32_t free_number(std::span<const std::string_view> words,
                          std::span<const std::string_view> texts) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view word : words) {
    const std::string beginning = fmt::format("{}-", word);
    for (const std::string_view text : texts) {
      for (std::size_t at = text.find(beginning); at != std::string_view::npos;
           at = text.find(beginning, at + 1)) {
        add_numbers(numbers, text, at + beginning.size());
      }
    }
  }
  std::ranges::sort(numbers);
  std::uint32_t free = 1;
  for (const std::uint32_t number : numbers) {
    if (number == free) ++free;
  }
  return free;
}

void append_block(std::string& out, const Tag& tag, std::span<const Attribute> attributes,
                  std::string_view contents) {
  append_head(out, tag, attributes);
  out += ">\n";
  out += contents;
  fmt::format_to(std::back_inserter(out), "\n</{}-{}>\n", tag.word, tag.number);
}

void append_mark(std::string& out, const Tag& tag, std::span<const Attribute> attributes) {
  append_head(out, tag, attributes);
  out += "/>\n";
}

std::string system_text(const AgentRole& role, std::string_view solution_context) {
  std::string text = role.system;
  if (is_blank(solution_context)) return text;
  const std::array texts = {std::string_view(role.system), solution_context};
  const Tag tag{kSolution, free_number(std::array{kSolution}, texts)};
  if (!text.empty()) text += text.ends_with('\n') ? "\n" : "\n\n";
  append_block(text, tag, {}, solution_context);
  return text;
}

UserPrompt user_prompt(const UserTurn& turn) {
  std::vector<Part> images;
  std::vector<Prepared> artifacts;
  artifacts.reserve(turn.input_artifacts.size());
  for (const InputArtifact& artifact : turn.input_artifacts) {
    artifacts.push_back(prepare(artifact, images));
  }
  for (const auto& image : turn.clipboard_images) {
    images.emplace_back(ImagePart{image_type(image.mime_type), image.data_base64});
  }
  const std::vector<Attribute> hints = hints_of(turn);
  const std::uint32_t number = number_for(turn, artifacts, hints);

  backends::UserMessage message;
  std::string text;
  for (const Prepared& prepared : artifacts) {
    const std::vector<Attribute> attributes = attributes_of(prepared);
    const Tag tag{kArtifact, number};
    prepared.readable ? append_block(text, tag, attributes, prepared.contents())
                      : append_mark(text, tag, attributes);
    text.push_back('\n');
  }
  if (!images.empty()) {
    if (!text.empty()) message.parts.emplace_back(TextPart{std::move(text)});
    text.clear();
    std::ranges::move(images, std::back_inserter(message.parts));
  }
  if (!hints.empty()) {
    append_mark(text, {kWorkspace, number}, hints);
    text.push_back('\n');
  }
  if (turn.instruction) text += *turn.instruction;
  if (!text.empty()) message.parts.emplace_back(TextPart{std::move(text)});
  return {.message = std::move(message), .warnings = warnings_of(turn, artifacts)};
}

backends::UserMessage user_message(const UserTurn& turn) { return user_prompt(turn).message; }

backends::ToolMessage tool_message(const contracts::ToolResult& result,
                                   std::string_view tool_name) {
  backends::ToolMessage message{
      .tool_call_id = result.tool_call_id, .tool_name = std::string(tool_name), .content = {}};
  if (const auto* error = std::get_if<contracts::ErrorMessage>(&result.outcome)) {
    message.content = error->text;
    message.failed = true;
  } else {
    message.content = std::get<contracts::ResultJson>(result.outcome).text;
  }
  return message;
}

std::vector<backends::Tool> declarations_of(const AgentRole& role) {
  std::vector<backends::Tool> tools;
  tools.reserve(role.tools.size());
  for (const ClientTool& tool : role.tools) tools.push_back(tool.declaration);
  return tools;
}

std::size_t estimated_tokens(const std::vector<Message>& messages) {
  std::size_t tokens = 0;
  for (const Message& message : messages) {
    tokens += std::visit([](const auto& kind) { return tokens_of(kind); }, message);
  }
  return tokens;
}

}  // namespace treaty::turns
