// What a call carries beside its text: images, tools, a schema of the answer, each from a file or
// from the command line itself.
#pragma once

#include <string>
#include <string_view>

#include "treaty/backends/call.h"
#include "treaty/base/schema/schema.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli {

// PNG, JPEG, GIF or WebP, told by its first bytes; empty when it is none of them.
std::string_view image_type_of(std::string_view bytes);

Result<backends::ImagePart> read_image(const std::string& path);

// NAME, NAME=FILE (a schema of its parameters, or a whole tool), or the JSON of a whole tool in one
// of the shapes that providers document.
Result<backends::Tool> read_tool(const std::string& word);

// A schema of the answer: as providers are asked for it, and to check answers with.
struct WantedAnswer {
  backends::OutputSchema request{};
  schema::Schema schema;
};
Result<WantedAnswer> read_output_schema(const std::string& path);

}  // namespace treaty::cli
