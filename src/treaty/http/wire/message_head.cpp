#include "treaty/http/wire/message_head.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "treaty/base/text.h"
#include "treaty/http/url.h"

namespace treaty::http {
namespace {

// What a byte may be part of: every byte of every head is looked up, so this is a table.
enum Part : std::uint8_t { token = 1, value = 2, line = 4 };

constexpr auto kParts = [] {
  std::array<std::uint8_t, 256> parts{};
  for (unsigned byte = 0; byte < parts.size(); ++byte) {
    const char c = static_cast<char>(byte);
    const bool is_token = is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
    const bool is_value = c == '\t' || (byte >= ' ' && c != '\x7F');
    const bool is_in_line = c != '\r' && c != '\n' && c != '\0';
    parts[byte] =
        static_cast<std::uint8_t>((is_token ? Part::token : 0) | (is_value ? Part::value : 0) |
                                  (is_in_line ? Part::line : 0));
  }
  return parts;
}();

bool is_part(char c, Part part) { return (kParts[static_cast<unsigned char>(c)] & part) != 0; }

bool is_target_character(char c) { return c > ' ' && c != '\x7F'; }

// RFC 9112 §3.2: a path, a whole address, or `*`. The authority alone is for proxies.
bool is_target(std::string_view target) {
  if (target.starts_with('/') || target == "*") return true;
  const auto authority = authority_of_target(target);
  return !authority.empty() && parse_authority(authority).has_value();
}

bool is_version(std::string_view text) { return text == "HTTP/1.1" || text == "HTTP/1.0"; }

// What the lines of a head add up to.
struct Tally {
  HeadKind kind;
  bool is_1_1 = false;
  int hosts = 0;
  int lengths = 0;
  int codings = 0;
  unsigned singles = 0;  // A bit for each of kSingleFields that came.
};

std::string_view request_line_fault(std::string_view line, Tally& tally) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return "the request line is not whole";
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(line.substr(0, first))) return "the method is not a token";
  if (target.empty() || !std::ranges::all_of(target, is_target_character)) {
    return "the request target holds a space or a control character";
  }
  if (target.contains('#')) return "the request target has a fragment (#…): leave it out";
  if (!is_target(target)) return "the request target is neither a path nor an http:// address";
  if (!is_version(line.substr(last + 1))) return "the version is neither HTTP/1.1 nor HTTP/1.0";
  tally.is_1_1 = line.ends_with('1');
  return {};
}

std::string_view status_line_fault(std::string_view line, Tally& tally) {
  if (!is_version(line.substr(0, 8))) return "it does not begin with HTTP/1.1 or HTTP/1.0";
  tally.is_1_1 = line[7] == '1';
  const std::string_view rest = line.substr(8);
  const bool three_digits = rest.size() >= 5 && rest[4] == ' ' && rest[0] == ' ' &&
                            rest[1] >= '1' && is_digit(rest[1]) && is_digit(rest[2]) &&
                            is_digit(rest[3]);
  if (!three_digits) return "it has no status";
  if (!is_field_value(rest)) return "a control character is in the status line";
  return {};
}

std::string_view length_fault(std::string_view value) {
  const bool is_number = !value.empty() && std::ranges::all_of(value, is_digit);
  return is_number && value.size() <= 18 ? "" : "Content-Length is not one number";
}

// Fields with one value: two of them have two readings, and joined they are neither.
struct SingleField {
  std::string_view name;
  std::string_view fault;
};
constexpr std::array kSingleFields = std::to_array<SingleField>({
    {"authorization", "Authorization comes twice: send it once"},
    {"content-type", "Content-Type comes twice: send it once"},
    {"idempotency-key", "Idempotency-Key comes twice: send one key"},
    {"last-event-id", "Last-Event-ID comes twice: send the newest"},
    {"origin", "Origin comes twice: send it once"},
    {"traceparent", "traceparent comes twice: send it once"},
    {"x-api-key", "X-Api-Key comes twice: send one key"},
});

std::string_view repeated_fault(std::string_view name, Tally& tally) {
  const auto* const field = std::ranges::find_if(
      kSingleFields, [&](const SingleField& single) { return equal_folded(name, single.name); });
  if (field == kSingleFields.end()) return {};
  const auto bit = 1U << static_cast<unsigned>(field - kSingleFields.begin());
  const bool is_second = (tally.singles & bit) != 0;
  tally.singles |= bit;
  return is_second ? field->fault : "";
}

std::string_view known_field_fault(std::string_view name, std::string_view value, Tally& tally) {
  if (equal_folded(name, "content-length")) {
    if (++tally.lengths > 1) return "Content-Length comes twice";
    return length_fault(value);
  }
  if (equal_folded(name, "transfer-encoding")) {
    if (++tally.codings > 1) return "Transfer-Encoding comes twice";
    return equal_folded(value, "chunked") ? "" : "the transfer coding is not known";
  }
  if (tally.kind == HeadKind::response) return {};
  if (equal_folded(name, "host")) {
    if (++tally.hosts > 1) return "Host comes twice";
    return value.empty() || parse_authority(value) ? "" : "Host is not a host, or has a bad port";
  }
  return repeated_fault(name, tally);
}

