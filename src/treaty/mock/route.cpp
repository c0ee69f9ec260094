#include "treaty/mock/route.h"

namespace treaty::mock {
namespace {

// What stands between `before` and the next slash.
std::string_view part_after(std::string_view path, std::string_view before) {
  const std::size_t at = path.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = path.substr(at + before.size());
  return rest.substr(0, rest.find('/'));
}

}  // namespace

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

std::optional<ProviderRoute> find_route(std::string_view target) {
  std::string_view path = path_of(target);
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  for (const backends::Protocol* protocol : backends::all_protocols()) {
    if (protocol->fixed_path.empty() || !path.ends_with(protocol->fixed_path)) continue;
    return ProviderRoute{.protocol = protocol,
                         .path = {.model = std::string(part_after(path, "/deployments/"))}};
  }
  const std::string_view model = part_after(path, "/models/");
  const std::size_t colon = model.rfind(':');
  const std::string_view verb = colon == std::string_view::npos ? "" : model.substr(colon + 1);
  if (verb == "generateContent" || verb == "streamGenerateContent") {
    const bool stream = verb == "streamGenerateContent";
    return ProviderRoute{.protocol = &backends::gemini(),
                         .path = {.model = std::string(model.substr(0, colon)), .stream = stream},
                         .json_array = stream && !target.contains("alt=sse")};
  }
  if (path.ends_with("/models") || !model.empty()) {
    return ProviderRoute{.path = {.model = std::string(model)}};
  }
  return std::nullopt;
}

}  // namespace treaty::mock
