#include "treaty/cli/call/call_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>

#include "treaty/backends/providers/endpoint.h"
#include "treaty/base/text.h"
#include "treaty/cli/call/attachments.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::call {
namespace {

using backends::Provider;
using Outcome = std::expected<void, CallRefusal>;

constexpr std::size_t kLongestText = std::size_t{16} << 20U;

std::unexpected<CallRefusal> refused(std::string message, int code = kWrongUsage) {
  return std::unexpected(CallRefusal{code, std::move(message)});
}

std::vector<std::string_view> provider_names() {
  std::vector<std::string_view> names;
  for (const Provider& provider : backends::all_providers()) names.emplace_back(provider.name);
  return names;
}

Outcome read_provider(const Arguments& arguments, CallOptions& options) {
  const std::string name = arguments.get("--provider");
  const std::vector<std::string_view> names = provider_names();
  if (name.empty()) {
    return refused(fmt::format("say who to call: --provider {}", fmt::join(names, "|")));
  }
  options.provider = backends::find_provider(name);
  if (options.provider != nullptr) return {};
  const std::string_view meant = closest(names, name);
  return refused(fmt::format("there is no provider \"{}\"{}; known are {}", harmless(name),
                             meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant),
                             fmt::join(names, ", ")));
}

Outcome read_protocol(const Arguments& arguments, CallOptions& options) {
  const Provider& provider = *options.provider;
  options.protocol = provider.protocol;
  if (!arguments.has("--protocol")) return {};
  const std::string name = arguments.get("--protocol");
  options.protocol = provider.find_protocol(name);
  if (options.protocol != nullptr) return {};
  std::vector<std::string_view> spoken = {provider.protocol->name};
  for (const backends::Protocol* other : provider.also_speaks) spoken.push_back(other->name);
  return refused(fmt::format("{} does not speak \"{}\", but {}", provider.name, harmless(name),
                             fmt::join(spoken, ", ")));
}

// An address that was given with the command is wrong usage; one of the environment, configuration.
Outcome read_address(const Arguments& arguments, CallOptions& options) {
  const Provider& provider = *options.provider;
  options.base_url =
      backends::base_url_of(provider, arguments.get("--base-url"), backends::process_environment);
  options.key = backends::key_of(provider, backends::process_environment);
  if (options.base_url.empty()) {
    return refused(fmt::format("{} has no address of its own: give --base-url, or set {}",
                               provider.name, provider.base_url_variables[0]),
                   kBadConfiguration);
  }
  const auto address =
      backends::address_of(provider, options.base_url, *options.protocol, options.call);
  if (address) return {};
  if (arguments.has("--base-url")) {
    return refused(fmt::format("--base-url: {}", address.error().message));
  }
  return refused(fmt::format("{}: {}", fmt::join(provider.base_url_variables, " or "),
                             address.error().message),
                 kBadConfiguration);
}

std::expected<std::string, CallRefusal> read_text(const Arguments& arguments) {
  if (arguments.positionals.empty()) {
    return refused("say something: a text, or - for standard input");
  }
  if (arguments.positionals.size() > 1) return refused("one text at a time: put it in quotes");
  std::string text = arguments.positionals[0];
  if (text == "-") {
    auto read = read_input("-", kLongestText);
    if (!read) return refused(fmt::format("standard input: {}", read.error().message), kViolated);
    text = *std::move(read);
  }
  if (text.size() > kLongestText) return refused("the text is longer than 16 MiB");
  if (!is_utf8(text)) return refused("the text is not UTF-8");
  return text;
}

Outcome read_message(const Arguments& arguments, backends::Call& call) {
  auto text = read_text(arguments);
  if (!text) return std::unexpected(text.error());
  backends::UserMessage message{{backends::TextPart{*std::move(text)}}};
  for (const std::string& path : arguments.all("--image")) {
    auto image = read_image(path);
    if (!image) return refused(image.error().message);
    message.parts.emplace_back(*std::move(image));
  }
  if (message.parts.size() == 1 && is_blank(std::get<backends::TextPart>(message.parts[0]).text)) {
    return refused("the text is blank");
  }
  call.messages.push_back(std::move(message));
  return {};
}

Outcome read_tools(const Arguments& arguments, backends::Call& call) {
  for (const std::string& word : arguments.all("--tool")) {
    auto tool = read_tool(word);
    if (!tool) return refused(tool.error().message);
    for (const backends::Tool& other : call.tools) {
      if (other.name == tool->name) {
        return refused(fmt::format("--tool: there are two tools named {}", tool->name));
      }
    }
    call.tools.push_back(*std::move(tool));
  }
  if (!arguments.has("--schema")) return {};
  auto schema = read_output_schema(arguments.get("--schema"));
  if (!schema) return refused(schema.error().message);
  call.output = *std::move(schema);
  return {};
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Outcome read_numbers(const Arguments& arguments, CallOptions& options) {
  if (arguments.has("--max-tokens")) {
    const auto count = number_of<std::int64_t>(arguments.get("--max-tokens"));
    if (!count || *count < 1) return refused("--max-tokens is a whole number, 1 or more");
    options.call.max_output_tokens = count;
  }
  if (arguments.has("--temperature")) {
    const auto temperature = number_of<double>(arguments.get("--temperature"));
    if (!temperature || !(*temperature >= 0 && *temperature <= 2)) {
      return refused("--temperature is a number between 0 and 2");
    }
    options.call.temperature = temperature;
  }
  if (arguments.has("--timeout")) {
    const auto seconds = number_of<double>(arguments.get("--timeout"));
    if (!seconds || !(*seconds > 0 && *seconds <= 86'400)) {
      return refused("--timeout is a number of seconds, up to 86400");
    }
    options.timeout = std::chrono::milliseconds(std::lround(std::ceil(*seconds * 1000)));
  }
  return {};
}

Outcome read_model(const Arguments& arguments, CallOptions& options) {
  options.call.model = arguments.get("--model");
  if (!is_blank(options.call.model) && is_utf8(options.call.model)) return {};
  return refused(fmt::format("say which model of {}: --model NAME", options.provider->name));
}

}  // namespace

std::expected<CallOptions, CallRefusal> read_call_options(const Arguments& arguments) {
  CallOptions options;
  options.json = arguments.get("--format") == "json";
  options.ca_file = arguments.get("--ca-file");
  options.prices_file = arguments.get("--prices");
  options.call.system = arguments.get("--system");
  // On a terminal somebody is watching.
  const bool watched = !options.json && isatty(STDOUT_FILENO) == 1;
  options.call.stream = arguments.has("--stream") || watched;
  if (!is_utf8(options.call.system)) return refused("--system is not UTF-8");

  if (auto done = read_provider(arguments, options); !done) return std::unexpected(done.error());
  if (auto done = read_protocol(arguments, options); !done) return std::unexpected(done.error());
  if (auto done = read_model(arguments, options); !done) return std::unexpected(done.error());
  if (auto done = read_numbers(arguments, options); !done) return std::unexpected(done.error());
  if (auto done = read_tools(arguments, options.call); !done) return std::unexpected(done.error());
  if (auto done = read_address(arguments, options); !done) return std::unexpected(done.error());
  if (auto done = read_message(arguments, options.call); !done) {
    return std::unexpected(done.error());
  }
  return options;
}

}  // namespace treaty::cli::call
