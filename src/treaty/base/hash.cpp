#include "treaty/base/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cstdint>

namespace treaty {

namespace {

// Looked up once: OpenSSL takes longer to find it than to hash a small request with it.
const EVP_MD* algorithm() {
  static const EVP_MD* const kFound = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kFound;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() { EVP_DigestInit_ex(context, algorithm(), nullptr); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Sha256::bytes() {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(digest.data()), &size);
  digest.resize(size);
  return digest;
}

std::string Sha256::hex() {
  std::string out;
  for (const char byte : bytes()) {
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<std::uint8_t>(byte));
  }
  return out;
}

}  // namespace treaty
