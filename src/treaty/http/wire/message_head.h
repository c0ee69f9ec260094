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

// The authority of a target in absolute form (`http://host:8088/path`); empty of any other.
std::string_view authority_of_target(std::string_view target);

// A token of RFC 9110 §5.6.2: a method or the name of a field.
bool is_token(std::string_view text);

// No control characters but the tab: what a field's value may hold.
bool is_field_value(std::string_view text);

// The line before a chunk is found whole before a parser sees it: Beast's parser asserts when the
// last chunk of an empty body comes in crumbs, and has no limit for extensions and trailers.

// How many bytes stand between the data of two chunks: the line end of the one (`after_chunk`), the
// size line of the other; for the last chunk also the trailer with its blank line. npos when they
// have not all come. What is wrong with them is the parser's to say.
std::size_t chunk_line_size(std::string_view bytes, bool after_chunk);

// The first fault of those bytes once they are whole, as a sentence; empty when there is none. As
// strict as with a head: what has two readings is refused (RFC 9112 §7.1).
std::string_view find_chunk_fault(std::string_view bytes, bool after_chunk);

}  // namespace treaty::http
