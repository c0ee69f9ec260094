// Reads the project's own conformance vectors (tests/vectors/).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/contracts/contract.h"
#include "treaty/contracts/decoded.h"

namespace treaty::testing {

// A line of a vector file, with the document that holds it.
class VectorLine {
 public:
  explicit VectorLine(std::string line)
      : line_(std::make_unique<std::string>(std::move(line))),
        document_(std::make_unique<json::Document>(*line_)) {}

  std::optional<json::Value> find(std::string_view name) const;
  std::string text(std::string_view name) const;  // "" when it is not there.
  json::Value operator[](std::string_view name) const { return *find(name); }

 private:
  std::unique_ptr<std::string> line_;
  std::unique_ptr<json::Document> document_;
};

std::vector<VectorLine> read_vector_lines(const std::string& file);

// What the vector hashes: its text, or its bytes.
std::string bytes_of(const VectorLine& line);

using RuleAndPlace = std::pair<std::string, std::string>;

// A vector of `check`.
struct CheckVector {
  std::string id;
  contracts::Contract contract;
  std::vector<std::string> covers;
  std::string document;
  contracts::DecodeOptions options;
  bool valid = false;
  std::vector<RuleAndPlace> violations;
  std::vector<RuleAndPlace> warnings;
  bool more = false;  // Further findings are no failure.
  std::optional<std::string> kind;
};

// Of all files that hold check vectors.
std::vector<CheckVector> read_check_vectors();

}  // namespace treaty::testing
