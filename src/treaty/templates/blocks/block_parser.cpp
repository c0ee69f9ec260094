#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "treaty/base/text.h"
#include "treaty/templates/blocks/blocks.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/language/parser.h"
#include "treaty/templates/text/characters.h"

namespace treaty::templates::blocks {
namespace {

using language::Dialect;
using language::ExpressionNode;
using language::Parser;
using language::quoted_name;
using language::TokenKind;

// One newline at the end is not part of a template.
std::string_view without_final_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// Line ends are \n, whatever they were.
std::string with_plain_line_ends(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\r') {
      out.push_back('\n');
      if (text.substr(at + 1).starts_with('\n')) ++at;
    } else {
      out.push_back(text[at]);
    }
  }
  return out;
}

class BlockParser {
 public:
  explicit BlockParser(std::string_view text) : text_(without_final_newline(text)) {}

  std::expected<Blocks, SyntaxFault> parse() {
    blocks_.body = read_body({});
    if (fault_) return std::unexpected(*std::move(fault_));
    return std::move(blocks_);
  }

 private:
  // What ended a body: the word of a tag, whose rest is still to be read.
  struct End {
    std::string word;
    std::size_t offset = 0;
  };

  void fail(std::size_t offset, std::string message) {
    if (!fault_) fault_ = SyntaxFault{std::move(message), offset};
    at_ = text_.size();
  }

  // `ends`: the words that end it; none: the end of the text does.
  Body read_body(std::span<const std::string_view> ends);
  void append_text(Body& body);
  void read_comment();
  void read_print(Body& body);
  void read_tag(Body& body, std::span<const std::string_view> ends);
  void read_if(Body& body, Parser parser);
  void read_for(Body& body, Parser parser);
  void read_set(Body& body, Parser parser);
  std::vector<std::string> read_targets(Parser& parser);
  std::string read_target(Parser& parser);
  ExpressionNode read_condition_of_end();
  void note_variables(Parser& parser);
  void finish_tag(Parser& parser, std::string_view expected);
  void finish_end_tag();
  Parser after_word(const End& end) const {
    return Parser(text_, Dialect::text, end.offset + end.word.size(), "%}");
  }
  bool ended_with(std::string_view word) const { return end_ && end_->word == word; }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t nesting_ = 0;
  bool trims_next_ = false;  // The tag before ended with a `-`.
  bool has_named_loop_ = false;
  std::vector<std::string> loop_names_;  // Of the loops around.
  Blocks blocks_;
  std::optional<End> end_;
  std::optional<SyntaxFault> fault_;
};

Body BlockParser::read_body(std::span<const std::string_view> ends) {
  Body body;
  end_.reset();
  if (++nesting_ > language::kDeepestNesting + 1) {
    fail(at_, fmt::format("blocks are nested more than {} levels deep", language::kDeepestNesting));
  }
  while (!fault_ && !end_) {
    append_text(body);
    const std::string_view rest = text_.substr(at_);
    if (rest.empty()) break;
    if (rest.starts_with("{#")) {
      read_comment();
    } else if (rest.starts_with("{{")) {
      read_print(body);
    } else {
      read_tag(body, ends);
    }
  }
  if (!fault_ && !end_ && !ends.empty()) {
    fail(text_.size(), fmt::format("expected '{{% {} %}}' before the end", ends.back()));
  }
  --nesting_;
  return body;
}

// The text up to the next tag, without what a `-` on either side takes away.
void BlockParser::append_text(Body& body) {
  std::size_t end = at_;
  while (end < text_.size() && !(text_[end] == '{' && end + 1 < text_.size() &&
                                 std::string_view("{%#").contains(text_[end + 1]))) {
    ++end;
  }
  std::string_view text = text_.substr(at_, end - at_);
  at_ = end;
  if (trims_next_) text = without_leading_space(text);
  trims_next_ = false;
  if (text_.substr(end).size() > 2 && text_[end + 2] == '-') text = without_trailing_space(text);
  if (!text.empty()) body.push_back({Text{with_plain_line_ends(text)}});
}

void BlockParser::read_comment() {
  const std::size_t end = text_.find("#}", at_ + 2);
  if (end == std::string_view::npos) return fail(at_, "the comment has no end '#}'");
  trims_next_ = end > at_ + 2 && text_[end - 1] == '-';
  at_ = end + 2;
}

// Past the end of the tag that `parser` is in.
void BlockParser::finish_tag(Parser& parser, std::string_view expected) {
  if (parser.token().kind != TokenKind::closer) parser.fail_at_token(expected);
  if (parser.fault()) return fail(parser.fault()->offset, parser.fault()->message);
  trims_next_ = parser.token().source.starts_with('-');
  at_ = parser.token().offset + parser.token().source.size();
  note_variables(parser);
}

void BlockParser::note_variables(Parser& parser) {
  for (language::NamedVariable& variable : parser.take_variables()) {
    has_named_loop_ = has_named_loop_ || variable.name == "loop";
    const bool is_known = std::ranges::find(loop_names_, variable.name) != loop_names_.end();
    if (!is_known) blocks_.variables.push_back(std::move(variable));
  }
}

std::size_t sign_size(std::string_view text, std::size_t at) {
  return at < text.size() && (text[at] == '-' || text[at] == '+') ? 1 : 0;
}

void BlockParser::read_print(Body& body) {
  const std::size_t begin = at_ + 2;
  // `{{-1}}`, too, begins with a sign that trims.
  Parser parser(text_, Dialect::text, begin + sign_size(text_, begin), "}}");
  ExpressionNode value = parser.expression();
  finish_tag(parser, "an operator or '}}'");
  if (!fault_) body.push_back({Print{std::move(value)}});
}

