#include "treaty/base/schema/schema.h"

#include <fmt/format.h>

#include <utility>

#include "treaty/base/schema/compiler.h"
#include "treaty/base/schema/evaluation.h"
#include "treaty/base/schema/program.h"

namespace treaty::schema {
namespace {

constexpr NodeIndex kRoot = 0;
constexpr std::size_t kLargestSchema = std::size_t{1} << 20U;

// A step is some ten nanoseconds. Large values get more: each byte may be looked at.
constexpr std::int64_t kSteps = 1'000'000;

}  // namespace

std::expected<Schema, Error> Schema::compile(std::string_view json) {
  auto program = std::make_shared<Program>();
  program->source = json;
  program->document.read(program->source, {.max_size = kLargestSchema, .max_faults = 1});
  if (!program->document.faults().empty()) {
    const json::Fault& fault = program->document.faults()[0];
    return std::unexpected(Error{
        ErrorCode::not_a_document,
        fmt::format("the schema is not JSON that can be used: {}", fault.message), fault.pointer});
  }
  auto error = Compiler(*program->document.root(), program->nodes).compile();
  if (error) return std::unexpected(std::move(*error));
  return Schema(std::move(program));
}

// Most values fit; words are looked for only when one does not.
std::optional<Schema::Mismatch> Schema::mismatch(json::Value value) const {
  const Budget budget(kSteps + static_cast<std::int64_t>(value.end() - value.begin()));
  const auto ask = [&](Evaluation& evaluation) {
    return evaluation.fits(kRoot, value) && !evaluation.is_spent();
  };
  Evaluation silent(program_->nodes, budget, Evaluation::Manner::silent);
  if (ask(silent)) return std::nullopt;
  if (silent.is_spent()) {
    return Mismatch{.message =
                        "takes too many steps to check against the schema; send a smaller "
                        "or less deeply nested value"};
  }
  Evaluation explaining(program_->nodes, budget, Evaluation::Manner::explaining);
  if (!ask(explaining) && !explaining.is_spent()) return explaining.take_mismatch();
  return Mismatch{.message = "does not fit the schema, in too many ways to tell"};
}

std::optional<Schema::Mismatch> Schema::mismatch_of_text(std::string_view json) const {
  const json::Document document(json, {.max_faults = 1});
  if (document.faults().empty()) return mismatch(*document.root());
  const json::Fault& fault = document.faults()[0];
  return Mismatch{.where = fault.pointer, .message = fmt::format("is not JSON: {}", fault.message)};
}

}  // namespace treaty::schema
