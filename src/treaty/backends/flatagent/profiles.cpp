#include "treaty/backends/flatagent/profiles.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "treaty/backends/providers/provider.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

void put_over(Object& below, const Object& above) {
  for (const auto& [name, value] : above) {
    if (name != "profile" && !value.is_null()) below[name] = value;
  }
}

Wrong unknown_profile(const ProfileCatalog& catalog, std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(catalog.profiles.size());
  for (const auto& [known, profile] : catalog.profiles) names.push_back(known);
  const std::string_view meant = closest(names, name);
  const std::string hint = !meant.empty()  ? fmt::format("did you mean {}?", meant)
                           : names.empty() ? "there are none"
                                           : fmt::format("there are {}", fmt::join(names, ", "));
  return Wrong(fmt::format("there is no model profile {}; {}", name, hint));
}

Read<Object> begin_with_default(const ProfileCatalog& catalog) {
  if (catalog.default_name.empty()) return Object{};
  const auto found = catalog.profiles.find(catalog.default_name);
  if (found == catalog.profiles.end()) return unknown_profile(catalog, catalog.default_name);
  return found->second;
}

Read<Object> end_with_override(const ProfileCatalog& catalog, Object profile) {
  if (catalog.override_name.empty()) return profile;
  const auto found = catalog.profiles.find(catalog.override_name);
  if (found == catalog.profiles.end()) return unknown_profile(catalog, catalog.override_name);
  put_over(profile, found->second);
  return profile;
}

// A name that is not there is the default, where there is one.
Read<void> put_named(const ProfileCatalog& catalog, std::string_view name, Object& profile) {
  const auto found = catalog.profiles.find(name);
  if (found == catalog.profiles.end() && profile.empty()) return unknown_profile(catalog, name);
  if (found != catalog.profiles.end()) put_over(profile, found->second);
  return {};
}

Read<std::optional<double>> number_member(const Object& object, std::string_view name) {
  const Dynamic* found = member_of(object, name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number()) {
    return Wrong(fmt::format("`{}` of the model is {}, not a number", name, kind_of(*found)));
  }
  return found->to_number<double>();
}

Read<std::optional<std::int64_t>> whole_member(const Object& object, std::string_view name) {
  const auto number = number_member(object, name);
  if (!number) return Wrong(number.error());
  if (!*number) return std::nullopt;
  if (**number != std::floor(**number) || std::abs(**number) > 1e15) {
    return Wrong(fmt::format("`{}` of the model is not a whole number", name));
  }
  return static_cast<std::int64_t>(**number);
}

// The first fault of the numbers; empty when there is none.
std::string take_numbers(const Object& model, ModelProfile& profile) {
  std::string fault;
  const auto take = [&](std::string_view name, auto read, auto& to) {
    auto value = read(model, name);
    if (value) {
      to = *value;
    } else if (fault.empty()) {
      fault = value.error();
    }
  };
  take("temperature", number_member, profile.temperature);
  take("max_tokens", whole_member, profile.max_tokens);
  take("top_p", number_member, profile.sampling.top_p);
  take("top_k", whole_member, profile.sampling.top_k);
  take("frequency_penalty", number_member, profile.sampling.frequency_penalty);
  take("presence_penalty", number_member, profile.sampling.presence_penalty);
  take("seed", whole_member, profile.sampling.seed);
  if (fault.empty() && profile.max_tokens && *profile.max_tokens < 1) {
    fault = "`max_tokens` of the model is not a number from 1 on";
  }
  return fault;
}

// "cerebras/llama", also under the provider cerebras, is its llama; "meta-llama/Llama-3" is a name.
void split_name(ModelProfile& profile) {
  const std::size_t end = profile.model.find_first_of("/:");
  if (end == std::string::npos) return;
  const std::string before = profile.model.substr(0, end);
  const bool is_said_twice = before == profile.provider;
  const bool is_provider =
      profile.provider.empty() && profile.model[end] == '/' && find_provider(before) != nullptr;
  if (!is_said_twice && !is_provider) return;
  profile.provider = before;
  profile.model.erase(0, end + 1);
}

}  // namespace

Read<ProfileCatalog> read_catalog(const Dynamic& document) {
  if (!document.is_object()) return Wrong(fmt::format("it is {}", kind_of(document)));
  const Object& root = document.get_object();
  const auto spec = text_member(root, "spec");
  if (!spec || (*spec && **spec != "flatprofile")) {
    return Wrong(fmt::format("its spec is {}, not flatprofile", spec ? **spec : "not a text"));
  }
  const Dynamic* wrapped = member_of(root, "data");
  if (wrapped != nullptr && !wrapped->is_object()) return Wrong("`data` is not a mapping");
  const Object& data = wrapped == nullptr ? root : wrapped->get_object();
  ProfileCatalog catalog;
  if (const Dynamic* profiles = member_of(data, "model_profiles")) {
    if (!profiles->is_object()) return Wrong("`model_profiles` is not a mapping");
    for (const auto& [name, profile] : profiles->get_object()) {
      if (!profile.is_object()) {
        return Wrong(
            fmt::format("the model profile {} is {}", std::string_view(name), kind_of(profile)));
      }
      catalog.profiles[std::string(name)] = profile.get_object();
    }
  }
  const auto usual = text_member(data, "default");
  if (!usual) return Wrong(usual.error());
  const auto override = text_member(data, "override");
  if (!override) return Wrong(override.error());
  catalog.default_name = usual->value_or("");
  catalog.override_name = override->value_or("");
  return catalog;
}

Read<Object> find_profile(const ProfileCatalog& catalog, const std::optional<std::string>& name) {
  auto profile = begin_with_default(catalog);
  if (!profile) return profile;
  if (name) {
    if (auto put = put_named(catalog, *name, *profile); !put) return Wrong(put.error());
  } else if (profile->empty() && catalog.profiles.size() == 1) {
    *profile = catalog.profiles.begin()->second;
  }
  profile = end_with_override(catalog, *std::move(profile));
  if (profile && profile->empty()) {
    return Wrong("the catalog of model profiles names no `default`");
  }
  return profile;
}

Read<Object> merged_profile(const ProfileCatalog& catalog, const Object& inlined) {
  auto profile = begin_with_default(catalog);
  if (!profile) return profile;
  const auto name = text_member(inlined, "profile");
  if (!name) return Wrong(name.error());
  if (*name) {
    if (auto put = put_named(catalog, **name, *profile); !put) return Wrong(put.error());
  }
  put_over(*profile, inlined);
  return end_with_override(catalog, *std::move(profile));
}

Read<ModelProfile> read_profile(const Object& profile) {
  const auto type = text_member(profile, "type");
  if (!type) return Wrong(type.error());
  if (type->value_or("llm") != "llm") {
    return Wrong(fmt::format("agents of the type {} are not supported yet", **type));
  }
  const Dynamic* nested = member_of(profile, "model");
  const Object& model = nested != nullptr && nested->is_object() ? nested->get_object() : profile;
  ModelProfile read;
  for (const auto& [name, place] :
       {std::pair("name", &read.model), std::pair("provider", &read.provider),
        std::pair("base_url", &read.base_url)}) {
    const auto text = text_member(model, name);
    if (!text) return Wrong(fmt::format("of the model, {}", text.error()));
    *place = text->value_or("");
  }
  if (std::string fault = take_numbers(model, read); !fault.empty()) return Wrong(std::move(fault));
  read.written = model;
  split_name(read);
  return read;
}

}  // namespace treaty::backends
