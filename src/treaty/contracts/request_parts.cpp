#include "treaty/contracts/request_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/base64.h"
#include "treaty/base/text.h"
#include "treaty/contracts/inspection/fields.h"

namespace treaty::contracts {
namespace {

enum ArtifactField {
  kRelativePath,
  kFileName,
  kContents,
  kOrigin,
  kEncoding,
  kArtifactMimeType,
  kPartLanguage,
  kArtifactFieldCount
};
constexpr std::array<std::string_view, kArtifactFieldCount> kArtifactNames = {
    "RelativePath", "FileName", "Contents", "Origin", "Encoding", "MimeType", "Language"};

enum ImageField { kId, kPartMimeType, kDataBase64, kImageFieldCount };
constexpr std::array<std::string_view, kImageFieldCount> kImageNames = {"Id", "MimeType",
                                                                        "DataBase64"};

enum ConditionField { kKey, kOperator, kValues, kConditionFieldCount };
constexpr std::array<std::string_view, kConditionFieldCount> kConditionNames = {"Key", "Operator",
                                                                                "Values"};
constexpr std::array<std::string_view, 1> kScopeNames = {"Conditions"};

// In the order of RagCondition::Operator.
constexpr std::array<std::string_view, 4> kOperators = {"==", "!=", "contains", "does_not_contain"};

bool is_separator(char c) { return c == '/' || c == '\\'; }

// Why the path could lead out of the root (REQ-31); empty when it cannot.
std::string_view why_path_leaves(std::string_view path) {
  if (has_control_character(path)) return "it has a control character";
  if (is_separator(path[0])) return "it begins with a separator";
  if (path[0] == '~') return "it begins with ~";
  if (path.size() >= 2 && is_letter(path[0]) && path[1] == ':') return "it names a drive";
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find_first_of("/\\", begin), path.size());
    if (path.substr(begin, end - begin) == "..") return "it has a .. segment";
    begin = end + 1;
  }
  return {};
}

std::string_view last_segment(std::string_view path) {
  const std::size_t separator = path.find_last_of("/\\");
  return separator == std::string_view::npos ? path : path.substr(separator + 1);
}

void inspect_paths(Inspection& inspection, const InputArtifact& artifact, const Place* path,
                   const Place* name) {
  if (!artifact.relative_path.empty()) {
    const std::string_view why = why_path_leaves(artifact.relative_path);
    if (!why.empty()) {
      inspection.refuse("REQ-31", *path,
                        fmt::format("the path is not relative to the root: {}", why),
                        "write it relative to the opened folder, such as src/main.cpp");
    }
  }
  if (artifact.file_name.empty()) return;
  if (std::ranges::any_of(artifact.file_name, is_separator)) {
    inspection.refuse("REQ-32", *name, "a file name has no separator",
                      fmt::format("\"{}\"", last_segment(artifact.file_name)));
  } else if (!artifact.relative_path.empty() &&
             artifact.file_name != last_segment(artifact.relative_path)) {
    inspection.warn(
        "REQ-32", *name,
        fmt::format("the path ends in another name, \"{}\"", last_segment(artifact.relative_path)));
  }
}

void inspect_origin(Inspection& inspection, InputArtifact& artifact, const Place* place,
                    const Place& object) {
  const std::string origin =
      required_text(inspection, "REQ-30", place, object, kArtifactNames[kOrigin]);
  artifact.origin = origin == "user" ? Origin::user : Origin::ide;
  if (place == nullptr || !place->value.is_string() || origin == "user" || origin == "ide") return;
  inspection.refuse("REQ-33", *place, "Origin is \"ide\" or \"user\", in lower case");
}

void inspect_encoding(Inspection& inspection, InputArtifact& artifact, const Place* place) {
  if (place == nullptr) return;
  if (!is_string_field(inspection, "REQ-34", *place)) return;
  const std::string_view encoding = place->value.text();
  if (encoding == "base64") {
    artifact.encoding = Encoding::base64;
  } else if (encoding != "utf8") {
    inspection.refuse("REQ-34", *place, "Encoding is \"utf8\" or \"base64\"");
  }
}

