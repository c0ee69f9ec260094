// `treaty call`: one call of a provider, its text as it comes, one AgentResult.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <string>

#include "treaty/backends/call.h"
#include "treaty/backends/http_backend.h"
#include "treaty/backends/providers/endpoint.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/call/attachments.h"
#include "treaty/cli/call/call_report.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/http/client.h"

namespace treaty::cli::call {
namespace {

struct CallOptions {
  const backends::Provider* provider = nullptr;
  const backends::Protocol* protocol = nullptr;
  std::string base_url{};  // Made whole; may come from the environment.
  std::string key{};       // From the environment; empty when there is none.
  backends::Call call{};
  std::string ca_file{};
  std::string prices_file{};
  std::chrono::milliseconds timeout{600'000};
  bool json = false;
};

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

Result<void> read_tools(const Arguments& arguments, backends::Call& call) {
  for (const std::string& word : arguments.all("--tool")) {
    TREATY_TRY(auto tool, read_tool(word));
    if (std::ranges::find(call.tools, tool.name, &backends::Tool::name) != call.tools.end()) {
      return misused(fmt::format("--tool: there are two tools named {}", tool.name));
    }
    call.tools.push_back(std::move(tool));
  }
  if (!arguments.has("--schema")) return {};
  TREATY_TRY(call.output, read_output_schema(arguments.get("--schema")));
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

Result<void> read_model(const Arguments& arguments, CallOptions& options) {
  options.call.model = arguments.get("--model");
  if (!is_blank(options.call.model) && is_utf8(options.call.model)) return {};
  return misused(fmt::format("say which model of {}: --model NAME", options.provider->name));
}

Result<CallOptions> read_call_options(const Arguments& arguments) {
  CallOptions options;
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
  TREATY_TRY_VOID(read_tools(arguments, options.call));
  TREATY_TRY_VOID(read_address(arguments, options));
  TREATY_TRY_VOID(read_message(arguments, options.call));
  return options;
}

namespace asio = boost::asio;
using contracts::AgentResult;

// The text of the answer, as it comes when somebody watches.
class AnswerText : public backends::Sink {
 public:
  explicit AnswerText(bool as_it_comes) : as_it_comes_(as_it_comes) {}

  void on_text(std::string_view delta) override {
    if (as_it_comes_) output.write(delta);
  }

  TextOutput output{};

 private:
  bool as_it_comes_;
};

struct Ended {
  AgentResult result{};
  int signal = 0;  // What ended it, if a signal did.
};

Ended run_call(const CallOptions& options, const results::PriceTable& prices,
               backends::Sink& sink) {
  asio::io_context context(1);
  http::Client client(context, {.ca_file = options.ca_file});
  backends::HttpBackend backend(client,
                                {.provider = options.provider,
                                 .protocol = options.protocol,
                                 .base_url = options.base_url,
                                 .key = options.key,
                                 .fetch = {.timeouts = backends::timeouts_within(options.timeout),
                                           .max_body_bytes = backends::kLargestAnswer}},
                                prices);
  Ended ended;
  asio::cancellation_signal cancel;
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& failed, int number) {
    if (failed) return;
    ended.signal = number;
    cancel.emit(asio::cancellation_type::terminal);
  });
  asio::co_spawn(context, backend.run(options.call, sink),
                 asio::bind_cancellation_slot(cancel.slot(),
                                              [&](const std::exception_ptr&, AgentResult result) {
                                                ended.result = std::move(result);
                                                signals.cancel();
                                              }));
  context.run();
  return ended;
}

void report(const AgentResult& result, const CallOptions& options, TextOutput& output) {
  if (options.json) {
    print_document(contracts::encode(result) + "\n");
    return;
  }
  if (!output.has_written() && result.content) output.write(*result.content);
  output.end_line();
  print("{}", tool_call_lines(result));
  std::fflush(stdout);
  if (result.error) {
    print_error("{}", error_lines(result, *options.provider));
  } else {
    print_error("{}\n", usage_line(result));
  }
}

// The user's table in the place of the program's own.
Result<results::PriceTable> prices_of(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{10} << 20U;
  if (path.empty()) {
    return results::read_prices(results::built_in_prices()).value_or(results::PriceTable());
  }
  const auto text = read_input(path, kLargest);
  if (!text) return failed_with(kBadConfiguration, text_of(text.error()));
  auto prices = results::read_prices(*text);
  if (prices) return *std::move(prices);
  return failed_with(kBadConfiguration,
                     fmt::format("{}:{}: {}", harmless(path), prices.error().where,
                                 harmless(prices.error().message)));
}

Result<int> run(const Arguments& arguments) {
  TREATY_TRY(const auto options, read_call_options(arguments));
  TREATY_TRY(const auto prices, prices_of(options.prices_file));
  // Found out before anybody is called, and whether or not the address is one of https.
  if (!options.ca_file.empty()) {
    constexpr std::size_t kLargestFile = std::size_t{16} << 20U;
    if (const auto file = read_input(options.ca_file, kLargestFile); !file) {
      return failed_with(
          kBadConfiguration,
          fmt::format("--ca-file {}: {}", harmless(options.ca_file), file.error().message));
    }
  }
  AnswerText text(!options.json && options.call.stream);
  const Ended ended = run_call(options, prices, text);
  report(ended.result, options, text.output);
  return ended.signal != 0 ? 128 + ended.signal : exit_code_of(ended.result);
}

}  // namespace

Command command() {
  return {
      .name = "call",
      .positionals = "TEXT|-",
      .summary = "Call a model of any provider and get one AgentResult",
      .description =
          R"(The text of the answer goes to stdout, as it comes when that is a terminal or with
--stream; one line about usage, cost and limits goes to stderr. The key is read from the
environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, …; docs/guide/providers.md lists them).
Exit: 0 answered, 1 refused, 2 wrong usage, 69 not reachable, 75 try again later, 78 no
key or address, 130 interrupted.)",
      .options = {{"--provider", "NAME", "Who to call"},
                  {"--model", "NAME", "Which model of theirs"},
                  {"--stream", "", "Ask for a stream, and print the text as it comes"},
                  {"--system", "TEXT", "Instructions that stand above the text"},
                  {"--image", "FILE", "A PNG, JPEG, GIF or WebP to look at", {}, true},
                  {"--tool", "TOOL", "NAME, NAME=FILE (JSON Schema), or a tool as JSON", {}, true},
                  {"--schema", "FILE", "A JSON Schema that the answer shall fit"},
                  {"--max-tokens", "N", "The longest answer"},
                  {"--temperature", "T", "0 to 2"},
                  {"--protocol", "NAME", "Another protocol that the provider speaks"},
                  {"--base-url", "URL", "Another address; above the provider's *_BASE_URL"},
                  {"--ca-file", "FILE", "Certificates to trust beside the system's (PEM)"},
                  {"--timeout", "SECONDS", "For all of it (600)"},
                  {"--prices", "FILE", "A price table of your own (YAML)"},
                  format_option("The text, or the whole AgentResult")},
      .examples =
          {{"call --provider openai --model gpt-5-mini \"Say hi\"", "A text"},
           {"call --provider anthropic --model claude-haiku-4-5 --format json - < question.txt",
            "The whole AgentResult, for scripts"},
           {"call --provider gemini --model gemini-2.5-flash --image cat.png \"What is it?\"",
            "About an image"},
           {"call --provider custom --base-url http://localhost:8080/v1 --model any \"Say hi\"",
            "Any server that speaks Chat Completions"}},
      .run = run,
  };
}

}  // namespace treaty::cli::call
