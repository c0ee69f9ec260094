// How FlatAgent documents are looked at: members by name, and one error that says where it is.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/templates/value.h"

namespace treaty::backends {

using templates::Dynamic;
using templates::List;
using templates::Object;

// The first thing that is wrong with a document, for people.
using Wrong = std::unexpected<std::string>;
template <class T>
using Read = std::expected<T, std::string>;

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

}  // namespace treaty::backends
