#include "treaty/contracts/text/internals.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

using namespace treaty::contracts;

namespace {

void check_all(std::string_view shows, std::initializer_list<const char*> texts) {
  for (const char* text : texts) {
    CAPTURE(text);
    CHECK(find_internals(text) == shows);
  }
}

}  // namespace

TEST_CASE("ARL-09: what find_leak() finds is refused, too") {
  CHECK(find_internals("Traceback (most recent call last):") == "a stack trace");
  CHECK(find_internals("See /var/log/agent.log") == "a file path");
  CHECK(find_internals("OPENAI_API_KEY=abc123") == "an environment variable");
  CHECK(find_internals("https://user:pass@host.example/x") ==
        "an address with credentials or of a data source");
}

TEST_CASE("ARL-09: names of exceptions leak") {
  check_all("an exception name",
            {"KeyError", "It failed with a NullPointerException.", "TypeError: x is not a function",
             "openai.RateLimitError: slow down", "java.lang.IllegalStateException: no plan",
             "System.InvalidOperationException was raised", "OSError while reading",
             "JSONDecodeError: Expecting value", "KeyboardInterrupt", "StopIteration",
             "ActiveRecord::RecordNotFound", "Net::ReadTimeout", "std::bad_alloc",
             "'NoneType' object", "Cannot read properties of undefined", "std::runtime_error",
             "builtins.ValueError('x')", "MongoServerError: no"});
}

TEST_CASE("ARL-09: codes of systems and of providers leak") {
  check_all("an error code", {"connect ECONNREFUSED", "getaddrinfo ENOTFOUND", "killed by SIGSEGV",
                              "rate_limit_error", "Error code: insufficient_quota",
                              "context_length_exceeded", "429 RESOURCE_EXHAUSTED"});
}

TEST_CASE("ARL-09: errors of databases leak") {
  check_all("an SQL error", {"SQLSTATE[42S02]: Base table not found",
                             "ORA-00942: table or view does not exist",
                             "ERROR: duplicate key value violates unique constraint \"users_pkey\"",
                             "UNIQUE constraint failed: users.email",
                             "no such table: users",
                             "You have an error in your SQL syntax; check the manual",
                             "syntax error at or near \"FROM\"",
                             "near \"SELEC\": syntax error",
                             "relation \"users\" does not exist",
                             "column \"price\" does not exist",
                             "Failed: column \"price\" does not exist",
                             "Table 'shop.users' doesn't exist",
                             "Unknown column 'price' in 'field list'",
                             "Duplicate entry 'x' for key 'PRIMARY'",
                             "ERROR 1064 (42000)",
                             "database is locked",
                             "SELECT * FROM users",
                             "deadlock detected",
                             "Invalid object name 'dbo.Users'.",
                             "Incorrect syntax near 'FROM'.",
                             "psycopg2.errors.UndefinedTable",
                             "SQLITE_BUSY",
                             "ER_DUP_ENTRY",
                             "permission denied for table users",
                             "password authentication failed for user \"app\"",
                             "Msg 208, Level 16, State 1",
                             "E11000 duplicate key error collection: shop.users",
                             "Lock wait timeout exceeded; try restarting transaction"});
}

TEST_CASE("ARL-09: addresses of data sources and of providers leak") {
  check_all("an address of a data source",
            {"cannot reach db.internal", "connect to db.acme.example:5432 failed",
             "localhost:6379 is down", "the server on port 5432", "Data Source=db01;",
             "jdbc:oracle:thin:@db", "x.rds.amazonaws.com"});
  check_all("an address of a provider",
            {"POST https://api.openai.com/v1/chat/completions", "api.anthropic.com is slow",
             "https://acme.openai.azure.com/x", "localhost:11434"});
}

TEST_CASE("ARL-09: lines of logs leak") {
  check_all(
      "a log line",
      {"2026-03-01 09:30:00,123 ERROR planner - no plan", "[ERROR] no plan",
       "[2026-03-01T09:30:00Z] WARN slow", "ERROR:root:no plan", "level=error msg=\"no plan\"",
       "{\"level\":\"error\",\"msg\":\"no plan\"}", "E0301 09:30:00.123456 1 planner] no plan",
       "127.0.0.1 - - [01/Mar/2026:09:30:00 +0000] \"GET /plan HTTP/1.1\" 500 12",
       "Mar  1 09:30:00 host planner[123]: no plan", "2026/03/01 09:30:00 [error] 12: x",
       "2026-03-01 09:30:00 - planner - INFO - started", "GET /v1/plans 500",
       "ERROR [main] no plan", "npm ERR! code 1", "ERROR 2026-03-01 no plan",
       "09:30:00.123 DEBUG starting"});
}

