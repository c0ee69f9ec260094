#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "treaty/base/notifier.h"
#include "treaty/mock/plan.h"

namespace treaty::mock {
namespace {

namespace asio = boost::asio;

// False when the client has gone meanwhile.
asio::awaitable<bool> wait(std::chrono::milliseconds time, http::Exchange& exchange) {
  using namespace asio::experimental::awaitable_operators;  // NOLINT: operators only.
  if (time.count() == 0) co_return true;
  const auto first = co_await (sleep_for(time) || exchange.closed());
  co_return first.index() == 0;
}

asio::awaitable<bool> play_piece(const Piece& piece, http::Exchange& exchange) {
  if (!co_await wait(piece.delay, exchange)) co_return false;
  if (piece.bytes.empty()) co_return true;
  co_return piece.is_raw ? co_await exchange.write_raw(piece.bytes)
                         : co_await exchange.write(piece.bytes);
}

asio::awaitable<void> end_early(Ending ending, http::Exchange& exchange) {
  if (ending == Ending::stall) co_await exchange.closed();
  exchange.abort(ending == Ending::reset);
}

}  // namespace

asio::awaitable<void> play(Plan plan, http::Exchange& exchange) {
  if (!co_await wait(plan.delay, exchange)) co_return exchange.abort(false);
  if (plan.ends_before_head) {
    co_await end_early(plan.ending, exchange);
    co_return;
  }
  if (!plan.streamed) {
    std::string body = plan.pieces.empty() ? "" : std::move(plan.pieces[0].bytes);
    for (std::size_t i = 1; i < plan.pieces.size(); ++i) body += plan.pieces[i].bytes;
    co_await exchange.respond(
        {.status = plan.status, .headers = std::move(plan.headers), .body = std::move(body)});
    co_return;
  }
  if (!co_await exchange.begin(plan.status, std::move(plan.headers))) co_return;
  for (const Piece& piece : plan.pieces) {
    if (!co_await play_piece(piece, exchange)) co_return;
  }
  while (!plan.endless.bytes.empty()) {
    // A client that reads as fast as this writes would never let anybody else have a turn.
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    if (!co_await play_piece(plan.endless, exchange)) co_return;
  }
  if (plan.ending == Ending::whole) {
    co_await exchange.end();
  } else {
    co_await end_early(plan.ending, exchange);
  }
}

}  // namespace treaty::mock
