#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <ctime>
#include <expected>
#include <random>

#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/config/addresses.h"
#include "treaty/http/server.h"
#include "treaty/mock/played_provider.h"

namespace treaty::cli::mock_provider {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kLargest = std::size_t{64} << 20U;

struct Settings {
  std::string host = "127.0.0.1";
  std::uint16_t port = 4010;
  std::uint64_t seed = 0;
  bool quiet = false;
  bool json = false;
};

Result<Settings> read_settings(const Arguments& arguments) {
  Settings settings{.seed = std::random_device{}(),
                    .quiet = arguments.has("--quiet"),
                    .json = wants_json(arguments)};
  if (arguments.has("--host")) settings.host = arguments.get("--host");
  if (settings.host == "localhost") settings.host = "127.0.0.1";
  if (arguments.has("--port")) {
    const auto port = parse_number<std::uint16_t>(arguments.get("--port"));
    if (!port) return misused("--port takes a number from 0 to 65535; 0 is a free one");
    settings.port = *port;
  }
  if (arguments.has("--seed")) {
    const auto seed = parse_number<std::uint64_t>(arguments.get("--seed"));
    if (!seed) return misused("--seed takes a whole number, 0 or more");
    settings.seed = *seed;
  }
  if (arguments.has("--script") && arguments.has("--recordings")) {
    return misused("give --script or --recordings, not both");
  }
  if (arguments.has("--check") && !arguments.has("--script") && !arguments.has("--recordings")) {
    return misused("--check needs --script FILE or --recordings DIR");
  }
  return settings;
}

std::optional<backends::Script> load_script(const std::string& path) {
  const auto text = read_input(path, kLargest);
  if (!text) {
    tell_unreadable(text.error());
    return std::nullopt;
  }
  auto script = backends::read_script(*text);
  if (script) return std::move(*script);
  for (Diagnostic& problem : script.error()) {
    problem.where = path;
    print_error("{}\n", harmless(text_of(problem)));
  }
  return std::nullopt;
}

// A file that is no recording is told and passed over; a folder without any is of no use.
std::optional<std::vector<mock::Track>> load_recordings(const std::string& directory) {
  std::vector<mock::Track> recordings;
  for (const auto& path : expand_paths({directory}, Expand::directories)) {
    if (!path) {
      tell_unreadable(path.error());
      continue;
    }
    const auto text = read_input(*path, kLargest);
    auto track = text ? mock::read_track(*text) : std::unexpected(text.error());
    if (track) {
      if (track->recording.id.empty()) track->recording.id = *path;
      recordings.push_back(std::move(*track));
    } else {
      print_error("{}: {}; passed over\n", harmless(*path), harmless(track.error().message));
    }
  }
  if (!recordings.empty()) return recordings;
  print_error(
      "treaty mock: {} holds no recorded exchange\n"
      "A recording is a JSON file with endpoint, request and response; see docs/guide/mock.md.\n",
      harmless(directory));
  return std::nullopt;
}

void tell_address(const Settings& settings, std::uint16_t port) {
  const std::string url = "http://" + config::text_of({.address = settings.host, .port = port});
  if (settings.json) {
    print_json({{"url", url}, {"port", port}});
  } else {
    print("treaty mock listens on {}\n", url);
    print("  export OPENAI_BASE_URL={}/v1 OPENAI_API_KEY=mock\n", url);
    print("  export ANTHROPIC_BASE_URL={} ANTHROPIC_API_KEY=mock\n", url);
  }
  std::fflush(stdout);
}

void log(const http::Request& request, const mock::Plan& plan) {
  print_error("{} {} {}{}{}\n", harmless(request.method),
              harmless(request.target.substr(0, request.target.find('?'))),
              plan.ends_before_head ? "no answer" : std::to_string(plan.status),
              plan.note.empty() ? "" : ", ", harmless(plan.note));
}

int serve(mock::PlayedProvider provider, const Settings& settings) {
  asio::io_context context(1);
  http::Server server(context, [&](http::Exchange& exchange) -> asio::awaitable<void> {
    mock::Plan plan = provider.answer(exchange.request(), std::time(nullptr));
    if (!settings.quiet) log(exchange.request(), plan);
    co_await mock::play(std::move(plan), exchange);
  });
  const auto port = server.listen(settings.host, settings.port);
  if (!port) {
    print_error(
        "treaty mock: cannot listen on {}:{}: {}\n"
        "Choose another with --port N; --port 0 takes a free one.\n",
        harmless(settings.host), settings.port, harmless(port.error().message));
    return kUnavailable;
  }
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code&, int) {
    server.stop();
    context.stop();  // Answers that are stalled or endless would keep it for ever.
  });
  tell_address(settings, *port);
  context.run();
  return kOk;
}

Result<int> run(const Arguments& arguments) {
  TREATY_TRY(const auto settings, read_settings(arguments));
  if (arguments.has("--recordings")) {
    auto recordings = load_recordings(arguments.get("--recordings"));
    if (!recordings) return kBadConfiguration;
    if (arguments.has("--check")) {
      print("{}: {} recordings\n", harmless(arguments.get("--recordings")), recordings->size());
      return kOk;
    }
    return serve({mock::Recordings(std::move(*recordings)), settings.seed}, settings);
  }
  backends::Script script;
  if (arguments.has("--script")) {
    auto loaded = load_script(arguments.get("--script"));
    if (!loaded) return kBadConfiguration;
    script = std::move(*loaded);
  }
  if (arguments.has("--check")) {
    print("{}: {} rules, {} replies\n", harmless(arguments.get("--script")), script.rules.size(),
          script.replies.size());
    return kOk;
  }
  return serve({std::move(script), settings.seed}, settings);
}

}  // namespace

Command command() {
  return {
      .name = "mock",
      .summary = "Play a provider over HTTP, from a script or from recordings",
      .description =
          R"(Answers chat completions, responses, Anthropic messages, legacy completions, Gemini and
Ollama, plain and streamed, until it is interrupted. Without a script it echoes the user,
calls a tool that the user names and quotes what tools gave back. Scripts bring texts, tool
calls, errors, headers, delays and faults: see docs/guide/mock.md.)",
      .options = {{"--script", "FILE", "What to answer (YAML)"},
                  {"--recordings", "DIR", "Play recorded exchanges (JSON files) instead"},
                  {"--port", "N", "Where to listen (4010); 0 is a free port"},
                  {"--host", "ADDRESS", "The IP address to listen on (127.0.0.1)"},
                  {"--seed", "N", "Makes ids and garbage the same in every run"},
                  {"--quiet", "", "No line on stderr for each request"},
                  {"--check", "", "Only check the script or the recordings"},
                  format_option("How the address is told")},
      .examples = {{"mock", "A friendly echo on port 4010"},
                   {"mock --script faults.yaml --port 0 --format json", "For tests"},
                   {"mock --script faults.yaml --check", "Is the script in order?"},
                   {"mock --recordings recordings/", "Play back what was recorded"}},
      .run = run,
  };
}

}  // namespace treaty::cli::mock_provider
