// Fuzzes templates: whatever the text, it is refused with a place in it, or it renders to UTF-8
// within its bounds, or fails with a message; the same every time.
#include "require.h"
#include "treaty/base/text.h"
#include "treaty/templates/template.h"

using namespace treaty::templates;  // NOLINT: a target is one file.
using treaty::fuzz::require;

namespace {

constexpr std::size_t kLongest = (std::size_t{16} << 20U) + 1;

const Dynamic& context() {
  static const Dynamic value = {{"n", 5},
                                {"f", 2.5},
                                {"yes", true},
                                {"nil", nullptr},
                                {"name", "naïve Straße"},
                                {"json", R"({"q": [1, 2]})"},
                                {"list", {"b", "A", "c"}},
                                {"numbers", {3, 1, 2.5}},
                                {"pairs", List{List{"a", 1}, List{"b", 2}}},
                                {"object", {{"k", "v"}, {"deep", {{"m", -1}}}}}};
  return value;
}

void check_names(const Template& parsed, std::string_view text) {
  for (const SyntaxFault& fault : parsed.unknown_names({})) {
    require(!fault.message.empty() && fault.offset < text.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = treaty::fuzz::as_text(data, size);
  const auto parsed = Template::parse(Dynamic(boost::json::string(text)));
  if (!parsed) {
    require(!parsed.error().message.empty() && parsed.error().offset <= text.size());
    require(!treaty::is_utf8(text) || treaty::is_utf8(parsed.error().message));
    return 0;
  }
  check_names(*parsed, text);
  const Binding item{"item", &context()};
  const Scope scope{
      .context = &context(), .output = &context(), .context_over_input = true, .bound = {&item, 1}};
  const auto value = parsed->render(scope);
  const auto again = parsed->render(scope);
  require(value.has_value() == again.has_value());
  if (!value) {
    require(!value.error().empty() && value.error() == again.error());
    return 0;
  }
  require(are_equal(*value, *again));
  const bool has_tags = text.contains("{{") || text.contains("{%");
  require(!has_tags || (value->is_string() && value->get_string().size() <= kLongest));
  require(!value->is_string() || treaty::is_utf8(value->get_string()));
  return 0;
}
