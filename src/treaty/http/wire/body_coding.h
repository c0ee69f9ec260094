// Undoes Content-Encoding piece by piece: gzip, deflate and identity, never more than one piece in
// memory.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace treaty::http {

class BodyCoding {
 public:
  // Takes decoded bytes; false ends the decoding.
  using Taker = std::function<bool(std::string_view)>;

  enum class Outcome { more, stopped, broken };

  // Nothing when the coding is not known.
  static std::optional<BodyCoding> named(std::string_view content_encoding);

  ~BodyCoding();
  BodyCoding(BodyCoding&&) noexcept;
  BodyCoding& operator=(BodyCoding&&) noexcept;

  Outcome feed(std::string_view bytes, const Taker& taker);

  // True when what was fed may end here.
  bool is_whole() const;

 private:
  struct Stream;
  explicit BodyCoding(std::unique_ptr<Stream> stream);
  Outcome inflate_some(const Taker& taker);

  std::unique_ptr<Stream> stream_;  // Null for identity.
};

}  // namespace treaty::http
