// Digests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace treaty {

// The SHA-256 of a text: 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

// The same over bytes that come in pieces.
class Sha256 {
 public:
  Sha256();

  void add(std::string_view bytes);

  // 64 lower-case hex digits. Ends the digest: nothing may be added afterwards.
  std::string hex();

  // The same as 32 bytes.
  std::string bytes();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace treaty