void BlockParser::read_tag(Body& body, std::span<const std::string_view> ends) {
  const std::size_t begin = at_ + 2;
  Parser parser(text_, Dialect::text, begin + sign_size(text_, begin), "%}");
  if (parser.fault()) return fail(parser.fault()->offset, parser.fault()->message);
  if (parser.token().kind != TokenKind::name) {
    parser.fail_at_token("the name of a tag");
    return fail(parser.fault()->offset, parser.fault()->message);
  }
  const End tag{std::string(parser.token().source), parser.token().offset};
  if (std::ranges::find(ends, tag.word) != ends.end()) {
    end_ = tag;
    return;
  }
  parser.take();
  if (tag.word == "if") return read_if(body, std::move(parser));
  if (tag.word == "for") return read_for(body, std::move(parser));
  if (tag.word == "set") return read_set(body, std::move(parser));
  const bool is_end = tag.word.starts_with("end") || tag.word.starts_with("el");
  fail(tag.offset, is_end ? fmt::format("{} has nothing to belong to", quoted_name(tag.word))
                          : fmt::format("there is no tag {}; there are if, for and set",
                                        quoted_name(tag.word)));
}

// The tag that ended a body, when nothing stands after its word.
void BlockParser::finish_end_tag() {
  if (fault_ || !end_) return;
  Parser parser = after_word(*end_);
  finish_tag(parser, "'%}'");
}

ExpressionNode BlockParser::read_condition_of_end() {
  Parser parser = after_word(*end_);
  ExpressionNode condition = parser.expression();
  finish_tag(parser, "an operator or '%}'");
  return condition;
}

void BlockParser::read_if(Body& body, Parser parser) {
  constexpr std::array<std::string_view, 3> kBranchEnds = {"elif", "else", "endif"};
  constexpr std::array<std::string_view, 1> kElseEnds = {"endif"};
  If block;
  ExpressionNode condition = parser.expression();
  finish_tag(parser, "an operator or '%}'");
  while (!fault_) {
    Body branch = read_body(kBranchEnds);
    block.branches.push_back({std::move(condition), std::move(branch)});
    if (!ended_with("elif")) break;
    condition = read_condition_of_end();
  }
  finish_end_tag();
  if (ended_with("else")) {
    block.otherwise = read_body(kElseEnds);
    finish_end_tag();
  }
  end_.reset();
  body.push_back({std::move(block)});
}

std::string BlockParser::read_target(Parser& parser) {
  const auto& token = parser.token();
  const bool is_name = token.kind == TokenKind::name && !language::is_reserved(token.source) &&
                       token.source != "loop";
  if (!is_name) parser.fail_at_token("the name of a variable");
  return std::string(parser.take().source);
}

std::vector<std::string> BlockParser::read_targets(Parser& parser) {
  const bool in_parentheses = parser.skip("(");
  std::vector<std::string> targets = {read_target(parser)};
  while (parser.skip(",")) targets.push_back(read_target(parser));
  if (in_parentheses && !parser.skip(")")) parser.fail_at_token("')'");
  return targets;
}

void BlockParser::read_for(Body& body, Parser parser) {
  constexpr std::array<std::string_view, 2> kBodyEnds = {"else", "endfor"};
  constexpr std::array<std::string_view, 1> kElseEnds = {"endfor"};
  For block;
  block.targets = read_targets(parser);
  if (!parser.skip("in")) parser.fail_at_token("'in'");
  block.items = parser.expression_before_if();
  note_variables(parser);
  const std::size_t outer_names = loop_names_.size();
  loop_names_.insert(loop_names_.end(), block.targets.begin(), block.targets.end());
  if (parser.skip("if")) block.condition = std::make_unique<ExpressionNode>(parser.expression());
  finish_tag(parser, "an operator or '%}'");
  const bool had_named_loop = std::exchange(has_named_loop_, false);
  loop_names_.emplace_back("loop");
  block.body = read_body(kBodyEnds);
  loop_names_.resize(outer_names);
  block.needs_loop = std::exchange(has_named_loop_, had_named_loop);
  finish_end_tag();
  if (ended_with("else")) {
    block.otherwise = read_body(kElseEnds);
    finish_end_tag();
  }
  end_.reset();
  body.push_back({std::move(block)});
}

void BlockParser::read_set(Body& body, Parser parser) {
  constexpr std::array<std::string_view, 1> kEnds = {"endset"};
  Set block;
  block.name = read_target(parser);
  blocks_.set_names.push_back(block.name);
  if (parser.skip("=")) {
    block.value = std::make_unique<ExpressionNode>(parser.expression());
    finish_tag(parser, "an operator or '%}'");
  } else {
    finish_tag(parser, "'='");
    block.body = read_body(kEnds);
    finish_end_tag();
    end_.reset();
  }
  body.push_back({std::move(block)});
}

}  // namespace

std::expected<Blocks, SyntaxFault> parse_blocks(std::string_view text) {
  return BlockParser(text).parse();
}

std::vector<SyntaxFault> unknown_names(const Blocks& blocks,
                                       std::span<const std::string_view> bound) {
  std::set<std::string_view> known(bound.begin(), bound.end());
  known.insert(blocks.set_names.begin(), blocks.set_names.end());
  std::vector<SyntaxFault> faults;
  for (const language::NamedVariable& variable : blocks.variables) {
    if (!known.insert(variable.name).second) continue;
    faults.push_back(
        {fmt::format("unknown variable {}", quoted_name(variable.name)), variable.offset});
  }
  return faults;
}

}  // namespace treaty::templates::blocks
