// Fuzzes the schema validator: the first line is a schema, the rest a value. Whatever both are, it
// ends soon, says the same twice, and points at places that are there.
#include <algorithm>
#include <string>

#include "require.h"
#include "treaty/base/json.h"
#include "treaty/base/schema/schema.h"
#include "treaty/base/text.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;
using schema::Schema;

namespace {

constexpr std::size_t kLongestMessage = 2000;

void check_pointer(const std::string& pointer) {
  require(pointer.empty() || pointer[0] == '/');
  require(is_utf8(pointer));
}

// The value fits this schema exactly when it does not fit that.
void check_negation(std::string_view text, const json::Value value, bool fits) {
  const auto negated =
      Schema::compile(R"({"not":{"$ref":"#/$defs/it"},"$defs":{"it":)" + std::string(text) + "}}");
  if (!negated) return;  // Its own references begin at the root.
  const auto mismatch = negated->mismatch(value);
  require(mismatch.has_value() == fits || mismatch->message.starts_with("takes too many steps"));
}

bool has_reference(std::string_view text) { return text.find("ref") != std::string_view::npos; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view source = text.substr(0, end);
  const std::string_view rest = text.substr(std::min(end + 1, text.size()));

  const auto compiled = Schema::compile(source);
  if (!compiled) {
    require(!compiled.error().message.empty() && is_utf8(compiled.error().message));
    check_pointer(compiled.error().where);
    return 0;
  }
  const auto mismatch = compiled->mismatch_of_text(rest);
  if (mismatch) {
    check_pointer(mismatch->where);
    require(!mismatch->message.empty() && is_utf8(mismatch->message));
    require(mismatch->message.size() <= kLongestMessage);
  }
  const json::Document value(rest);
  if (!value.faults().empty()) {
    require(mismatch.has_value());
    return 0;
  }
  const auto again = compiled->mismatch(*value.root());
  require(again.has_value() == mismatch.has_value());
  if (again) require(again->where == mismatch->where && again->message == mismatch->message);
  const bool gave_up = again && again->message.starts_with("takes too many steps");
  if (!gave_up && !has_reference(source)) check_negation(source, *value.root(), !again);
  return 0;
}
