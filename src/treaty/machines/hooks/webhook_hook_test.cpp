#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/base/json_dynamic.h"
#include "treaty/http/client.h"
#include "treaty/http/net/address_guard.h"
#include "treaty/machines/hooks/built_in_hooks.h"
#include "treaty/testing/loopback.h"
#include "treaty/testing/stores/awaiting.h"

namespace treaty::machines {
namespace {

using boost::json::object;
using boost::json::value;
using testing::Peer;
using testing::ScriptedServer;
using Answer = std::expected<HookReply, std::string>;

const HookEvent kExit = {{"event", "state_exit"},
                         {"execution_id", "x1"},
                         {"state", "draft"},
                         {"context", object{}},
                         {"output", object{{"content", "é"}}}};
const std::string kDirectory = ".";

class Room {
 public:
  explicit Room(http::ClientOptions options)
      : client_(std::make_shared<http::Client>(context_, std::move(options))) {}
  Room() : Room(http::ClientOptions{.proxy_from_environment = false}) {}

  Answer tell(const object& arguments) {
    const auto hook = make_webhook(
        {.arguments = arguments, .directory = kDirectory},
        {.client = client_, .log = [this](std::string_view line) { log_.emplace_back(line); }});
    REQUIRE(hook);
    return testing::await(context_, (*hook)->handle(kExit));
  }
  const std::vector<std::string>& log() const { return log_; }

 private:
  boost::asio::io_context context_{1};
  std::shared_ptr<http::Client> client_;
  std::vector<std::string> log_{};
};

std::string answer_of(std::string_view status, std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

ScriptedServer::Step say(std::string bytes) {
  return [bytes = std::move(bytes)](Peer& peer) {
    peer.read_request();
    peer.send(bytes);
  };
}

object at(std::uint16_t port) { return {{"endpoint", fmt::format("http://127.0.0.1:{}/h", port)}}; }

object required(std::uint16_t port) {
  object arguments = at(port);
  arguments["required"] = true;
  return arguments;
}

// What a webhook that answers so says when it is required; and that it is nothing when it is not.
std::string failure_of(const std::string& bytes) {
  const ScriptedServer server({say(bytes), say(bytes)});
  Room room;
  const Answer strict = room.tell(required(server.port()));
  const Answer easy = room.tell(at(server.port()));
  REQUIRE(!strict);
  REQUIRE(easy);
  CHECK(easy->empty());
  CHECK(room.log().size() == 1);
  return strict.error();
}

TEST_CASE("A webhook gets the event as JSON with its key, and its answer is the reply") {
  std::string request;
  const ScriptedServer server({[&request](Peer& peer) {
    request = peer.read_request();
    peer.send(answer_of("200 OK", R"({"to_state": "rescue", "context": {"n": 1.5}})"));
  }});
  Room room;
  object arguments = at(server.port());
  arguments["api_key"] = "k1";

  const Answer answer = room.tell(arguments);

  REQUIRE(answer);
  CHECK(value(*answer) == value{{"to_state", "rescue"}, {"context", {{"n", 1.5}}}});
  CHECK(request.starts_with("POST /h HTTP/1.1\r\n"));
  CHECK(request.contains("authorization: Bearer k1\r\n"));
  CHECK(request.contains("content-type: application/json\r\n"));
  json::Writer writer;
  json::write(writer, kExit);
  CHECK(request.ends_with("\r\n\r\n" + writer.take()));
}

TEST_CASE("A webhook that has nothing to say says {}, 204, or nothing") {
  for (const std::string& bytes :
       {answer_of("200 OK", "{}"), std::string("HTTP/1.1 204 No Content\r\n\r\n"),
        answer_of("202 Accepted", "")}) {
    const ScriptedServer server({say(bytes)});
    Room room;

    const Answer answer = room.tell(required(server.port()));

    REQUIRE(answer);
    CHECK(answer->empty());
  }
}

TEST_CASE("A webhook's failure is passed over with a word in the log, or fails when required") {
  CHECK(failure_of(answer_of("500 Oh", "{}")).contains("answered with status 500"));
  CHECK(failure_of(answer_of("404 No", R"({"to_state": "x"})")).contains("status 404"));
  CHECK(failure_of(answer_of("200 OK", "<html>")).contains("not JSON"));
  CHECK(failure_of(answer_of("200 OK", R"({"a": 1, "a": 2})")).contains("not JSON"));
  CHECK(failure_of(answer_of("200 OK", "[1]")).contains("not an object"));
  CHECK(failure_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}").contains("127.0.0.1"));
}

TEST_CASE("A webhook's redirect is not followed") {
  CHECK(failure_of("HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:1/\r\n"
                   "Content-Length: 0\r\n\r\n")
            .contains("answered with status 307"));
}

TEST_CASE("A webhook that nobody serves, or that is silent, fails in its time") {
  Room room;
  const Answer refused = room.tell(required(testing::closed_port()));
  REQUIRE(!refused);
  CHECK(refused.error().contains("refused"));

  const ScriptedServer silent({[](Peer& peer) { peer.read_all(); }});
  object arguments = required(silent.port());
  arguments["timeout"] = 0.1;
  const Answer late = room.tell(arguments);
  REQUIRE(!late);
}

TEST_CASE("S13: with a guarded client a webhook reaches nobody inside") {
  Room room({.guard = std::make_shared<const http::AddressGuard>()});

  const Answer answer = room.tell(required(testing::closed_port()));

  REQUIRE(!answer);
  CHECK(answer.error().contains("is not a public address"));
}

TEST_CASE("The key and the query of a webhook are in no message") {
  const ScriptedServer server({say(answer_of("500 Oh", "k1-secret"))});
  Room room;
  const object arguments = {
      {"endpoint", fmt::format("http://127.0.0.1:{}/h?token=hidden", server.port())},
      {"api_key", "k1-secret"},
      {"required", true}};

  const Answer answer = room.tell(arguments);

  REQUIRE(!answer);
  CHECK(!answer.error().contains("k1-secret"));
  CHECK(!answer.error().contains("hidden"));
}

TEST_CASE("A webhook of a program that gave no client fails") {
  const object arguments = at(1);
  const auto hook = make_webhook({.arguments = arguments, .directory = kDirectory}, {});
  REQUIRE(hook);
  boost::asio::io_context context(1);

  CHECK(!testing::await(context, (*hook)->handle(kExit)));
}

TEST_CASE("Arguments of a webhook are checked when it is made") {
  const auto fault_of = [](const object& arguments) {
    const auto made = make_webhook({.arguments = arguments, .directory = kDirectory}, {});
    return made ? std::string() : made.error();
  };

  CHECK(fault_of({{"endpoint", "https://example.com/h"}}).empty());
  CHECK(fault_of({}).contains("args.endpoint is missing"));
  CHECK(fault_of({{"endpoint", "ftp://x"}}).contains("args.endpoint is not an address"));
  CHECK(fault_of({{"endpoint", "http://x/"}, {"timeout", -1}}).contains("args.timeout"));
  CHECK(fault_of({{"endpoint", "http://x/"}, {"required", "yes"}}).contains("args.required"));
  CHECK(fault_of({{"endpoint", "http://x/"}, {"api_key", "a\nb"}}).contains("args.api_key"));
  CHECK(fault_of({{"endpoint", "http://x/"}, {"url", "b"}}).contains("args.url is not known"));
}

}  // namespace
}  // namespace treaty::machines
