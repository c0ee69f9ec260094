#include "treaty/http/net/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace treaty::http {
namespace {

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL: a peer that has gone would end the process.
int write_socket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const int descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t sent = send(descriptor, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int read_socket(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const int descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t got = recv(descriptor, bytes, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

long control_socket(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

bool is_ip(const std::string& host) {
  std::array<unsigned char, 16> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// Which name the certificate must have. SNI is for names alone (RFC 6066 §3).
bool expect_host(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (is_ip(host)) return X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) == 1;
  return SSL_set1_host(ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

}  // namespace

void TlsStream::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }
void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void TlsContext::Free::operator()(bio_method_st* method) const { BIO_meth_free(method); }

TlsStream::TlsStream(ssl_st* ssl, std::string host) : ssl_(ssl), host_(std::move(host)) {}
TlsStream::~TlsStream() = default;

IoStep TlsStream::step(int result, std::size_t size) {
  if (result > 0) return {IoOutcome::done, size};
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ) return {IoOutcome::wants_read};
  if (error == SSL_ERROR_WANT_WRITE) return {IoOutcome::wants_write};
  if (error == SSL_ERROR_ZERO_RETURN) return {IoOutcome::closed};
  reason_ = explain(error);
  ERR_clear_error();
  return {IoOutcome::failed};
}

std::string TlsStream::explain(int error) const {
  const unsigned long code = ERR_peek_error();
  const int reason = ERR_GET_REASON(code);
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (verdict != X509_V_OK && SSL_is_init_finished(ssl_.get()) == 0) {
    return fmt::format("the certificate of {} does not verify: {}", host_,
                       X509_verify_cert_error_string(verdict));
  }
  if (error == SSL_ERROR_SYSCALL || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    return fmt::format("{} closed the connection without ending TLS", host_);
  }
  const char* text = ERR_reason_error_string(code);
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
    return fmt::format("{} does not speak TLS on this port", host_);
  }
  return fmt::format("TLS with {} failed: {}", host_, text == nullptr ? "no reason given" : text);
}

IoStep TlsStream::handshake() {
  ERR_clear_error();
  return step(SSL_connect(ssl_.get()), 0);
}

IoStep TlsStream::read(std::span<char> buffer) {
  ERR_clear_error();
  std::size_t size = 0;
  const int result = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &size);
  return step(result, size);
}

IoStep TlsStream::write(std::string_view bytes) {
  ERR_clear_error();
  std::size_t size = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &size);
  return step(result, size);
}

void TlsStream::send_close_notify() {
  if (SSL_is_init_finished(ssl_.get()) != 0) SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

std::expected<TlsContext, std::string> TlsContext::create(const std::string& ca_file) {
  TlsContext made;
  made.context_.reset(SSL_CTX_new(TLS_client_method()));
  made.method_.reset(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "treaty socket"));
  SSL_CTX* context = made.context_.get();
  if (context == nullptr || !made.method_) return std::unexpected(last_error());
  BIO_meth_set_write(made.method_.get(), write_socket);
  BIO_meth_set_read(made.method_.get(), read_socket);
  BIO_meth_set_ctrl(made.method_.get(), control_socket);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // Reads SSL_CERT_FILE and SSL_CERT_DIR, too. A machine without a store can still use ca_file.
  SSL_CTX_set_default_verify_paths(context);
  ERR_clear_error();
  if (!ca_file.empty() && SSL_CTX_load_verify_file(context, ca_file.c_str()) != 1) {
    return std::unexpected(fmt::format("the file of trusted certificates, {}, cannot be used: {}",
                                       ca_file, last_error()));
  }
  return made;
}

std::expected<TlsStream, std::string> TlsContext::connect(int descriptor, const std::string& host) {
  TlsStream stream(SSL_new(context_.get()), host);
  BIO* bio = BIO_new(method_.get());
  if (!stream.ssl_ || bio == nullptr || !expect_host(stream.ssl_.get(), host)) {
    BIO_free(bio);
    return std::unexpected(fmt::format("TLS with {} cannot begin: {}", host, last_error()));
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
  BIO_set_init(bio, 1);
  SSL_set_bio(stream.ssl_.get(), bio, bio);
  return stream;
}

}  // namespace treaty::http
