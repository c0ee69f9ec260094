// How answers become bytes. Every family of routes has one renderer, and the engine is given it
// with the request: the engine itself knows no document that a client reads.
//
//   class PlainText final : public Renderer { … };            // A family of its own.
//   const auto log = co_await engine.execute(
//       worker, {.tenant = tenant, .request = request, .renderer = &plain_text});
//   const auto outcome = co_await log->outcome();
//   respond(plain_text.status_of(outcome->error_code), outcome->body_for(plain_text, dialect));
//
// Renderers are pure and stateless: one serves all threads, as long as the program runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/inspection/names.h"
#include "treaty/turns/refusals.h"
#include "treaty/turns/settled_turn.h"

namespace treaty::turns {

struct Rendered {
  std::string body{};
  std::string error_code{};           // Of the first error; empty when successful.
  std::vector<std::string> broken{};  // Rules that the composed answer breaks, which is a bug of
                                      // ours: the body is then an `internal` error instead.
};

class Renderer {
 public:
  virtual ~Renderer() = default;

  // The name that the journal keeps with the bytes.
  virtual std::string_view format() const = 0;
  virtual std::string_view content_type() const = 0;

  // `dialect` is the spelling of the request; a format without dialects ignores it.
  virtual Rendered render(const SettledTurn& turn, contracts::Dialect dialect) const = 0;
  // If `answer_id` is empty, the answer names none.
  virtual std::string render(const Refusal& refusal, contracts::Dialect dialect,
                             std::string answer_id) const = 0;

  // Bytes of this format in another spelling, and nothing else changed.
  virtual std::string respell(const std::string& body, contracts::Dialect dialect) const = 0;

  // The HTTP status of an answer; an empty code is a success.
  virtual int status_of(std::string_view error_code) const = 0;
};

}  // namespace treaty::turns
