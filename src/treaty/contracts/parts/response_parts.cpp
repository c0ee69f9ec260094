#include "treaty/contracts/parts/response_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/contracts/inspection/fields.h"

namespace treaty::contracts {
namespace {

enum FileField {
  kName,
  kMimeType,
  kUrl,
  kSizeBytes,
  kContentHash,
  kDescription,
  kContentExpires,
  kFileFieldCount
};
constexpr std::array<std::string_view, kFileFieldCount> kFileNames = {
    "Name", "MimeType", "Url", "SizeBytes", "ContentHash", "Description", "ContentExpires"};

enum UsageField {
  kPromptTokens,
  kCompletionTokens,
  kTotalTokens,
  kCachedTokens,
  kReasoningTokens,
  kUsageFieldCount
};
constexpr std::array<std::string_view, kUsageFieldCount> kUsageNames = {
    "PromptTokens", "CompletionTokens", "TotalTokens", "CachedTokens", "ReasoningTokens"};

// Absolute http(s) with a host, or a path on this server. `//host` and `/\host` would leave it.
bool is_file_url(std::string_view url) {
  if (has_control_character(url) || url.contains(' ')) return false;
  if (url.starts_with('/')) return url.size() < 2 || (url[1] != '/' && url[1] != '\\');
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!starts_with_folded(url, scheme)) continue;
    const std::string_view rest = url.substr(scheme.size());
    return !rest.empty() && !std::string_view("/?#:").contains(rest[0]);
  }
  return false;
}

bool is_content_hash(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::int64_t required_count(Inspection& inspection, RuleId rule, const Place* place,
                            const Place& object, std::string_view name) {
  if (place != nullptr) return integer_field(inspection, rule, *place, 0).value_or(0);
  inspection.refuse_missing(rule, object, name);
  return 0;
}

}  // namespace

FileRef inspect_file_ref(Inspection& inspection, const Place& place) {
  FileRef file;
  if (!is_object_field(inspection, "RES-40", place)) return file;
  const KnownMembers members(place, kFileNames, inspection.name_case());
  const auto text = [&](FileField field) {
    return required_text(inspection, "RES-40", members[field], place, kFileNames[field]);
  };
  file.name = text(kName);
  file.mime_type = text(kMimeType);
  file.url = text(kUrl);
  if (!file.url.empty() && !is_file_url(file.url)) {
    inspection.refuse("RES-40", *members[kUrl],
                      "Url is neither an absolute http(s) address nor a path beginning with /");
  }
  file.size_bytes =
      required_count(inspection, "RES-40", members[kSizeBytes], place, kFileNames[kSizeBytes]);
  file.content_hash = text(kContentHash);
  if (!file.content_hash.empty() && !is_content_hash(file.content_hash)) {
    inspection.refuse("RES-40", *members[kContentHash],
                      "ContentHash has 64 hex digits in lower case",
                      "`treaty hash FILE` computes it");
  }
  file.description = optional_text(inspection, "RES-41", members[kDescription]);
  file.content_expires = optional_text(inspection, "RES-41", members[kContentExpires]);
  if (file.content_expires && timestamp_form(*file.content_expires) != TimestampForm::rfc3339) {
    inspection.refuse("RES-41", *members[kContentExpires],
                      "ContentExpires is a date and time with its zone (RFC 3339)",
                      "such as 2030-01-31T12:00:00Z");
  }
  for (const Place& extra : members.unknown()) {
    inspection.refuse("RES-41", extra, fmt::format("a FileRef has no member {}", extra.name),
                      "a file is referred to by Url, never embedded");
  }
  return file;
}

Usage inspect_usage(Inspection& inspection, const Place& place) {
  Usage usage;
  const KnownMembers members(place, kUsageNames, inspection.name_case());
  const auto required = [&](UsageField field) {
    return required_count(inspection, "RES-50", members[field], place, kUsageNames[field]);
  };
  const auto optional = [&](UsageField field) -> std::optional<std::int64_t> {
    if (members[field] == nullptr) return std::nullopt;
    return integer_field(inspection, "RES-50", *members[field], 0);
  };
  usage.prompt_tokens = required(kPromptTokens);
  usage.completion_tokens = required(kCompletionTokens);
  usage.total_tokens = required(kTotalTokens);
  usage.cached_tokens = optional(kCachedTokens);
  usage.reasoning_tokens = optional(kReasoningTokens);
  for (const Place& extra : members.unknown()) {
    inspection.warn("RES-50", extra, fmt::format("Usage has no member {}", extra.name));
  }
  return usage;
}

void write(json::Writer& writer, const FileRef& file, Dialect dialect) {
  const auto name = [&](FileField field) { return spelled(kFileNames[field], dialect); };
  writer.begin_object();
  writer.member(name(kName), file.name);
  writer.member(name(kMimeType), file.mime_type);
  writer.member(name(kUrl), file.url);
  writer.member(name(kSizeBytes), file.size_bytes);
  writer.member(name(kContentHash), file.content_hash);
  if (file.description) writer.member(name(kDescription), *file.description);
  if (file.content_expires) writer.member(name(kContentExpires), *file.content_expires);
  writer.end_object();
}

void write(json::Writer& writer, const Usage& usage, Dialect dialect) {
  const auto name = [&](UsageField field) { return spelled(kUsageNames[field], dialect); };
  writer.begin_object();
  writer.member(name(kPromptTokens), usage.prompt_tokens);
  writer.member(name(kCompletionTokens), usage.completion_tokens);
  writer.member(name(kTotalTokens), usage.total_tokens);
  if (usage.cached_tokens) writer.member(name(kCachedTokens), *usage.cached_tokens);
  if (usage.reasoning_tokens) writer.member(name(kReasoningTokens), *usage.reasoning_tokens);
  writer.end_object();
}

}  // namespace treaty::contracts
