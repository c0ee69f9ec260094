#include "treaty/base/masking/known_secrets.h"

#include <algorithm>

#include "treaty/base/text.h"

namespace treaty {
namespace {

constexpr std::string_view kMaskText = "***";

}  // namespace

KnownSecrets::KnownSecrets(std::span<const std::string> secrets) {
  for (const std::string& secret : secrets) add(secret);
}

KnownSecrets KnownSecrets::with(std::span<const std::string> more) const {
  KnownSecrets all = *this;
  for (const std::string& secret : more) all.add(secret);
  return all;
}

void KnownSecrets::add(const std::string& secret) {
  if (secret.size() < kShortestKnown || std::ranges::find(secrets_, secret) != secrets_.end())
    return;
  secrets_.push_back(secret);
  beginnings_.add(secret);
}

std::optional<KnownSecrets::Place> KnownSecrets::find(std::string_view text,
                                                      std::size_t from) const {
  if (secrets_.empty()) return std::nullopt;
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!beginnings_.may_be_at(text, at)) continue;
    const std::string_view rest = text.substr(at);
    Place place{.begin = at, .size = 0, .is_open = false, .most = 0};
    const bool is_escape = rest[0] == '\\' || rest[0] == '%';
    for (const std::string& secret : secrets_) {
      if (rest[0] != secret[0] && !is_escape) continue;
      const SpelledMatch match = match_spelled(rest, secret);
      place.size = std::max(place.size, match.size);
      place.is_open = place.is_open || match.is_open;
      const bool is_most = match.read >= std::max(kShortestKnown, secret.size() / 2);
      if (is_most) place.most = rest.size();
    }
    if (place.size > 0 || place.is_open) return place;
  }
  return std::nullopt;
}

std::optional<std::string> KnownSecrets::masked(std::string_view text) const {
  MaskedPieces pieces(*this);
  const std::string_view clean = pieces.feed(text);
  if (clean.data() == text.data() && clean.size() == text.size()) return std::nullopt;
  std::string out(clean);
  out += pieces.finish();
  return out == text ? std::nullopt : std::optional(std::move(out));
}

// What is masked has at least the first bytes of a secret, also where a text ends within it.
bool KnownSecrets::may_be_in(std::string_view text) const {
  for (std::size_t at = 0; !secrets_.empty() && at + 1 < text.size(); ++at) {
    if (!beginnings_.may_be_at(text, at)) continue;
    for (const std::string& secret : secrets_) {
      if (match_spelled(text.substr(at), utf8_prefix(secret, kShortestKnown)).size > 0) return true;
    }
  }
  return false;
}

std::string_view MaskedPieces::feed(std::string_view piece) {
  if (held_.empty() && covered_ == 0 && !secrets_.find(piece, 0)) return piece;
  held_ += piece;
  return take(false);
}

std::string_view MaskedPieces::finish() { return take(true); }

std::string_view MaskedPieces::take(bool is_end) {
  out_.clear();
  std::size_t at = 0;
  while (at < held_.size()) {
    const auto place = secrets_.find(held_, at);
    const std::size_t end = place ? place->begin : held_.size();
    pass(at, end);
    at = end;
    if (!place || (place->is_open && !is_end)) break;
    const std::size_t size = std::max(place->size, is_end ? place->most : 0);
    // Secrets that overlap are one mask.
    if (size > 0 && covered_ == 0) out_ += kMaskText;
    covered_ = std::max(covered_, size);
    pass(at, at + 1);
    ++at;
  }
  held_.erase(0, at);
  return out_;
}

// Gives out what no secret covers.
void MaskedPieces::pass(std::size_t begin, std::size_t end) {
  const std::size_t skipped = std::min(covered_, end - begin);
  covered_ -= skipped;
  out_.append(held_, begin + skipped, end - begin - skipped);
}

}  // namespace treaty