TEST_CASE("ARL-09: ids of Sentry leak") {
  check_all(
      "a Sentry id",
      {"Sentry event 9f8e7d6c5b4a39281706f5e4d3c2b1a0", "Sentry ID: abc", "sentry_id 12",
       "Event ID: 9f8e7d6c5b4a39281706f5e4d3c2b1a0", "Reported to Sentry as 9f8e7d6c",
       "Error reference 9f8e7d6c5b4a39281706f5e4d3c2b1a0", "https://acme.sentry.io/issues/4507",
       "o1.ingest.sentry.io", "Sentry issue 4507", "Sentry: ACME-1X"});
}

TEST_CASE("ARL-09: counts of tokens leak") {
  check_all("a token count",
            {"1,532 tokens", "This used 42 tokens.", "It took 1.2k tokens.", "Tokens used: 512",
             "prompt_tokens: 12", "totalTokens 12", "Token usage: 45", "12 prompt tokens",
             "The answer has 350 output tokens.", "a 4096-token context", "tokens: 512",
             "maximum context length is 8192 tokens", "token limit of 4096", "30 tokens per second",
             "input tokens: 7", "500 total tokens", "512/4096 tokens", "tokens=900"});
}

TEST_CASE("ARL-09: ids of models leak") {
  check_all("a model id", {"gpt-4o",
                           "GPT-4",
                           "I asked gpt-3.5-turbo.",
                           "GPT\u20114o",
                           "o1-mini",
                           "o3-mini",
                           "claude-sonnet-4",
                           "claude-3-5-sonnet-20241022",
                           "Claude 3.5 Sonnet",
                           "Claude Sonnet 4",
                           "gemini-1.5-pro",
                           "Gemini 2.0 Flash",
                           "llama-3.1-70b",
                           "llama3:8b",
                           "Llama 3.1",
                           "mistral-large-latest",
                           "mixtral-8x7b-32768",
                           "Mistral 7B",
                           "command-r-plus",
                           "deepseek-chat",
                           "DeepSeek R1",
                           "qwen2.5-72b",
                           "grok-2",
                           "text-embedding-3-small",
                           "openai/gpt-4o-mini",
                           "anthropic.claude-3-haiku",
                           "dall-e-3",
                           "whisper-1",
                           "model=fast-1",
                           "{\"model\": \"fast-1\"}",
                           "acme-7b-instruct",
                           "phi-3",
                           "kimi-k2",
                           "gpt-oss-120b",
                           "gemma2",
                           "glm-4"});
}

TEST_CASE("ARL-09: a provider's name together with its failure leaks") {
  check_all("a failure of a provider", {"OpenAI returned an error",
                                        "OpenAI API error: slow down",
                                        "Anthropic is overloaded.",
                                        "The OpenAI request failed.",
                                        "OpenAI rate limit exceeded",
                                        "Groq request timed out",
                                        "Error from OpenAI",
                                        "Failed to call OpenAI",
                                        "Could not reach Anthropic.",
                                        "I couldn't connect to Ollama.",
                                        "timeout calling Groq",
                                        "Rate limited by OpenAI.",
                                        "No response from OpenAI.",
                                        "OpenAI did not respond.",
                                        "OpenAI isn't responding",
                                        "Anthropic returned status 529",
                                        "OpenAI is down",
                                        "OpenAI's API is unavailable",
                                        "Anthropic rejected the request.",
                                        "The Claude API failed.",
                                        "Claude is overloaded",
                                        "Gemini API error",
                                        "Vertex AI quota",
                                        "Google Gemini returned an error",
                                        "DeepSeek server busy",
                                        "Hugging Face is offline",
                                        "OpenAI usage limit reached",
                                        "There was a problem with the OpenAI service.",
                                        "The Gemini model timed out",
                                        "Azure OpenAI timeout",
                                        "openai: error",
                                        "Failed to execute task: Anthropic returned HTTP 500."});
}

