// A provider is a value: where it lives, how it wants its key, which protocol it speaks, and in
// what it differs. Adding one is a row of the table in all_providers.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/results/limits.h"

namespace treaty::backends {

struct Key {
  std::vector<std::string_view> environment_variables{};  // The first that is set.
  std::string_view header{};                              // Empty: the protocol's own.
  bool required = true;
};

struct Provider {
  std::string_view name;
  std::string_view default_model{};                    // Small, cheap, able to call tools.
  std::string_view base_url{};                         // Empty: the user has to give one.
  std::vector<std::string_view> base_url_variables{};  // The first that is set: "OPENAI_BASE_URL".

  // What users give as a base URL (an endpoint, a bare host), made whole; null: a base URL without
  // a path gets the path of `base_url`.
  std::string (*complete_base_url)(std::string_view given) = nullptr;

  Key key{};
  std::string_view conversation_header{};  // Names the conversation, where prompts are kept by it.
  const Protocol* protocol = &chat_completions();
  std::vector<const Protocol*> also_speaks{};
  RequestStyle style{};
  results::PlainLimits plain_limits = results::PlainLimits::unnamed;

  // The whole URL of a call; null: the protocol's path below the base URL.
  std::string (*url_of)(std::string_view base_url, const Call& call,
                        const Protocol& protocol) = nullptr;

  // Null when it does not speak a protocol of that name. Without a name: its usual one.
  const Protocol* find_protocol(std::string_view protocol_name) const;
};

// Why this model cannot be asked to think that way, in plain words; empty: it can, or nothing is
// known of it. Some models are asked differently when they have tools.
std::string refusal_of(const Provider& provider, const Protocol& protocol, std::string_view model,
                       const Reasoning& reasoning, bool has_tools = false);

// Whether thoughts go back at all: those that do not need not be kept.
bool takes_thoughts(const Provider& provider, const Protocol& protocol);

// Whether thoughts of earlier turns go back, too.
bool wants_earlier_thoughts(const Provider& provider, const Protocol& protocol,
                            std::string_view model);

// How the model of a call continues a message of the assistant at its end, if it does.
Prefill prefill_of(const Provider& provider, const Protocol& protocol, const Call& call);

std::span<const Provider> all_providers();

// Null when unknown.
const Provider* find_provider(std::string_view name);

}  // namespace treaty::backends
