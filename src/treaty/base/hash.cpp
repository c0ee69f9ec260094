#include "treaty/base/hash.h"

#include <openssl/evp.h>

#include <cstdint>

namespace treaty {

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  // Looked up once: OpenSSL takes longer to find it than to hash a small request with it.
  static const EVP_MD* const kAlgorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_DigestInit_ex(context_.get(), kAlgorithm, nullptr);
}

void Sha256::add(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Sha256::bytes() {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), &size);
  digest.resize(size);
  return digest;
}

std::string Sha256::hex() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::string digest = bytes();
  std::string out;
  out.reserve(2 * digest.size());
  for (const char byte : digest) {
    const auto value = static_cast<std::uint8_t>(byte);
    out += kDigits[value >> 4U];
    out += kDigits[value & 0xFU];
  }
  return out;
}

}  // namespace treaty
