// `treaty call`: one call of a provider, its text as it comes, one AgentResult.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <csignal>
#include <string>

#include "treaty/backends/http_backend.h"
#include "treaty/base/try.h"
#include "treaty/cli/call/call_options.h"
#include "treaty/cli/call/call_report.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/dispatch/structured_answer.h"
#include "treaty/http/client.h"

namespace treaty::cli::call {
namespace {

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

// The provider, asked within what is left of the time for all of it.
class AskedProvider {
 public:
  AskedProvider(asio::io_context& context, const CallOptions& options,
                const results::PriceTable& prices, backends::Sink& sink)
      : client_(context, {.ca_file = options.ca_file}),
        options_(options),
        prices_(prices),
        sink_(sink) {}

  asio::awaitable<AgentResult> run() {
    co_await asio::this_coro::throw_if_cancelled(false);  // A cancelled call still has its result.
    if (!options_.schema) co_return co_await ask(options_.call);
    co_return co_await dispatch::ask_for_output(options_.call, *options_.schema,
                                                [this](backends::Call call) { return ask(call); });
  }

 private:
  asio::awaitable<AgentResult> ask(backends::Call call) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
    const auto time = std::max(left, std::chrono::milliseconds(1));
    backends::HttpBackend backend(client_,
                                  {.provider = options_.provider,
                                   .protocol = options_.protocol,
                                   .base_url = options_.base_url,
                                   .key = options_.key,
                                   .fetch = backends::fetch_within(time)},
                                  prices_);
    co_return co_await backend.run(call, sink_);
  }

  http::Client client_;
  const CallOptions& options_;
  const results::PriceTable& prices_;
  backends::Sink& sink_;
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + options_.timeout;
};

Ended run_call(const CallOptions& options, const results::PriceTable& prices,
               backends::Sink& sink) {
  asio::io_context context(1);
  AskedProvider provider(context, options, prices, sink);
  Ended ended;
  asio::cancellation_signal cancel;
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& failed, int number) {
    if (failed) return;
    ended.signal = number;
    cancel.emit(asio::cancellation_type::terminal);
  });
  asio::co_spawn(context, provider.run(),
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
  if (!output.has_written()) output.write(text_of_answer(result, options.schema.has_value()));
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
  // What a schema refuses is asked for again: only what it takes is printed.
  AnswerText text(!options.json && options.call.stream && !options.schema);
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
--stream; one line about usage, cost and limits goes to stderr. With --schema the answer is
checked, and asked for once more when it does not fit; it is printed when it has been checked.
The key is read from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, …;
docs/guide/providers.md lists them).
Exit: 0 answered, 1 refused, 2 wrong usage, 69 not reachable, 75 try again later, 78 no
key or address, 130 interrupted.)",
      .options = {{"--provider", "NAME", "Who to call"},
                  {"--model", "NAME", "Which model of theirs"},
                  {"--stream", "", "Ask for a stream, and print the text as it comes"},
                  {"--system", "TEXT", "Instructions that stand above the text"},
                  {"--image", "FILE", "A PNG, JPEG, GIF or WebP to look at", {}, true},
                  {"--tool", "TOOL", "NAME, NAME=FILE (JSON Schema), or a tool as JSON", {}, true},
                  {"--schema", "FILE", "A JSON Schema that the answer has to fit"},
                  {"--max-tokens", "N", "The longest answer"},
                  {"--temperature", "T", "0 to 2"},
                  {"--reasoning", "EFFORT", "How much to think: minimal, low, medium or high"},
                  {"--reasoning-budget", "N", "The most tokens to think with"},
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
