// Strict JSON in (RFC 8259): a document is a flat array of nodes, and every node knows its place in
// the text, so that whoever refuses a value can point at it.
//
// The text is borrowed: it must outlive the Document. A Document is immutable once read and may be
// shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treaty::json {

enum class Type : std::uint8_t { null, boolean, integer, decimal, string, array, object };

// 16 bytes, so that a body at the size limit stays within a small multiple of its size.
struct DocumentNode {
  std::uint32_t begin;
  std::uint32_t end;  // One past the last byte of the value's text.
  std::uint32_t
      extra;  // Containers: index after the last node inside. Strings: see Document::text.
  Type type;
  bool escaped;  // Strings: the text differs from what it means.
};

class Document;
class Elements;
class Members;

// A value inside a document: a handle, cheap to copy.
class Value {
 public:
  Value() = default;
  Value(const Document* document, std::uint32_t index) : document_(document), index_(index) {}

  Type type() const;
  bool is_null() const { return type() == Type::null; }
  bool is_boolean() const { return type() == Type::boolean; }
  bool is_number() const { return type() == Type::integer || type() == Type::decimal; }
  bool is_string() const { return type() == Type::string; }
  bool is_array() const { return type() == Type::array; }
  bool is_object() const { return type() == Type::object; }

  bool boolean() const;                         // Of a boolean.
  std::optional<std::int64_t> integer() const;  // Of an integer that fits; else nothing.
  double number() const;                        // Of a number; infinite when it is too large.
  std::string_view text() const;                // Of a string, unescaped.
  Elements elements() const;                    // Of an array.
  Members members() const;                      // Of an object.

  // The value as it stands in the document, and where.
  std::string_view source() const;
  std::size_t begin() const;
  std::size_t end() const;

 private:
  friend class Elements;
  friend class Members;
  const DocumentNode& node() const;

  const Document* document_ = nullptr;
  std::uint32_t index_ = 0;
};

struct Member {
  Value name;
  Value value;
};

enum class FaultKind {
  syntax,           // Not RFC 8259.
  byte_order_mark,  // Passed over.
  duplicate_name,
  too_deep,
  too_large,
  bad_string,  // A lone surrogate or a raw control character.
  not_finite,  // A number beyond what a double can hold.
};

struct Fault {
  FaultKind kind;
  std::size_t offset;
  std::size_t length;
  std::string pointer;  // RFC 6901; empty where the whole document is meant.
  std::string message;
};

enum class NameCase { exact, folded };

struct ReadOptions {
  std::size_t max_size = std::size_t{16} << 20U;
  std::size_t max_depth = 64;
  std::size_t max_faults = 10'000;   // Reading goes on past what it can; this bounds the list.
  NameCase names = NameCase::exact;  // Whether `Id` and `id` are the same name.
  bool grammar_only = false;         // Names may repeat and numbers may be huge.
};

class Document {
 public:
  // Reads all of `text`. What is wrong with it is in faults(); root() is there unless a fault made
  // the rest unreadable.
  explicit Document(std::string_view text, const ReadOptions& options = {});

  // An empty one, to read into.
  Document() = default;

  // Reads another text into the same memory: for readers of many small texts.
  void read(std::string_view text, const ReadOptions& options = {});

  std::optional<Value> root() const;
  const std::vector<Fault>& faults() const { return faults_; }
  bool has_more_faults() const { return more_faults_; }  // Than the list takes.
  std::string_view source() const { return source_; }

 private:
  friend class Value;
  friend class Elements;
  friend class Members;
  friend class Reader;

  std::string_view text(const DocumentNode& node) const;

  std::string_view source_;
  std::vector<DocumentNode> nodes_;
  std::string unescaped_;  // The strings with escapes, one after the other.
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      spans_;  // Their places, by DocumentNode::extra.
  std::vector<Fault> faults_;
  bool readable_ = false;
  bool more_faults_ = false;
};

// True when `text` is one JSON value of any type; names may repeat and numbers may be huge.
bool is_json(std::string_view text);

// The type of the JSON value that `text` holds, if it is_json.
std::optional<Type> type_of_json(std::string_view text);

// The value as it stands in its document, without the white space between its tokens.
std::string minified(Value value);

// The member of that name, unless it is null. Nothing when `object` is no object or is not there.
std::optional<Value> find_member(std::optional<Value> object, std::string_view name);

// The text of a string; empty for everything else.
std::string_view text_of(std::optional<Value> value);

// The text of the member of that name, under the same conditions.
std::string_view find_text(std::optional<Value> object, std::string_view name);

// The member of that name if it is an integer that fits, or a number.
std::optional<std::int64_t> find_integer(std::optional<Value> object, std::string_view name);
std::optional<double> find_number(std::optional<Value> object, std::string_view name);

// Whether it is there, and the boolean true.
bool is_true(std::optional<Value> value);

// Appends `/token` with `~` and `/` escaped, as RFC 6901 writes a pointer.
void append_pointer_token(std::string& pointer, std::string_view token);

class Elements {
 public:
  class iterator {
   public:
    explicit iterator(Value value) : value_(value) {}
    Value operator*() const { return value_; }
    iterator& operator++();
    bool operator==(const iterator& other) const { return value_.index_ == other.value_.index_; }

   private:
    Value value_;
  };

  explicit Elements(Value array) : array_(array) {}
  iterator begin() const { return iterator(Value(array_.document_, array_.index_ + 1)); }
  iterator end() const { return iterator(Value(array_.document_, array_.node().extra)); }
  bool empty() const { return begin() == end(); }

 private:
  Value array_;
};

class Members {
 public:
  class iterator {
   public:
    explicit iterator(Value name) : name_(name) {}
    Member operator*() const { return {name_, Value(name_.document_, name_.index_ + 1)}; }
    iterator& operator++();
    bool operator==(const iterator& other) const { return name_.index_ == other.name_.index_; }

   private:
    Value name_;
  };

  explicit Members(Value object) : object_(object) {}
  iterator begin() const { return iterator(Value(object_.document_, object_.index_ + 1)); }
  iterator end() const { return iterator(Value(object_.document_, object_.node().extra)); }
  bool empty() const { return begin() == end(); }

  // The first member of that exact name.
  std::optional<Value> find(std::string_view name) const;

 private:
  Value object_;
};

inline const DocumentNode& Value::node() const { return document_->nodes_[index_]; }
inline Type Value::type() const { return node().type; }
inline std::size_t Value::begin() const { return node().begin; }
inline std::size_t Value::end() const { return node().end; }
inline std::string_view Value::source() const {
  return document_->source_.substr(begin(), end() - begin());
}
inline std::string_view Value::text() const { return document_->text(node()); }
inline Elements Value::elements() const { return Elements(*this); }
inline Members Value::members() const { return Members(*this); }

inline std::string_view Document::text(const DocumentNode& node) const {
  if (!node.escaped) return source_.substr(node.begin + 1, node.end - node.begin - 2);
  const auto [offset, size] = spans_[node.extra];
  return std::string_view(unescaped_).substr(offset, size);
}

// The elements of an array; none of everything else.
inline Elements elements_of(std::optional<Value> array) {
  static const Document empty("[]");
  return (array && array->is_array() ? *array : *empty.root()).elements();
}

}  // namespace treaty::json
