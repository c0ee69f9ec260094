// Which addresses may be connected to when somebody else chooses them: public ones, and those
// that the operator allows.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace treaty::http {

// False for loopback, private, link-local, multicast, unspecified, reserved and carrier-grade
// addresses, and for IPv6 addresses that carry such a one of IPv4. Metadata services are among
// them.
bool is_public(const boost::asio::ip::address& address);

// A value. Nobody is asked by name twice: what was checked is what is connected to.
class AddressGuard {
 public:
  AddressGuard() = default;

  // Each is an address, a network ("10.1.0.0/16", "fd00::/8") or a name of a host. The error names
  // the one that is none.
  static std::expected<AddressGuard, std::string> allowing(std::span<const std::string> allowed);

  bool allows(std::string_view host, const boost::asio::ip::address& address) const;

 private:
  struct Network {
    boost::asio::ip::address address{};
    unsigned length = 0;  // Bits.
  };

  std::vector<Network> networks_{};
  std::vector<std::string> hosts_{};
};

}  // namespace treaty::http
