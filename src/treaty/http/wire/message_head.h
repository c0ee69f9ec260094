// What is wrong with the head of an HTTP/1 message, judged on its raw bytes.
//
// Two readers that understand a head differently can be played against each other (request
// smuggling). Parsers forgive; this refuses everything that has two readings (RFC 9112 §2, §5, §6).
#pragma once

#include <cstddef>
#include <string_view>

namespace treaty::http {

enum class HeadKind { request, response };

// Where the head at the start of `bytes` ends, its blank line included; npos when the end is not
// there yet. Looks from `from` on: what was searched before need not be searched again.
std::size_t find_head_end(std::string_view bytes, std::size_t from = 0);

// True when a line feed stands without its carriage return: such a head may never end.
bool has_bare_line_feed(std::string_view bytes, std::size_t from = 0);

// The first fault of a whole head (start line to blank line), as a sentence; empty when there is
// none.
std::string_view find_head_fault(std::string_view head, HeadKind kind);

// The same for the fields after the last chunk, blank line included.
std::string_view find_trailer_fault(std::string_view lines);

// The authority of a target in absolute form (`http://host:8088/path`); empty of any other.
std::string_view authority_of_target(std::string_view target);

// A token of RFC 9110 §5.6.2: a method or the name of a field.
bool is_token(std::string_view text);

// No control characters but the tab: what a field's value may hold.
bool is_field_value(std::string_view text);

}  // namespace treaty::http
