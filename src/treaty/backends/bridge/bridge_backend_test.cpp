#include "treaty/backends/bridge/bridge_backend.h"

#include <doctest/doctest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <functional>

#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/exchange.h"
#include "treaty/bridge/names.h"
#include "treaty/testing/calls.h"
#include "treaty/testing/temporary_directory.h"

namespace treaty::backends {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using contracts::AgentResult;
using contracts::BridgeRequest;
using contracts::BridgeResponse;
using contracts::BridgeSuccess;
using namespace std::chrono_literals;

struct Pieces final : Sink {
  void on_text(std::string_view delta) override { all.emplace_back(delta); }
  std::vector<std::string> all{};
};

// A directory, a backend that asks in it, and somebody who does something when a request is there.
class Room {
 public:
  using Answerer = std::function<void(const BridgeRequest& request)>;

  explicit Room(std::chrono::milliseconds timeout = 60s) : timeout_(timeout) {}

  std::string path() const { return fs::canonical(directory_.path()).string(); }
  std::string file(std::string_view name) const { return bridge::path_in(path(), name); }
  const std::vector<std::string>& pieces() const { return sink_.all; }
  asio::cancellation_signal& signal() { return signal_; }

  static void answer(const BridgeRequest& request, std::string text,
                     json::ObjectText metadata = {}) {
    REQUIRE(replace_file(*request.response_file,
                         encode(BridgeResponse{.request_id = request.request_id,
                                               .outcome = BridgeSuccess{std::move(text)},
                                               .created_at = timestamp_now(),
                                               .metadata = std::move(metadata)})));
  }

  AgentResult run(const Call& call, const Answerer& answerer, const std::string& directory = {}) {
    asio::io_context context;
    BridgeBackend backend({.directory = directory.empty() ? path() : directory,
                           .agent_name = "reviewer",
                           .timeout = timeout_});
    AgentResult ran;
    bool ended = false;
    asio::co_spawn(context, backend.run(call, sink_),
                   asio::bind_cancellation_slot(
                       signal_.slot(), [&](const std::exception_ptr& failure, AgentResult result) {
                         CHECK(failure == nullptr);
                         ran = std::move(result);
                         ended = true;
                       }));
    bool answered = false;
    while (!ended) {
      context.run_one_for(1ms);
      if (answered || !answerer) continue;
      const auto asked = bridge::read_request(file(".agent-request.json"));
      if (!asked.document) continue;
      answered = true;
      answerer(*asked.document);
    }
    return ran;
  }

 private:
  testing::TemporaryDirectory directory_{};
  std::chrono::milliseconds timeout_;
  Pieces sink_{};
  asio::cancellation_signal signal_{};
};

TEST_CASE("A call waits for the answer to its request") {
  Room room;

  const AgentResult result = room.run(testing::simple_call(), [](const BridgeRequest& request) {
    CHECK(request.agent_name == "reviewer");
    CHECK(request.prompt == "Say \"hi\".");
    Room::answer(request, "hi", {{"model", "sonnet-4"}});
  });

  CHECK(result.success());
  CHECK(result.content == "hi");
  CHECK(room.pieces() == std::vector<std::string>{"hi"});
  CHECK(result.provider_data == json::ObjectText{{"model", "sonnet-4"}, {"provider", "bridge"}});
}

TEST_CASE("A structured answer is read when one was asked for") {
  Room room;
  Call call = testing::simple_call();
  call.output = OutputSchema{.schema_json = "{}"};

  const AgentResult result =
      room.run(call, [](const BridgeRequest& request) { Room::answer(request, R"({"a": 1})"); });

  CHECK(result.output == json::ObjectText{{"a", 1}});
}

TEST_CASE("A call without an answer ends with the time, and its request is taken back") {
  Room room(50ms);

  const AgentResult result = room.run(testing::simple_call(), nullptr);

  CHECK(result.error->code == "timeout");
  CHECK(result.error->retryable == true);
  CHECK(result.finish_reason == "error");
  CHECK(!fs::exists(room.file(".agent-request.json")));  // The backend has ended its work by now.
}

TEST_CASE("A cancelled call is aborted, and its request is taken back") {
  Room room;

  const AgentResult result = room.run(testing::simple_call(), [&](const BridgeRequest&) {
    room.signal().emit(asio::cancellation_type::terminal);
  });

  CHECK(result.finish_reason == "aborted");
  CHECK(!result.error->code);
  CHECK(!fs::exists(room.file(".agent-request.json")));
}

TEST_CASE("A call that is cancelled while its request is being written leaves none") {
  Room room;
  asio::io_context context;
  AgentResult ran;
  {
    BridgeBackend backend({.directory = room.path(), .agent_name = "a"});
    Pieces sink;
    asio::cancellation_signal signal;
    const Call call = testing::simple_call();
    asio::co_spawn(context, backend.run(call, sink),
                   asio::bind_cancellation_slot(signal.slot(),
                                                [&](const std::exception_ptr&, AgentResult result) {
                                                  ran = std::move(result);
                                                }));
    asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
    while (!ran.finish_reason) context.run_one();
  }

  CHECK(ran.finish_reason == "aborted");
  CHECK(!fs::exists(room.file(".agent-request.json")));
}

TEST_CASE("A call whose event loop ends leaves its request for who comes next") {
  Room room;
  const Call call = testing::simple_call();
  Pieces sink;
  {
    asio::io_context context;
    auto backend =
        std::make_unique<BridgeBackend>(BridgeTarget{.directory = room.path(), .agent_name = "a"});
    asio::co_spawn(context, backend->run(call, sink),
                   [](const std::exception_ptr&, const AgentResult&) {});
    while (!fs::exists(room.file(".agent-request.json"))) context.run_one_for(1ms);
    backend.reset();
  }

  CHECK(fs::exists(room.file(".agent-request.json")));
}

TEST_CASE("A directory that is not there is an error that names it") {
  Room room;

  const AgentResult result = room.run(testing::simple_call(), nullptr, room.file("nowhere"));

  CHECK(result.error->code == "server_error");
  CHECK(result.error->message.contains("nowhere cannot be watched: No such file or directory"));
}

TEST_CASE("A directory that goes away ends the calls that wait in it") {
  Room room;
  const std::string directory = room.path();

  const AgentResult result = room.run(testing::simple_call(), [&](const BridgeRequest&) {
    fs::rename(directory, directory + "-moved");
  });
  fs::rename(directory + "-moved", directory);

  // It is gone, or could not be flushed to the disk any more, whichever is noticed first.
  CHECK(result.error->code == "server_error");
  CHECK(result.error->message.contains(directory));
}

TEST_CASE("JSON-03: a conversation that no reader would take is not asked") {
  Room room;
  Call call = testing::simple_call();
  call.messages.push_back(UserMessage{{TextPart{std::string(std::size_t{9} << 20U, 'x')}}});

  const AgentResult result = room.run(call, nullptr);

  CHECK(result.error->code == "context_length");
  CHECK(!fs::exists(room.file(".agent-request.json")));
}

}  // namespace
}  // namespace treaty::backends
