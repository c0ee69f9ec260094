// Fuzzes conditions: whatever the text, it is refused with a place in it, or it comes to a value or
// an error, the same every time, and holds exactly when that value is true.
#include "require.h"
#include "treaty/base/text.h"
#include "treaty/templates/template.h"

using namespace treaty::templates;  // NOLINT: a target is one file.
using treaty::fuzz::require;

namespace {

const Dynamic& context() {
  static const Dynamic value = {{"n", 5},
                                {"f", 2.5},
                                {"yes", true},
                                {"nil", nullptr},
                                {"name", "naïve"},
                                {"list", {1, "b", {3, 4}}},
                                {"object", {{"k", "v"}, {"deep", {{"m", -1}}}}}};
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = treaty::fuzz::as_text(data, size);
  const auto expression = Expression::parse(text);
  if (!expression) {
    require(!expression.error().message.empty() && expression.error().offset <= text.size());
    require(!treaty::is_utf8(text) || treaty::is_utf8(expression.error().message));
    return 0;
  }
  const Scope scope{.context = &context(), .input = &context(), .output = &context()};
  const auto value = expression->evaluate(scope);
  const auto holds = expression->holds(scope);
  require(value.has_value() == holds.has_value());
  if (!value) {
    require(!value.error().empty() && value.error() == holds.error());
    return 0;
  }
  require(is_true(*value) == *holds);
  require(are_equal(*value, *value) && are_equal(*value, *expression->evaluate(scope)));
  // A result that is there makes a difference only to a condition that names it.
  const Scope other{
      .context = &context(), .input = &context(), .output = &context(), .result = &context()};
  if (!expression->names("result")) require(are_equal(*value, *expression->evaluate(other)));
  return 0;
}
