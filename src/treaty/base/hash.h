// Digests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace treaty {

// SHA-256 over bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);

  // 64 lower-case hex digits. Ends the digest: nothing may be added afterwards.
  std::string hex();

  // The same as 32 bytes.
  std::string bytes();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace treaty
