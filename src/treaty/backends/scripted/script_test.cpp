#include "treaty/backends/scripted/script.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>
#include <thread>

#include "treaty/backends/scripted/script_player.h"

namespace treaty::backends {
namespace {

using std::chrono::milliseconds;

Reply only_reply(std::string_view yaml) {
  const auto script = read_script(yaml);
  REQUIRE(script);
  REQUIRE(script->replies.size() == 1);
  return script->replies[0];
}

std::string problems_of(std::string_view yaml) {
  const auto script = read_script(yaml);
  std::string text;
  if (script) return "accepted";
  for (const auto& problem : script.error()) {
    text += text_of(problem) + "\n";
  }
  return text;
}

std::string said(ScriptPlayer& player, const Asked& asked = {}) {
  const Reply reply = player.next(asked);
  return reply.text.empty() ? "" : reply.text[0];
}

TEST_CASE("A reply has text, tool calls, usage and a finish reason") {
  const Reply reply = only_reply(R"(
replies:
  - text: [One, " two"]
    tool_calls:
      - {name: look, arguments: {where: [here, 2]}}
      - {name: leave, arguments: '{"not json', id: call_9}
    usage: {input_tokens: 12, output_tokens: 3, cache_read_tokens: 4}
    finish_reason: length
    model: m-1
)");

  CHECK(reply.text == std::vector<std::string>{"One", " two"});
  CHECK(reply.tool_calls[0].arguments == R"({"where":["here",2]})");
  CHECK(!reply.tool_calls[0].id);
  CHECK(reply.tool_calls[1].arguments == R"({"not json)");
  CHECK(reply.tool_calls[1].id == "call_9");
  CHECK(reply.usage->cache_read_tokens == 4);
  CHECK(reply.finish_reason == "length");
}

TEST_CASE("A reply may have thoughts, whole or in pieces, beside what it says") {
  CHECK(only_reply("- {thinking: Hm., text: Yes.}").thinking == std::vector<std::string>{"Hm."});
  CHECK(only_reply("- {thinking: [Let me, ' see.'], text: Yes.}").thinking.size() == 2);
  CHECK(problems_of("- thinking: Hm.").contains("says nothing"));
  CHECK(problems_of("- {thinking: Hm., body: x}").contains("no room"));
  ScriptPlayer player(*read_script("- {thinking: 'On {{user}}', text: Yes.}"));
  CHECK(player.next({.user_text = "tea"}).thinking[0] == "On tea");
}

TEST_CASE("A reply has errors, headers, delays and faults") {
  const Reply reply = only_reply(R"(
replies:
  - error: {status: 429, code: rate_limit_exceeded, message: Slow down.}
    headers: {Retry-After: 20}
    delay: 1.5s
    chunk_delay: 20ms
    chunk_size: 7
    stall: 100
    garbage: {bytes: 9, after: 4}
    malformed_chunk: json
    missing_ids: true
)");

  CHECK(reply.error->status == 429);
  CHECK(reply.headers.get("retry-after") == "20");
  CHECK(reply.delay == milliseconds(1500));
  CHECK(reply.chunk_delay == milliseconds(20));
  CHECK(reply.faults.stall == Point{.body_bytes = 100});
  CHECK(reply.faults.garbage == Garbage{.bytes = 9, .after = 4});
  CHECK(reply.faults.malformed == Malformed::json);
  CHECK(reply.faults.missing_ids);
}

TEST_CASE("Short forms: a bare text, a bare status, a list without a map around it") {
  CHECK(only_reply("- Hello.").text == std::vector<std::string>{"Hello."});
  CHECK(only_reply("- error: 503").error->status == 503);
  CHECK(only_reply("- cut: head").faults.cut == Point{.before_head = true});
  CHECK(only_reply("- html: true").content_type == "text/html");
}

TEST_CASE("Every wrong member is told with its place and the likely meaning") {
  CHECK(problems_of("replies:\n  - txt: a\n    dealy: 1s\n    text: b\n") ==
        "2:5: a reply has no key txt (did you mean text?)\n"
        "3:5: a reply has no key dealy (did you mean delay?)\n");
  CHECK(problems_of("- text: a\n  delay: soon\n").starts_with("2:10: expected a duration"));
  CHECK(problems_of("- error: 200\n").starts_with("1:10: expected a whole number, 400 to 599"));
  CHECK(problems_of("- {delay: 1s}\n").starts_with("1:3: this reply says nothing"));
  CHECK(problems_of("- {text: a, body: b}\n").contains("exact body"));
  CHECK(problems_of("- {cut: 1, stall: 1}\n").contains("ends once"));
  CHECK(problems_of("- {text: a, headers: {'a b': c}}\n").contains("no name of a header"));
  CHECK(problems_of("- {text: a, headers: {content-length: 3}}\n").contains("frames"));
  CHECK(problems_of("rules:\n  - text: a\n").contains("a rule needs `when`"));
  CHECK(problems_of("- text: a\n  when: {call: 1}\n").contains("move this reply to `rules`"));
  CHECK(problems_of("version: 2\nreplies: [a]\n").contains("version 1"));
  CHECK(problems_of("replies: {}\n").contains("expected a list of replies"));
  CHECK(problems_of("a: [") != "accepted");
  CHECK(problems_of("").contains("expected a script as a map"));
  CHECK(problems_of("loop: true").contains("the script is empty"));
}

TEST_CASE("Replies come in order and the last one stays") {
  ScriptPlayer player(*read_script("- one\n- {text: two, times: 2}\n- three\n"));

  std::string all;
  for (int i = 0; i < 6; ++i) all += said(player) + " ";

  CHECK(all == "one two two three three three ");
}

TEST_CASE("With loop the replies begin again") {
  ScriptPlayer player(*read_script("replies: [one, two]\nloop: true\n"));

  std::string all;
  for (int i = 0; i < 5; ++i) all += said(player) + " ";

  CHECK(all == "one two one two one ");
}

TEST_CASE("The first rule that holds answers before the replies do") {
  ScriptPlayer player(*read_script(R"(
rules:
  - when: {user_contains: WEATHER}
    text: Rain.
  - when: {model: "gpt-*", stream: false}
    text: Model.
  - when: {tool_results: true}
    text: "Got {{tool_results}}."
  - when: {path: "*/messages"}
    times: 1
    text: Once.
replies: [other]
)"));

  CHECK(said(player, {.user_text = "the weather?"}) == "Rain.");
  CHECK(said(player, {.model = "gpt-5"}) == "Model.");
  CHECK(said(player, {.model = "gpt-5", .stream = true}) == "other");
  CHECK(said(player, {.tool_results = {"a", "b"}}) == "Got a\nb.");
  CHECK(said(player, {.path = "/v1/messages"}) == "Once.");
  CHECK(said(player, {.path = "/v1/messages"}) == "other");
}

TEST_CASE("Templates name the user's text, the model and the number of the call") {
  ScriptPlayer player(*read_script("- '{{call}} {{model}}: {{user}}'\n"));

  CHECK(said(player, {.model = "m", .user_text = "say {{call}}"}) == "1 m: say {{call}}");
}

TEST_CASE("The file that the user names is the first word with an extension") {
  CHECK(file_named_in("Read src/main.cpp, please.") == "src/main.cpp");
  CHECK(file_named_in("(see ./notes-2.txt.)") == "./notes-2.txt");
  CHECK(file_named_in("It costs 3.5, e.g. at https://example.com/a").empty());
  CHECK(file_named_in("nothing here").empty());
  CHECK(file_named_in(std::string(10'000, ' ') + "late.txt").empty());
}

TEST_CASE("A rule may ask for the name of a file, and its reply may use it") {
  const auto script = read_script(R"(
rules:
  - when: {file: true}
    tool_calls: [{name: read, arguments: {path: "{{file}}"}}]
  - when: {file: false, user_contains: quote}
    text: "{{fenced_tool_results}}"
)");
  REQUIRE(script);
  ScriptPlayer player(*script);

  CHECK(player.next({.user_text = "Open a.txt"}).tool_calls[0].arguments == R"({"path":"a.txt"})");
  CHECK(said(player, {.user_text = "quote", .tool_results = {"{}", "a```b"}}) ==
        "```json\n{}\n```\n\n````text\na```b\n````");
}

TEST_CASE("One of several parts of the user's text is enough for a rule") {
  const auto script = read_script("rules: [{when: {user_contains: [Read, open]}, text: Yes}]");
  REQUIRE(script);
  ScriptPlayer player(*script);

  CHECK(said(player, {.user_text = "please OPEN it"}) == "Yes");
  CHECK(said(player, {.user_text = "please read it"}) == "Yes");
  CHECK(said(player, {.user_text = "please close it"}) != "Yes");
  CHECK(problems_of("rules: [{when: {user_contains: []}, text: a}]").contains("the list is empty"));
}

TEST_CASE("Threads that share a player get every reply once") {
  constexpr int kThreads = 4;
  constexpr int kCalls = 200;
  std::string yaml;
  for (int i = 0; i < kThreads * kCalls; ++i) yaml += fmt::format("- 'r{}'\n", i);
  ScriptPlayer player(*read_script(yaml));
  std::vector<std::vector<std::string>> said_to(kThreads);

  std::vector<std::jthread> threads;
  threads.reserve(said_to.size());
  for (auto& mine : said_to) {
    threads.emplace_back([&player, &mine] {
      for (int i = 0; i < kCalls; ++i) mine.push_back(player.next({}).text[0]);
    });
  }
  threads.clear();  // Joins.

  std::set<std::string> all;
  for (const auto& mine : said_to) all.insert(mine.begin(), mine.end());
  CHECK(all.size() == kThreads * kCalls);
}

TEST_CASE("A pattern stands for the whole text") {
  CHECK(matches_pattern("a*c?", "abbbcd"));
  CHECK(matches_pattern("*", ""));
  CHECK(!matches_pattern("a*", "ba"));
  CHECK(!matches_pattern("a?", "a"));
  CHECK(matches_pattern("**x**", "axb"));
}

TEST_CASE("Without a script the user is echoed, and a tool that is named is called") {
  const std::vector<OfferedTool> tools = {
      {"get_time", ""},
      {"get_weather", R"({"type":"object","required":["city","days","unit"],"properties":{
        "city":{"type":"string"},"days":{"type":"integer","minimum":3},"note":{"type":"string"},
        "unit":{"enum":["C","F"]}}})"}};

  CHECK(builtin_reply({.user_text = "Hi"}).text[0] == "You said: Hi");
  CHECK(builtin_reply({.user_text = "Hi", .tools = tools}).tool_calls.empty());
  CHECK(builtin_reply({.user_text = "Please use a tool", .tools = tools}).tool_calls[0].name ==
        "get_time");
  const Reply call = builtin_reply({.user_text = "Call get_weather now", .tools = tools});
  CHECK(call.tool_calls[0].arguments == R"({"city":"example","days":3,"unit":"C"})");
  CHECK(builtin_reply({.tools = tools, .tool_results = {"sunny"}}).text[0].contains("sunny"));
}

TEST_CASE("A structured output is answered with the smallest JSON that has what is required") {
  const Asked asked{.user_text = "Fill it",
                    .output_schema_json = R"({"type":"object","required":["ok","in"],"properties":{
                      "ok":{"type":"boolean"},"in":{"type":"object","required":["x"],
                      "properties":{"x":{"type":["number","null"]}}}}})"};

  CHECK(builtin_reply(asked).text[0] == R"({"ok":true,"in":{"x":1}})");
}

TEST_CASE("Spoken pieces joined are the text") {
  const std::string text = "  Two words,\n\nand more ";

  std::string joined;
  for (const std::string& piece : spoken_pieces(text)) joined += piece;

  CHECK(joined == text);
  CHECK(spoken_pieces(text).size() > 3);
}

}  // namespace
}  // namespace treaty::backends
