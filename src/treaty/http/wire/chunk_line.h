// The line before a chunk, found whole before a parser sees it.
//
// Beast's parser asserts when the last chunk of an empty body comes in crumbs, and has no limit for
// extensions and trailers. So it gets what stands between two chunks in one piece, or not at all.
#pragma once

#include <cstddef>
#include <string_view>

namespace treaty::http {

// How many bytes stand between the data of two chunks: the line end of the one (`after_chunk`), the
// size line of the other; for the last chunk also the trailer with its blank line. npos when they
// have not all come. What is wrong with them is the parser's to say.
std::size_t chunk_line_size(std::string_view bytes, bool after_chunk);

// The first fault of those bytes once they are whole, as a sentence; empty when there is none. As
// strict as with a head: what has two readings is refused (RFC 9112 §7.1).
std::string_view find_chunk_fault(std::string_view bytes, bool after_chunk);

}  // namespace treaty::http