std::string_view field_fault(std::string_view line, Tally& tally) {
  if (line[0] == ' ' || line[0] == '\t') return "a header field is folded";
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return "a header field has no colon";
  const std::string_view name = line.substr(0, colon);
  if (name.empty()) return "a header field has no name";
  if (name.ends_with(' ') || name.ends_with('\t')) return "white space stands before a colon";
  if (!is_token(name)) return "the name of a header field is not a token";
  const std::string_view value = line.substr(colon + 1);
  if (!is_field_value(value)) return "a control character is in a header field";
  return known_field_fault(name, trimmed(value), tally);
}

std::string_view tally_fault(const Tally& tally) {
  if (tally.lengths > 0 && tally.codings > 0) {
    return "Content-Length and Transfer-Encoding come together";
  }
  if (tally.codings > 0 && !tally.is_1_1) return "HTTP/1.0 knows no Transfer-Encoding";
  if (tally.kind == HeadKind::request && tally.is_1_1 && tally.hosts == 0) return "Host is missing";
  return {};
}

// The next line, which ends with CRLF and holds neither half of it; `line` is left empty after a
// fault.
std::string_view take_line(std::string_view& head, std::string_view& fault) {
  std::size_t end = 0;
  while (end < head.size() && is_part(head[end], Part::line)) ++end;
  if (!head.substr(end).starts_with("\r\n")) {
    fault = "a line holds a zero byte, or half a line end";
    return {};
  }
  const std::string_view line = head.substr(0, end);
  head.remove_prefix(end + 2);
  return line;
}

// The first fault of the fields after the last chunk, blank line included.
std::string_view find_trailer_fault(std::string_view lines) {
  Tally tally{.kind = HeadKind::request};
  std::string_view fault;
  while (fault.empty()) {
    const std::string_view line = take_line(lines, fault);
    if (!fault.empty()) break;
    if (line.empty()) return lines.empty() ? "" : "bytes follow the trailer";
    fault = field_fault(line, tally);
    if (tally.lengths + tally.codings + tally.hosts > 0)
      return "a field stands in the trailer that belongs in the header";
  }
  return fault;
}

// More would not fit 64 bits with certainty.
constexpr std::size_t kMostDigits = 15;

std::size_t digits_in(std::string_view line) {
  return std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
}

}  // namespace

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_part(c, Part::token); });
}

std::string_view authority_of_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!starts_with_folded(target, scheme)) continue;
    target.remove_prefix(scheme.size());
    return target.substr(0, target.find_first_of("/?"));
  }
  return {};
}

bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_part(c, Part::value); });
}

std::size_t find_head_end(std::string_view bytes, std::size_t from) {
  const std::size_t end = bytes.find("\r\n\r\n", from < 3 ? 0 : from - 3);
  return end == std::string_view::npos ? end : end + 4;
}

bool has_bare_line_feed(std::string_view bytes, std::size_t from) {
  for (std::size_t at = bytes.find('\n', from); at != std::string_view::npos;
       at = bytes.find('\n', at + 1)) {
    if (at == 0 || bytes[at - 1] != '\r') return true;
  }
  return false;
}

std::string_view find_head_fault(std::string_view head, HeadKind kind) {
  Tally tally{.kind = kind};
  std::string_view fault;
  const std::string_view start = take_line(head, fault);
  if (fault.empty()) {
    fault = kind == HeadKind::request ? request_line_fault(start, tally)
                                      : status_line_fault(start, tally);
  }
  while (fault.empty()) {
    const std::string_view line = take_line(head, fault);
    if (!fault.empty()) break;
    if (line.empty()) return head.empty() ? tally_fault(tally) : "bytes follow the head";
    fault = field_fault(line, tally);
  }
  return fault;
}

std::size_t chunk_line_size(std::string_view bytes, bool after_chunk) {
  if (bytes.size() < 2) return std::string_view::npos;
  if (after_chunk && !bytes.starts_with("\r\n")) return std::min<std::size_t>(bytes.size(), 4);
  const std::size_t begin = after_chunk ? 2 : 0;
  const std::size_t end = bytes.find('\n', begin);
  if (end == std::string_view::npos) return end;
  const std::string_view line = bytes.substr(begin, end - begin);
  const std::string_view size = line.substr(0, digits_in(line));
  const bool is_last = !size.empty() && size.find_first_not_of('0') == std::string_view::npos &&
                       line.ends_with('\r');
  if (!is_last) return end + 1;
  const std::size_t blank = bytes.find("\r\n\r\n", end - 1);
  // A trailer that is wrong already may never end.
  if (blank == std::string_view::npos && has_bare_line_feed(bytes, end + 1)) return bytes.size();
  return blank == std::string_view::npos ? blank : blank + 4;
}

std::string_view find_chunk_fault(std::string_view bytes, bool after_chunk) {
  if (after_chunk && !bytes.starts_with("\r\n")) return "a chunk does not end where its size says";
  const std::string_view lines = bytes.substr(after_chunk ? 2 : 0);
  const std::size_t end = lines.find("\r\n");
  if (end == std::string_view::npos) return "the line of a chunk ends without its carriage return";
  const std::string_view line = lines.substr(0, end);
  const std::size_t digits = digits_in(line);
  if (digits == 0 || digits > kMostDigits) return "the size of a chunk is not a number";
  const std::string_view extension = line.substr(digits);
  if (!extension.empty() && !(extension[0] == ';' && is_field_value(extension))) {
    return "something other than an extension follows the size of a chunk";
  }
  const std::string_view trailer = lines.substr(end + 2);
  return trailer.empty() ? "" : find_trailer_fault(trailer);
}

}  // namespace treaty::http
