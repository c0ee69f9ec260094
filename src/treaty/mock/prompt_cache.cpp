#include "treaty/mock/prompt_cache.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "treaty/backends/scripted/script_player.h"
#include "treaty/base/hash.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::mock {
namespace {

using json::find_member;

// How many blocks the provider looks at for what it has kept: a marked one and those before it.
constexpr std::size_t kLookBack = 20;

// The beginning of a request that ends with a block.
struct Prefix {
  std::string digest;
  std::size_t bytes = 0;
  bool is_marked = false;
};

// A block as the cache compares it: without its mark.
std::string without_mark(json::Value block) {
  if (!block.is_object()) return json::minified(block);
  json::Writer writer;
  writer.begin_object();
  for (const auto& [name, value] : block.members()) {
    if (name.text() != "cache_control") writer.name(name.text()).raw(json::minified(value));
  }
  return writer.end_object().take();
}

// The prefixes of a request, in the order in which the provider reads it: tools, system, messages.
class PrefixReader {
 public:
  std::vector<Prefix> read(json::Value root) {
    add_all("tools", find_member(root, "tools"));
    add_all("system", find_member(root, "system"));
    for (const json::Value message : json::elements_of(find_member(root, "messages"))) {
      add_all(json::find_text(message, "role"), find_member(message, "content"));
    }
    return std::move(prefixes_);
  }

 private:
  void add_all(std::string_view where, std::optional<json::Value> content) {
    if (!content) return;
    if (!content->is_array()) return add(where, *content);
    for (const json::Value block : content->elements()) add(where, block);
  }

  void add(std::string_view where, json::Value block) {
    const std::string text = without_mark(block);
    std::string whole(where);
    whole += text;
    std::size_t bytes = text.size();
    if (!prefixes_.empty()) {
      whole += prefixes_.back().digest;
      bytes += prefixes_.back().bytes;
    }
    prefixes_.push_back({.digest = sha256_hex(whole),
                         .bytes = bytes,
                         .is_marked = find_member(block, "cache_control").has_value()});
  }

  std::vector<Prefix> prefixes_{};
};

}  // namespace

void PromptCache::keep(const std::string& digest) {
  if (!kept_.insert(digest).second) return;
  order_.push_back(digest);
  if (order_.size() <= capacity_) return;
  kept_.erase(order_.front());
  order_.pop_front();
}

CachedPart PromptCache::account(std::string_view body) {
  const json::Document document(body, {.max_depth = 512, .grammar_only = true});
  const auto root = document.root();
  if (!root || !document.faults().empty()) return {};
  const std::vector<Prefix> prefixes = PrefixReader().read(*root);
  std::size_t read = 0;
  std::size_t marked = 0;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    if (!prefixes[i].is_marked) continue;
    marked = prefixes[i].bytes;
    for (std::size_t back = 0; back < std::min(kLookBack, i + 1); ++back) {
      if (!kept_.contains(prefixes[i - back].digest)) continue;
      read = std::max(read, prefixes[i - back].bytes);
      break;
    }
  }
  for (const Prefix& prefix : prefixes) {
    if (prefix.is_marked) keep(prefix.digest);
  }
  const std::int64_t in_cache = backends::estimated_tokens(read);
  return {.read = in_cache, .written = backends::estimated_tokens(marked) - in_cache};
}

}  // namespace treaty::mock
