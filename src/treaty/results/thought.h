// What a model thought before or between the parts of its answer: reasoning text, signed or
// encrypted blocks, signatures. Opaque: only the model that wrote it can read it.
#pragma once

#include <cstddef>
#include <string>

namespace treaty::results {

// One piece, with its place in the answer, so that it can go back to where it was.
struct Thought {
  std::size_t text = 0;   // Bytes of the answer's text before it,
  std::size_t calls = 0;  // and tool calls before it.
  std::string json{};     // JSON, in the form of the protocol that brought it.
  bool operator==(const Thought&) const = default;
};

}  // namespace treaty::results
