#include "treaty/testing/tls_server.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace treaty::testing {

struct Certificate::Parts {
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key{nullptr, EVP_PKEY_free};
  std::unique_ptr<X509, void (*)(X509*)> certificate{nullptr, X509_free};
};

namespace {

void add_extension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

class Shaken final : public TlsPeer {
 public:
  explicit Shaken(SSL* ssl) : ssl_(ssl) {}

  std::string read_request() override {
    std::string request;
    std::array<char, 4096> buffer{};
    while (!request.contains("\r\n\r\n")) {
      const int size = SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()));
      if (size <= 0) break;
      request.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return request;
  }
  void send(std::string_view bytes) override {
    SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string server_name() const override {
    const char* name = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? "" : name;
  }
  void say_goodbye() override { SSL_shutdown(ssl_); }

 private:
  SSL* ssl_;
};

}  // namespace

Certificate::Certificate(const std::string& names) : parts_(std::make_unique<Parts>()) {
  parts_->key.reset(EVP_EC_gen("P-256"));
  parts_->certificate.reset(X509_new());
  X509* certificate = parts_->certificate.get();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, parts_->key.get());
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>("treaty test");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  add_extension(certificate, NID_subject_alt_name, names);
  add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate, parts_->key.get(), EVP_sha256());

  const char* folder = std::getenv("TMPDIR");
  file_ = std::string(folder == nullptr ? "/tmp" : folder) + "/treaty-test-XXXXXX";
  const int descriptor = mkstemp(file_.data());
  FILE* file = fdopen(descriptor, "w");
  PEM_write_X509(file, certificate);
  std::fclose(file);
}

Certificate::~Certificate() { unlink(file_.c_str()); }

ScriptedServer::Step with_tls(const Certificate& certificate, std::function<void(TlsPeer&)> step) {
  return [&certificate, step = std::move(step)](Peer& peer) {
    const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_server_method()),
                                                               SSL_CTX_free);
    SSL_CTX_use_certificate(context.get(), certificate.parts().certificate.get());
    SSL_CTX_use_PrivateKey(context.get(), certificate.parts().key.get());
    const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context.get()), SSL_free);
    SSL_set_fd(ssl.get(), peer.descriptor());
    if (SSL_accept(ssl.get()) != 1) return;
    Shaken shaken(ssl.get());
    step(shaken);
  };
}

}  // namespace treaty::testing
