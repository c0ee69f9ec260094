#include "treaty/base/schema/schema.h"

#include <fmt/format.h>

#include <utility>

#include "treaty/base/schema/compiler.h"
#include "treaty/base/schema/evaluation.h"
#include "treaty/base/schema/program.h"

namespace treaty::schema {
namespace {

constexpr std::size_t kLargestSchema = std::size_t{1} << 20U;

}  // namespace

std::expected<Schema, Error> Schema::compile(std::string_view json) {
  auto program = std::make_shared<Program>();
  program->source = json;
  program->document.read(program->source, {.max_size = kLargestSchema, .max_faults = 1});
  if (!program->document.faults().empty()) {
    const json::Fault& fault = program->document.faults()[0];
    return fail(ErrorCode::not_a_document,
                fmt::format("the schema is not JSON that can be used: {}", fault.message),
                fault.pointer);
  }
  auto error = schema::compile(*program->document.root(), program->nodes);
  if (error) return std::unexpected(std::move(*error));
  return Schema(std::move(program));
}

std::optional<Schema::Mismatch> Schema::mismatch(json::Value value) const {
  return find_mismatch(program_->nodes, value);
}

std::optional<Schema::Mismatch> Schema::mismatch_of_text(std::string_view json) const {
  const json::Document document(json, {.max_faults = 1});
  if (document.faults().empty()) return mismatch(*document.root());
  const json::Fault& fault = document.faults()[0];
  return Mismatch{.where = fault.pointer, .message = fmt::format("is not JSON: {}", fault.message)};
}

}  // namespace treaty::schema