// REQ-30: there and a string; unlike the others it may be empty or blank.
void inspect_contents(Inspection& inspection, InputArtifact& artifact, const Place* place,
                      const Place& object) {
  if (place == nullptr) {
    inspection.refuse_missing("REQ-30", object, kArtifactNames[kContents], {},
                              "an empty file has Contents \"\"");
    return;
  }
  if (!is_string_field(inspection, "REQ-30", *place)) return;
  artifact.contents = std::string(place->value.text());
  if (artifact.encoding == Encoding::base64 && !base64_decoded_size(artifact.contents)) {
    inspection.refuse("REQ-35", *place, "Contents is not base64",
                      "RFC 4648 with padding, without line breaks or a data: prefix");
  }
}

RagCondition inspect_condition(Inspection& inspection, const Place& place) {
  RagCondition condition;
  if (!is_object_field(inspection, "REQ-50", place)) return condition;
  const KnownMembers members(place, kConditionNames, inspection.name_case());
  condition.key = required_text(inspection, "REQ-50", members[kKey], place, kConditionNames[kKey]);

  if (const Place* comparison = members.given(kOperator); comparison == nullptr) {
    inspection.refuse_missing("REQ-50", place, kConditionNames[kOperator]);
  } else if (is_string_field(inspection, "REQ-51", *comparison)) {
    const auto found = std::ranges::find(kOperators, comparison->value.text());
    if (found == kOperators.end()) {
      inspection.refuse("REQ-51", *comparison, "there is no such operator",
                        "one of ==, !=, contains, does_not_contain");
    } else {
      condition.comparison = static_cast<RagCondition::Operator>(found - kOperators.begin());
    }
  }

  const Place* values = members[kValues];
  if (values == nullptr || values->value.is_null()) {
    inspection.refuse_missing("REQ-50", place, kConditionNames[kValues]);
    inspection.refuse_missing("REQ-52", place, kConditionNames[kValues]);
  } else if (is_array_field(inspection, "REQ-52", *values)) {
    if (values->value.elements().empty()) {
      inspection.refuse("REQ-52", *values, "a condition compares with one value or more");
    }
    condition.values = inspect_entries(inspection, *values, [](Inspection& in, const Place& entry) {
      return is_string_field(in, "REQ-52", entry) ? std::string(entry.value.text()) : "";
    });
  }
  warn_of_unknown(inspection, members);
  return condition;
}

}  // namespace

InputArtifact inspect_input_artifact(Inspection& inspection, const Place& place) {
  InputArtifact artifact;
  if (!is_object_field(inspection, "REQ-30", place)) return artifact;
  const KnownMembers members(place, kArtifactNames, inspection.name_case());
  artifact.relative_path = required_text(inspection, "REQ-30", members[kRelativePath], place,
                                         kArtifactNames[kRelativePath]);
  artifact.file_name =
      required_text(inspection, "REQ-30", members[kFileName], place, kArtifactNames[kFileName]);
  inspect_paths(inspection, artifact, members[kRelativePath], members[kFileName]);
  inspect_origin(inspection, artifact, members[kOrigin], place);
  inspect_encoding(inspection, artifact, members.given(kEncoding));
  inspect_contents(inspection, artifact, members[kContents], place);
  artifact.mime_type = optional_text(inspection, "REQ-36", members.given(kArtifactMimeType));
  if (artifact.mime_type && !is_media_type(*artifact.mime_type)) {
    inspection.refuse("REQ-36", *members[kArtifactMimeType],
                      "MimeType does not look like type/subtype");
  }
  artifact.language = optional_text(inspection, "REQ-03", members.given(kPartLanguage));
  warn_of_unknown(inspection, members);
  return artifact;
}

