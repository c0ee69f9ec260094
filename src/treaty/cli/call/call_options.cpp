#include "treaty/cli/call/call_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "treaty/backends/providers/endpoint.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/call/attachments.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::call {
namespace {

using backends::Provider;

constexpr std::size_t kLongestText = std::size_t{16} << 20U;

std::vector<std::string_view> provider_names() {
  std::vector<std::string_view> names;
  for (const Provider& provider : backends::all_providers()) names.emplace_back(provider.name);
  return names;
}

Result<void> read_provider(const Arguments& arguments, CallOptions& options) {
  const std::string name = arguments.get("--provider");
  const std::vector<std::string_view> names = provider_names();
  if (name.empty()) {
    return misused(fmt::format("say who to call: --provider {}", fmt::join(names, "|")));
  }
  options.provider = backends::find_provider(name);
  if (options.provider != nullptr) return {};
  const std::string_view meant = closest(names, name);
  return misused(fmt::format("there is no provider \"{}\"{}; known are {}", harmless(name),
                             meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant),
                             fmt::join(names, ", ")));
}

Result<void> read_protocol(const Arguments& arguments, CallOptions& options) {
  const Provider& provider = *options.provider;
  options.protocol = provider.protocol;
  if (!arguments.has("--protocol")) return {};
  const std::string name = arguments.get("--protocol");
  options.protocol = provider.find_protocol(name);
  if (options.protocol != nullptr) return {};
  std::vector<std::string_view> spoken = {provider.protocol->name};
  for (const backends::Protocol* other : provider.also_speaks) spoken.push_back(other->name);
  return misused(fmt::format("{} does not speak \"{}\", but {}", provider.name, harmless(name),
                             fmt::join(spoken, ", ")));
}

// An address that was given with the command is wrong usage; one of the environment, configuration.
Result<void> read_address(const Arguments& arguments, CallOptions& options) {
  const Provider& provider = *options.provider;
  options.base_url =
      backends::base_url_of(provider, arguments.get("--base-url"), backends::process_environment);
  options.key = backends::key_of(provider, backends::process_environment);
  if (options.base_url.empty()) {
    return failed_with(kBadConfiguration,
                       fmt::format("{} has no address of its own: give --base-url, or set {}",
                                   provider.name, provider.base_url_variables[0]));
  }
  const auto address =
      backends::address_of(provider, options.base_url, *options.protocol, options.call);
  if (address) return {};
  if (arguments.has("--base-url")) {
    return misused(fmt::format("--base-url: {}", address.error().message));
  }
  return failed_with(kBadConfiguration,
                     fmt::format("{}: {}", fmt::join(provider.base_url_variables, " or "),
                                 address.error().message));
}

Result<std::string> read_text(const Arguments& arguments) {
  if (arguments.positionals.empty()) {
    return misused("say something: a text, or - for standard input");
  }
  if (arguments.positionals.size() > 1) return misused("one text at a time: put it in quotes");
  std::string text = arguments.positionals[0];
  if (text == "-") {
    auto read = read_input("-", kLongestText);
    if (!read) {
      return failed_with(kViolated, fmt::format("standard input: {}", read.error().message));
    }
    text = *std::move(read);
  }
  if (text.size() > kLongestText) return misused("the text is longer than 16 MiB");
  if (!is_utf8(text)) return misused("the text is not UTF-8");
  return text;
}

Result<void> read_message(const Arguments& arguments, backends::Call& call) {
  TREATY_TRY(auto text, read_text(arguments));
  backends::UserMessage message{{backends::TextPart{std::move(text)}}};
  for (const std::string& path : arguments.all("--image")) {
    TREATY_TRY(auto image, read_image(path));
    message.parts.emplace_back(std::move(image));
  }
  if (message.parts.size() == 1 && is_blank(std::get<backends::TextPart>(message.parts[0]).text)) {
    return misused("the text is blank");
  }
  call.messages.push_back(std::move(message));
  return {};
}

Result<void> read_tools(const Arguments& arguments, CallOptions& options) {
  backends::Call& call = options.call;
  for (const std::string& word : arguments.all("--tool")) {
    TREATY_TRY(auto tool, read_tool(word));
    if (std::ranges::find(call.tools, tool.name, &backends::Tool::name) != call.tools.end()) {
      return misused(fmt::format("--tool: there are two tools named {}", tool.name));
    }
    call.tools.push_back(std::move(tool));
  }
  if (!arguments.has("--schema")) return {};
  TREATY_TRY(auto wanted, read_output_schema(arguments.get("--schema")));
  call.output = std::move(wanted.request);
  options.schema = std::move(wanted.schema);
  return {};
}

