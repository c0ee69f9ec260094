// Which keywords of JSON Schema 2020-12 say nothing about a value, and what to tell whoever uses
// one that is not supported.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "treaty/base/schema/compiler.h"
#include "treaty/base/schema/messages.h"
#include "treaty/base/text.h"

namespace treaty::schema {
namespace {

constexpr std::string_view kAnnotations[] = {
    "title",           "description",      "default",   "examples",
    "deprecated",      "readOnly",         "writeOnly", "format",
    "contentEncoding", "contentMediaType", "$comment",  "contentSchema"};

struct Instead {
  std::string_view keyword;
  std::string_view advice;
};

// What people write that is known elsewhere: other drafts, OpenAPI, the rest of 2020-12.
constexpr Instead kInstead[] = {
    {"$anchor", "refer to the place with \"#/$defs/…\""},
    {"$dynamicAnchor", "refer to the place with \"$ref\": \"#/$defs/…\""},
    {"$dynamicRef", "use \"$ref\": \"#/…\""},
    {"$recursiveAnchor", "use \"$ref\": \"#\""},
    {"$recursiveRef", "use \"$ref\": \"#\""},
    {"$vocabulary", "leave it out"},
    {"id", "leave it out"},
    {"additionalItems", "use \"prefixItems\" with \"items\""},
    {"dependencies", "use \"dependentRequired\" or \"dependentSchemas\""},
    {"discriminator", "use \"oneOf\" with a \"const\" in each alternative"},
    {"divisibleBy", "use \"multipleOf\""},
    {"example", "use \"examples\""},
    {"nullable", "add \"null\" to \"type\""},
    {"unevaluatedItems", "use \"items\": false beside \"prefixItems\""},
    {"unevaluatedProperties", "use \"additionalProperties\""},
};

}  // namespace

bool is_annotation(std::string_view keyword) {
  return keyword.starts_with("x-") ||
         std::ranges::find(kAnnotations, keyword) != std::end(kAnnotations);
}

std::optional<Draft> draft_of(std::string_view uri) {
  if (uri.ends_with('#')) uri.remove_suffix(1);
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (uri.starts_with(scheme)) uri.remove_prefix(scheme.size());
  }
  if (uri == "json-schema.org/draft-07/schema") return Draft::draft_07;
  if (uri == "json-schema.org/draft/2019-09/schema") return Draft::draft_2019_09;
  if (uri == "json-schema.org/draft/2020-12/schema") return Draft::draft_2020_12;
  return std::nullopt;
}

std::string why_refused(std::string_view keyword, std::span<const std::string_view> checked) {
  const auto instead = std::ranges::find(kInstead, keyword, &Instead::keyword);
  if (instead != std::end(kInstead)) {
    return fmt::format("the keyword \"{}\" is not supported; {}", keyword, instead->advice);
  }
  std::vector<std::string_view> words(checked.begin(), checked.end());
  words.insert(words.end(), std::begin(kAnnotations), std::end(kAnnotations));
  const std::string_view meant = closest(words, keyword);
  if (!meant.empty()) {
    return fmt::format("unknown keyword \"{}\"; did you mean \"{}\"?", keyword, meant);
  }
  return fmt::format("unknown keyword \"{}\"; leave it out, or begin it with \"x-\"",
                     beginning(keyword));
}

}  // namespace treaty::schema