ClipboardImage inspect_clipboard_image(Inspection& inspection, const Place& place,
                                       std::unordered_set<std::string_view>& seen) {
  ClipboardImage image;
  if (!is_object_field(inspection, "REQ-40", place)) return image;
  const KnownMembers members(place, kImageNames, inspection.name_case());
  image.id = required_text(inspection, "REQ-40", members[kId], place, kImageNames[kId]);
  if (!image.id.empty() && !seen.insert(members[kId]->value.text()).second) {
    inspection.refuse("REQ-40", *members[kId],
                      fmt::format("the id \"{}\" belongs to an earlier image", image.id));
  }
  image.mime_type = required_text(inspection, "REQ-40", members[kPartMimeType], place,
                                  kImageNames[kPartMimeType]);
  if (!image.mime_type.empty() && !image.mime_type.starts_with("image/")) {
    inspection.refuse("REQ-41", *members[kPartMimeType],
                      "the MimeType of an image begins with image/");
  }
  image.data_base64 =
      required_text(inspection, "REQ-40", members[kDataBase64], place, kImageNames[kDataBase64]);
  if (!image.data_base64.empty() && base64_decoded_size(image.data_base64).value_or(0) == 0) {
    inspection.refuse("REQ-42", *members[kDataBase64],
                      "DataBase64 does not decode to one byte or more",
                      "RFC 4648 with padding, without line breaks or a data: prefix");
  }
  warn_of_unknown(inspection, members);
  return image;
}

RagScope inspect_rag_scope(Inspection& inspection, const Place& place) {
  RagScope scope;
  if (!is_object_field(inspection, "REQ-50", place)) return scope;
  const KnownMembers members(place, kScopeNames, inspection.name_case());
  warn_of_unknown(inspection, members);
  const Place* conditions = members.given(0);
  if (conditions == nullptr || !is_array_field(inspection, "REQ-50", *conditions)) return scope;
  scope.conditions = inspect_entries(inspection, *conditions, inspect_condition);
  return scope;
}

void write(json::Writer& writer, const InputArtifact& artifact, Dialect dialect) {
  const auto name = [&](ArtifactField field) { return spelled(kArtifactNames[field], dialect); };
  writer.begin_object();
  writer.member(name(kRelativePath), artifact.relative_path);
  writer.member(name(kFileName), artifact.file_name);
  writer.member(name(kContents), artifact.contents);
  writer.member(name(kOrigin), artifact.origin == Origin::user ? "user" : "ide");
  if (artifact.encoding == Encoding::base64) writer.member(name(kEncoding), "base64");
  if (artifact.mime_type) writer.member(name(kArtifactMimeType), *artifact.mime_type);
  if (artifact.language) writer.member(name(kPartLanguage), *artifact.language);
  writer.end_object();
}

void write(json::Writer& writer, const ClipboardImage& image, Dialect dialect) {
  writer.begin_object();
  writer.member(spelled(kImageNames[kId], dialect), image.id);
  writer.member(spelled(kImageNames[kPartMimeType], dialect), image.mime_type);
  writer.member(spelled(kImageNames[kDataBase64], dialect), image.data_base64);
  writer.end_object();
}

void write(json::Writer& writer, const RagScope& scope, Dialect dialect) {
  writer.begin_object().name(spelled(kScopeNames[0], dialect)).begin_array();
  for (const RagCondition& condition : scope.conditions) {
    writer.begin_object();
    writer.member(spelled(kConditionNames[kKey], dialect), condition.key);
    writer.member(spelled(kConditionNames[kOperator], dialect),
                  kOperators[static_cast<std::size_t>(condition.comparison)]);
    writer.name(spelled(kConditionNames[kValues], dialect)).begin_array();
    for (const std::string& value : condition.values) writer.value(value);
    writer.end_array().end_object();
  }
  writer.end_array().end_object();
}

}  // namespace treaty::contracts