Result<void> read_numbers(const Arguments& arguments, CallOptions& options) {
  if (arguments.has("--max-tokens")) {
    const auto count = parse_number<std::int64_t>(arguments.get("--max-tokens"));
    if (!count || *count < 1) return misused("--max-tokens is a whole number, 1 or more");
    options.call.max_output_tokens = count;
  }
  if (arguments.has("--temperature")) {
    const auto temperature = parse_number<double>(arguments.get("--temperature"));
    if (!temperature || !(*temperature >= 0 && *temperature <= 2)) {
      return misused("--temperature is a number between 0 and 2");
    }
    options.call.temperature = temperature;
  }
  if (arguments.has("--timeout")) {
    const auto seconds = parse_number<double>(arguments.get("--timeout"));
    if (!seconds || !(*seconds > 0 && *seconds <= 86'400)) {
      return misused("--timeout is a number of seconds, up to 86400");
    }
    options.timeout = std::chrono::milliseconds(std::lround(std::ceil(*seconds * 1000)));
  }
  return {};
}

// Refusals name the keys of treaty.yaml; here the same settings are options.
std::string with_options(std::string refusal) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOptions = {
      {{"budget_tokens", "--reasoning-budget"},
       {"leave reasoning out", "leave --reasoning out"},
       {"effort", "--reasoning"}}};
  for (const auto& [key, option] : kOptions) {
    for (std::size_t at = refusal.find(key); at != std::string::npos;
         at = refusal.find(key, at + option.size())) {
      refusal.replace(at, key.size(), option);
    }
  }
  return refusal;
}

// What the provider has no word for is refused before it is called.
Result<void> read_reasoning(const Arguments& arguments, CallOptions& options) {
  if (!arguments.has("--reasoning") && !arguments.has("--reasoning-budget")) return {};
  backends::Reasoning reasoning;
  if (arguments.has("--reasoning")) {
    reasoning.effort = backends::effort_of(arguments.get("--reasoning"));
    if (!reasoning.effort) return misused("--reasoning is minimal, low, medium or high");
  }
  if (arguments.has("--reasoning-budget")) {
    reasoning.budget_tokens = parse_number<std::int64_t>(arguments.get("--reasoning-budget"));
    if (reasoning.budget_tokens.value_or(0) < 1) {
      return misused("--reasoning-budget is a whole number of tokens, 1 or more");
    }
  }
  options.call.reasoning = reasoning;
  const std::string refusal =
      backends::refusal_of(*options.provider, *options.protocol, options.call.model, reasoning,
                           !options.call.tools.empty());
  if (refusal.empty()) return {};
  return misused(with_options(refusal));
}

Result<void> read_model(const Arguments& arguments, CallOptions& options) {
  options.call.model = arguments.get("--model");
  if (!is_blank(options.call.model) && is_utf8(options.call.model)) return {};
  return misused(fmt::format("say which model of {}: --model NAME", options.provider->name));
}

}  // namespace

Result<CallOptions> read_call_options(const Arguments& arguments) {
  CallOptions options;
  options.call.caches = false;  // Nothing reads the cache of one call.
  options.json = wants_json(arguments);
  options.ca_file = arguments.get("--ca-file");
  options.prices_file = arguments.get("--prices");
  options.call.system = arguments.get("--system");
  // On a terminal somebody is watching.
  const bool watched = !options.json && isatty(STDOUT_FILENO) == 1;
  options.call.stream = arguments.has("--stream") || watched;
  if (!is_utf8(options.call.system)) return misused("--system is not UTF-8");

  TREATY_TRY_VOID(read_provider(arguments, options));
  TREATY_TRY_VOID(read_protocol(arguments, options));
  TREATY_TRY_VOID(read_model(arguments, options));
  TREATY_TRY_VOID(read_numbers(arguments, options));
  TREATY_TRY_VOID(read_tools(arguments, options));
  TREATY_TRY_VOID(read_reasoning(arguments, options));
  TREATY_TRY_VOID(read_address(arguments, options));
  TREATY_TRY_VOID(read_message(arguments, options.call));
  return options;
}

}  // namespace treaty::cli::call
