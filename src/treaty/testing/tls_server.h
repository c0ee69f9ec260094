// A TLS server for tests, with a certificate of its own making.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "treaty/testing/loopback.h"

namespace treaty::testing {

// A fresh key and a certificate that it signed itself. `names` as in subjectAltName:
// "DNS:localhost,IP:127.0.0.1".
class Certificate {
 public:
  explicit Certificate(const std::string& names);
  ~Certificate();
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  // Its PEM in a temporary file that goes with the certificate.
  const std::string& file() const { return file_; }

  struct Parts;
  const Parts& parts() const { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
  std::string file_{};
};

// What a step of a script can do once the handshake is through.
class TlsPeer {
 public:
  virtual ~TlsPeer() = default;
  virtual std::string read_request() = 0;
  virtual void send(std::string_view bytes) = 0;
  virtual std::string server_name() const = 0;  // What SNI asked for; empty for none.
  virtual void say_goodbye() = 0;               // close_notify.
};

// A step that shakes hands, and then plays `step` if that went well.
ScriptedServer::Step with_tls(const Certificate& certificate, std::function<void(TlsPeer&)> step);

}  // namespace treaty::testing
