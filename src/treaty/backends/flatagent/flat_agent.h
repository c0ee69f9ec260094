// A FlatAgent file as a value: prompts, the model that is asked, the output that is wanted. And how
// its documents are read: members by name, and one error that says where it is.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/base/schema/schema.h"
#include "treaty/templates/template.h"
#include "treaty/templates/value.h"

namespace treaty::backends {

using templates::Dynamic;
using templates::List;
using templates::Object;

// The first thing that is wrong with a document, for people.
using Wrong = std::unexpected<std::string>;
template <class T>
using Read = std::expected<T, std::string>;

// The same, with the place before the error.
template <class T>
Read<T> at(std::string_view where, Read<T> read) {
  if (read) return read;
  return Wrong(std::string(where) + ": " + read.error());
}

// What a file holds; the error says why it cannot be read. A path is as the document writes it, put
// behind the directory of that document.
using ReadText = std::function<Read<std::string>(const std::string& path)>;

// YAML or JSON as a value; the error has the line.
Read<Dynamic> parse_document(std::string_view text);

// `reference` as seen from `directory`.
std::string path_from(const std::string& directory, const std::string& reference);

// The directory of a file.
std::string directory_of(const std::string& path);

// Null when it is not there, or null.
const Dynamic* member_of(const Object& object, std::string_view name);

// A text, or nothing when it is not there; wrong when it is something else.
Read<std::optional<std::string>> text_member(const Object& object, std::string_view name);

// "a list", for messages.
std::string_view kind_of(const Dynamic& value);

// Text of a prompt: as it is, or a template over `input`.
class PromptText {
 public:
  static std::expected<PromptText, templates::SyntaxFault> parse(const std::string& text);

  std::expected<std::string, std::string> render(const templates::Scope& scope) const;

 private:
  std::string text_{};
  std::optional<templates::Template> template_{};
};

// Which model is asked, and how.
struct ModelProfile {
  std::string model{};     // Empty: nobody said.
  std::string provider{};  // As the file names it; may be empty.
  std::string base_url{};
  std::optional<double> temperature{};
  std::optional<std::int64_t> max_tokens{};
  Sampling sampling{};
  std::optional<Reasoning> reasoning{};
  templates::Object written{};  // All of it, for templates that name `model`.
};

// What `output` asks for.
struct WantedOutput {
  OutputSchema request{};
  schema::Schema schema;  // Much the same, to check answers with.
};

struct FlatAgent {
  std::string name = "agent";
  PromptText system{};
  PromptText user{};
  std::optional<PromptText> suffix{};        // After the user's prompt.
  std::optional<PromptText> post_history{};  // After everything that was said.
  ModelProfile profile{};
  std::optional<WantedOutput> output{};
  std::vector<Tool> tools{};
};

// `output` of a prompt, {field: {type, description?, enum?, required?, items?, properties?}}, as
// the JSON Schema that a model is asked to keep. Fields are required unless they say otherwise. The
// error names the field.
Read<WantedOutput> read_output(const Object& fields);

}  // namespace treaty::backends
