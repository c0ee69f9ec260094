// Base64 as RFC 4648 writes it: padding required, no stray characters, no line breaks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace treaty {

// How many bytes `text` decodes to, or nothing when it is not base64.
std::optional<std::size_t> base64_decoded_size(std::string_view text);

std::optional<std::string> base64_decode(std::string_view text);

std::string base64_encode(std::string_view bytes);

}  // namespace treaty
