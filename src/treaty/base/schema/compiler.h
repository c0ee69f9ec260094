// From the text of a schema to its program.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "treaty/base/schema/program.h"

namespace treaty::schema {

// The rules of one kind, made when the first of them comes.
template <class Rules>
Rules& part(std::unique_ptr<Rules>& rules) {
  if (!rules) rules = std::make_unique<Rules>();
  return *rules;
}

// Goes over a schema once. The first thing that is wrong ends it: from then on nothing is added.
class Compiler {
 public:
  // The document is read and without faults.
  Compiler(json::Value root, std::vector<SchemaNode>& nodes) : root_(root), nodes_(nodes) {}

  // The root becomes the first node.
  std::optional<Error> compile();

 private:
  struct PendingReference {
    NodeIndex node;
    std::string_view text;  // What the `$ref` says,
    std::string target;     // the JSON pointer in it,
    std::string place;      // and where it stands.
  };

  // Lengthens the pointer while something below is read.
  class Step {
   public:
    Step(std::string& pointer, std::string_view token) : pointer_(pointer), size_(pointer.size()) {
      json::append_pointer_token(pointer_, token);
    }
    ~Step() { pointer_.resize(size_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    std::string& pointer_;
    std::size_t size_;
  };

  // `read` puts what a keyword says into the node of its schema.
  struct Keyword {
    std::string_view name;
    void (*read)(Compiler&, SchemaNode&, json::Value);
  };
  static std::span<const Keyword> keywords();

  void fail(std::string message);

  NodeIndex compile_schema(json::Value schema);
  void compile_members(SchemaNode& node, json::Value schema);
  NodeIndex compile_below(json::Value schema, std::string_view token);
  std::vector<NodeIndex> compile_list(json::Value schemas);
  void resolve_references();
  std::optional<json::Value> find(std::string_view pointer) const;
  void refuse_endless_references();
  bool goes_round(NodeIndex start, std::vector<std::uint8_t>& colors) const;
  void put_names_in_order(ObjectRules& rules);

  bool is_object(json::Value value);
  bool is_array(json::Value value);
  std::uint64_t count(json::Value value);
  std::optional<Bound> bound(json::Value value);
  std::vector<std::string_view> names(json::Value value);
  std::optional<Pattern> pattern(std::string_view text);

  void read_draft(json::Value value);
  void read_id(json::Value value);
  void read_reference(SchemaNode& node, json::Value value);
  void read_definitions(json::Value value);
  void read_type(SchemaNode& node, json::Value value);
  void read_enum(SchemaNode& node, json::Value value);
  void read_multiple_of(SchemaNode& node, json::Value value);
  void read_pattern(SchemaNode& node, json::Value value);
  void read_items(SchemaNode& node, json::Value value);
  void read_unique_items(SchemaNode& node, json::Value value);
  void read_properties(SchemaNode& node, json::Value value);
  void read_required(SchemaNode& node, json::Value value);
  void read_pattern_properties(SchemaNode& node, json::Value value);
  void read_dependent_required(SchemaNode& node, json::Value value);
  void read_dependent_schemas(SchemaNode& node, json::Value value);

  json::Value root_;
  std::vector<SchemaNode>& nodes_;
  std::unordered_map<std::size_t, NodeIndex> places_;  // Where a schema begins → its node.
  std::vector<PendingReference> pending_;
  std::string pointer_;           // Of what is being read.
  NodeIndex current_ = kNone;     // The node of the schema that is being read.
  bool only_references_ = false;  // Draft-07: beside a `$ref` nothing counts.
  std::optional<Error> error_;
};

}  // namespace treaty::schema
