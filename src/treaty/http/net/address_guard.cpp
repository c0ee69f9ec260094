#include "treaty/http/net/address_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"

namespace treaty::http {
namespace {

using boost::asio::ip::address;
using boost::asio::ip::address_v4;
using boost::asio::ip::address_v6;

struct Block4 {
  std::uint32_t network;
  unsigned length;
};

// RFC 6890, and what has been set aside since.
constexpr std::array<Block4, 15> kNotPublic = {{
    {0x00000000, 8},   // 0.0.0.0/8: this network.
    {0x0A000000, 8},   // 10.0.0.0/8: private.
    {0x64400000, 10},  // 100.64.0.0/10: behind a carrier's translation.
    {0x7F000000, 8},   // 127.0.0.0/8: loopback.
    {0xA9FE0000, 16},  // 169.254.0.0/16: link-local, metadata services.
    {0xAC100000, 12},  // 172.16.0.0/12: private.
    {0xC0000000, 24},  // 192.0.0.0/24: protocol assignments, metadata services.
    {0xC0000200, 24},  // 192.0.2.0/24: documentation.
    {0xC0586300, 24},  // 192.88.99.0/24: relays of old.
    {0xC0A80000, 16},  // 192.168.0.0/16: private.
    {0xC6120000, 15},  // 198.18.0.0/15: benchmarks.
    {0xC6336400, 24},  // 198.51.100.0/24: documentation.
    {0xCB007100, 24},  // 203.0.113.0/24: documentation.
    {0xE0000000, 4},   // 224.0.0.0/4: multicast.
    {0xF0000000, 4},   // 240.0.0.0/4: reserved, broadcast.
}};

bool is_public_4(const address_v4& four) {
  return std::ranges::none_of(kNotPublic, [number = four.to_uint()](const Block4& block) {
    return (number >> (32U - block.length)) == (block.network >> (32U - block.length));
  });
}

bool begins_with(const address_v6::bytes_type& bytes, std::initializer_list<unsigned> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

address_v4 four_in(const address_v6::bytes_type& bytes, std::size_t at) {
  return address_v4(address_v4::bytes_type{bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]});
}

// Only 2000::/3 is handed out to be public; some of it carries addresses of IPv4, or documents.
bool is_public_6(const address_v6& six) {
  const auto bytes = six.to_bytes();
  if (six.is_v4_mapped()) return is_public_4(four_in(bytes, 12));
  if (begins_with(bytes, {0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0})) {
    return is_public_4(four_in(bytes, 12));  // 64:ff9b::/96: translated.
  }
  if ((bytes[0] & 0xE0U) != 0x20U) return false;
  if (begins_with(bytes, {0x20, 0x02})) return is_public_4(four_in(bytes, 2));  // 6to4.
  if (begins_with(bytes, {0x20, 0x01, 0x0D, 0xB8})) return false;               // Documentation.
  if (begins_with(bytes, {0x3F, 0xFF}) && bytes[2] < 0x10) return false;        // Likewise.
  if (begins_with(bytes, {0x20, 0x01}) && bytes[2] < 2) return false;  // Teredo and its like.
  return true;
}

// As IPv4 when it carries one: 127.0.0.1 and ::ffff:127.0.0.1 are the same to an operator.
address plain(const address& given) {
  if (given.is_v6() && given.to_v6().is_v4_mapped()) {
    return address(four_in(given.to_v6().to_bytes(), 12));
  }
  return given;
}

template <class Bytes>
bool share_bits(const Bytes& left, const Bytes& right, unsigned length) {
  const std::size_t whole = length / 8;
  if (!std::equal(left.begin(), left.begin() + whole, right.begin())) return false;
  if (length % 8 == 0) return true;
  const unsigned mask = 0xFFU << (8 - length % 8) & 0xFFU;
  return (left[whole] & mask) == (right[whole] & mask);
}

bool is_in(const address& one, const address& network, unsigned length) {
  if (one.is_v4() != network.is_v4()) return false;
  if (one.is_v4()) return share_bits(one.to_v4().to_bytes(), network.to_v4().to_bytes(), length);
  return share_bits(one.to_v6().to_bytes(), network.to_v6().to_bytes(), length);
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
  });
}

}  // namespace

bool is_public(const address& given) {
  return given.is_v4() ? is_public_4(given.to_v4()) : is_public_6(given.to_v6());
}

std::expected<AddressGuard, std::string> AddressGuard::allowing(
    std::span<const std::string> allowed) {
  AddressGuard guard;
  for (const std::string& entry : allowed) {
    const std::size_t slash = entry.find('/');
    boost::system::error_code error;
    const auto network = boost::asio::ip::make_address(entry.substr(0, slash), error);
    if (!error) {
      const unsigned most = network.is_v4() ? 32 : 128;
      const auto length = slash == std::string::npos
                              ? std::optional(most)
                              : parse_number<unsigned>(std::string_view(entry).substr(slash + 1));
      if (!length || *length > most) {
        return std::unexpected(fmt::format("{} is not a network", entry));
      }
      guard.networks_.push_back({network, *length});
    } else if (slash == std::string::npos && is_host(entry)) {
      guard.hosts_.push_back(folded(entry));
    } else {
      return std::unexpected(fmt::format("{} is neither an address nor a host", entry));
    }
  }
  return guard;
}

bool AddressGuard::allows(std::string_view host, const address& given) const {
  if (is_public(given)) return true;
  if (std::ranges::find(hosts_, folded(host)) != hosts_.end()) return true;
  const address one = plain(given);
  return std::ranges::any_of(networks_, [&one](const Network& network) {
    return is_in(one, network.address, network.length);
  });
}

}  // namespace treaty::http
