// TLS for clients on a socket that does not block, by OpenSSL. The socket stays the caller's.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;
struct bio_method_st;

namespace treaty::http {

enum class IoOutcome { done, wants_read, wants_write, closed, failed };

// What came of reading or writing without waiting.
struct IoStep {
  IoOutcome outcome;
  std::size_t size = 0;
};

// One side of one connection.
class TlsStream {
 public:
  ~TlsStream();
  TlsStream(TlsStream&&) noexcept = default;
  TlsStream& operator=(TlsStream&&) noexcept = default;

  IoStep handshake();
  IoStep read(std::span<char> buffer);
  IoStep write(std::string_view bytes);  // After wants_…, again with the same bytes.

  // Tells the peer that nothing follows, if that is possible at once.
  void send_close_notify();

  // Why the last step failed, for people.
  const std::string& reason() const { return reason_; }

 private:
  friend class TlsContext;
  explicit TlsStream(ssl_st* ssl, std::string host);
  IoStep step(int result, std::size_t size);
  std::string explain(int error) const;

  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  std::unique_ptr<ssl_st, Free> ssl_;
  std::string host_;
  std::string reason_{};
};

// What connections share: TLS 1.2 or later, the system's trusted certificates and those of a file.
class TlsContext {
 public:
  // The error says what is wrong with `ca_file` (empty: none).
  static std::expected<TlsContext, std::string> create(const std::string& ca_file);

  // A connection to `host`, whose name or address must stand in the certificate.
  std::expected<TlsStream, std::string> connect(int descriptor, const std::string& host);

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
    void operator()(bio_method_st* method) const;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_{};
  std::unique_ptr<bio_method_st, Free> method_{};
};

}  // namespace treaty::http