TEST_CASE("ARL-09: paths of source files leak") {
  check_all("a source file", {"src/core/plan.py", "Raised in app/core/composer.py.",
                              "see ./lib/run.mjs", "lib\\core\\Plan.cs", "logs/agent.log",
                              "/code/agent/main.go", "components/Button.tsx", "../plan.rb"});
  check_all("a stack trace", {"plan.py, line 41", "index.php on line 12", "Plan.cs(42)",
                              "worker2.py:12", "Run.cs:line 42"});
}

TEST_CASE("ARL-09: parameters and environment variables leak by their names") {
  check_all("a parameter of a model", {"top_p", "temperature=0.7", "stop_sequences"});
  check_all("an environment variable",
            {"OPENAI_API_KEY is not set", "Set DATABASE_URL first", "process.env.HOME"});
}

TEST_CASE("ARL-09: providers, people and tokens of another kind pass") {
  check_all("", {"Read https://openai.com/index/gpt-4 first.",
                 "https://platform.openai.com/docs failed to load",
                 "I've scheduled a meeting with OpenAI.",
                 "Your meeting with Anthropic was moved to Friday.",
                 "Claude is unavailable on Monday.",
                 "Claude did not respond to the invitation.",
                 "Claude failed the exam.",
                 "Ask Claude at 3 pm.",
                 "Gemini season starts on May 21.",
                 "The mistral is a cold wind.",
                 "Anthropic rejected your application.",
                 "I could not find your notes about OpenAI.",
                 "I failed to find a time for the meeting with Anthropic.",
                 "The fireworks failed because of the rain.",
                 "Press Command-R to reload the page.",
                 "The Falcon-9 launch is at noon.",
                 "Your O1 visa was approved.",
                 "GPT stands for something.",
                 "You have 3 tokens left.",
                 "Redeem 5 tokens at the arcade.",
                 "Your token: 482913",
                 "Your 6-digit token is 482913.",
                 "a token of appreciation",
                 "Bring your tokens 30 minutes early.",
                 "Your printer model HL-2270 is ready.",
                 "Llamas 3 of them",
                 "Bedrock is a hard layer.",
                 "24 tokens? No: 24 cookies.",
                 "Ring OpenAI, 500 Howard Street."});
}

TEST_CASE("ARL-09: ordinary prose passes") {
  check_all("", {"",
                 "I've created a reminder task for you: call Ana.",
                 "Done 24/7, and/or later.",
                 "3/4 of it at 10:30:15",
                 "2025-10-27T10:00:00",
                 "Moved from 03/01/2026 to 04/01/2026.",
                 "https://example.com/docs/errors#KeyError",
                 "Error",
                 "An exception to the rule.",
                 "There was an error.",
                 "Errors happen, except on Sunday.",
                 "WARNING: this cannot be undone.",
                 "Warning: low battery",
                 "An INFO session for parents",
                 "The sentry stands at the gate.",
                 "The sentry saw the event at 10.",
                 "Order 9f8e7d6c5b4a39281706f5e4d3c2b1a0 is paid.",
                 "Your spreadsheet: The column \"price\" does not exist.",
                 "There is no such table at noon.",
                 "Select a table from the list.",
                 "SELECT your seat",
                 "The database course starts on Monday.",
                 "A deadlock between two teams",
                 "Node.js/React.js developers",
                 "frontend/Vue.js",
                 "I added docs/notes.md to the list.",
                 "Open reports/march.pdf.",
                 "See github.com/acme/plan.py",
                 "HTML/CSS/JS",
                 "The oven temperature: 37.5",
                 "Sonnet 18 by Shakespeare",
                 "Opus 27 No. 2",
                 "Section 4.c:2 applies",
                 "The key is under the mat.",
                 "E-mail team@plans.example about the timeout on Friday.",
                 "Meet at the harbour (Main Street 12).",
                 "Type /help to see what I can do.",
                 "Call me at 10:30:00.",
                 "Scheduled reminder at 2026-03-01T09:30:00Z.",
                 "It costs $12.50 per seat.",
                 "Das Treffen ist um 9 Uhr – bis dann!",
                 "The phase-3 trial",
                 "Gate-12b",
                 "Room 4-3b",
                 "the service had a temporary problem",
                 "too many requests at the moment",
                 "no answer came in time",
                 "the answer was withheld by a content filter",
                 "The results of tools are still awaited.",
                 "the request is too long"});
}
