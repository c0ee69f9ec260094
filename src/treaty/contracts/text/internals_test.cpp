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
  check_all("an exception name", {"KeyError",
                                  "It failed with a NullPointerException.",
                                  "TypeError: x is not a function",
                                  "openai.RateLimitError: slow down",
                                  "java.lang.IllegalStateException: no plan",
                                  "System.InvalidOperationException was raised",
                                  "OSError while reading",
                                  "JSONDecodeError: Expecting value",
                                  "KeyboardInterrupt",
                                  "StopIteration",
                                  "ActiveRecord::RecordNotFound",
                                  "Net::ReadTimeout",
                                  "std::bad_alloc",
                                  "'NoneType' object",
                                  "Cannot read properties of undefined",
                                  "std::runtime_error",
                                  "builtins.ValueError('x')",
                                  "MongoServerError: no",
                                  "ActiveRecord::StatementInvalid",
                                  "UnhandledPromiseRejectionWarning: boom",
                                  "DeprecationWarning: use plan()"});
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
  CHECK(find_internals("src/app/main.py line 3") == "a source file");
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

TEST_CASE("ARL-09: crashes of programs leak") {
  check_all("a crash of a program",
            {"Segmentation fault", "The planner stopped with a segmentation fault.",
             "The worker segfaulted.", "It was killed by signal 9.", "Bus error: 10",
             "JavaScript heap out of memory", "The OOM killer ended the process.",
             "Unhandled exception in the planner", "Kernel panic - not syncing",
             "null pointer dereference"});
}

TEST_CASE("ARL-09: errors of the system and of HTTP leak") {
  check_all("an error code", {"[Errno 2] No such file",
                              "[Errno -2] Name or service not known",
                              "[WinError 5] Denied",
                              "open failed: errno 13",
                              "Is that right? (os error 2)",
                              "No such file or directory",
                              "curl: connection refused",
                              "Connection reset by peer",
                              "No space left on device",
                              "getaddrinfo failed",
                              "Error code: 429",
                              "Request failed with status code 503",
                              "The server returned 500.",
                              "HTTP 502",
                              "HTTP error 500 while searching",
                              "Error 503",
                              "API error: 500 from upstream",
                              "the call returned status 429",
                              "500 Internal Server Error",
                              "Rate limit exceeded, retry in 20 s",
                              "status=504",
                              "502 Bad Gateway",
                              "The response code was 401."});
}

TEST_CASE("ARL-09: exit codes of processes leak, codes of doors do not") {
  check_all("an exit code", {"exit code 137", "The job ended with exit code 1.",
                             "Process exited with code 0", "exit status 2", "exit_code=1",
                             "The container exited with 137.", "returned non-zero exit status 1"});
  check_all("", {"Take exit 12 and turn left.", "The exit code of the garage is 4821.",
                 "Use exit code 4821 at the gate.", "She exited with 3 others.",
                 "The exit is on level 2."});
}

TEST_CASE("ARL-09: exceptions leak by their qualified names") {
  check_all("an exception name",
            {"requests.exceptions.Timeout", "httpx.ReadTimeout while searching",
             "It raised django.core.exceptions.ObjectDoesNotExist.", "socket.timeout: timed out",
             "subprocess.TimeoutExpired", "grpc.errors.Cancelled"});
  check_all("", {"There were errors.Please try again.", "It was closed.Timeout was not the reason.",
                 "Write to errors@example.com.", "The exceptions. They prove the rule."});
}

TEST_CASE("ARL-09: failures of databases leak by the name of the engine") {
  check_all("a failure of a database",
            {"sqlite error: no such table users", "MySQL server has gone away", "Redis is down.",
             "PostgreSQL connection timed out", "Database error: the row is gone",
             "I could not connect to the database.", "The database connection was lost.",
             "I can't reach our database.", "We couldn't query the db.",
             "The database query has timed out.", "The Elasticsearch server is down."});
  check_all("", {"Your PostgreSQL course starts on Monday.",
                 "I added MySQL to your list of skills.", "Cassandra is unavailable on Friday.",
                 "The error in the address is corrected.", "I found three books about databases."});
}

TEST_CASE("ARL-09: models leak by their names and versions in prose") {
  check_all("a model id",
            {"Sonnet 4.5", "I asked Sonnet 4.5 for help.", "grok 4", "Answered by Grok 4.",
             "This was written using Llama 3.", "ChatGPT 4", "Gemini 2.5 wrote this.",
             "Mistral Large found it.", "OpenAI's o3", "Qwen 3 is used.", "Kimi K2 is used."});
  check_all("", {"It took me a while to grok 4 of these ideas.", "Sonnet 116 is about love.",
                 "Opus 4 was her first success.", "Invite Claude 4 weeks before the party.",
                 "Gemini 4 was the first mission with a spacewalk.",
                 "The llama 3 stalls away is Coco.", "Gemma 2 is seated beside Gemma 1.",
                 "Llama wool costs $4.50.", "The Haiku workshop is on May 4."});
}

TEST_CASE("ARL-09: a level leaks only where a logger writes it") {
  check_all("a log line",
            {"2026-03-01 09:30:00 planner INFO started", "INFO[2026-03-01T09:30:00Z] started",
             "[09:30:00] WARN slow", "2026-03-01 09:30:00.120 [main] INFO c.e.Planner - started",
             "It said: 2026-03-01T09:30:00+02:00 ERROR no plan"});
  check_all("",
            {"The INFO desk opens at 08:30:00.", "At 10:15:00 the WARNING lights are tested.",
             "WARNING: doors close at 20:00:00.", "The race starts at 09:00:00, INFO at the gate.",
             "INFO line 0800-555-1234 is open until 18:00:00.",
             "2026-03-01 09:30:00: The INFO evening for parents", "WARNING - the plate is hot."});
}

TEST_CASE("ARL-09: numbers of guards, rooms and games are no internals") {
  check_all("", {"Sentry #3 is on guard.", "The sentry's issue 12 of the magazine is out.",
                 "Show the sentry your ID.", "Sentry duty is at 10, event 3 at noon.",
                 "The Sentry alert at 10 was a drill."});
  check_all("a Sentry id",
            {"Sentry #4507123", "Sentry issue ACME-WEB-1X", "issue ACME-1X in Sentry"});
  check_all("", {"Your balance is 1,500 tokens in the game.", "You won 250 tokens at the arcade.",
                 "You used 300 tokens for a ride.", "The hat costs 400 tokens.",
                 "Each correct answer gives 100 tokens.", "I bought 120 parking tokens.",
                 "Players start with 500 tokens and a map."});
  check_all("a token count",
            {"Done (1,532 tokens).", "The reply is 812 tokens long.",
             "The model used 1,500 tokens.", "You exceeded the limit of 500 tokens."});
  check_all("", {"Set temperature=21 in the living room.", "temperature=1.5 C in the freezer",
                 "The fridge reports temperature=2°C.", "Bake at 180 °C for 25 minutes.",
                 "Fever: temperature=38.5"});
  check_all("a parameter of a model",
            {"temperature=0", "{\"temperature\": 0.2}", "temperature=1.0"});
}

TEST_CASE("ARL-09: a channel may be joined to the level of a log line") {
  check_all("a log line",
            {"2026-11-18 10:00:00 planner.ERROR: boom",
             "[2026-11-18T10:00:00.123456+00:00] app.CRITICAL: boom {} []",
             "[2026-11-18 10:00:00] staging.ALERT: disk full", "production.ERROR: no plan",
             "2026-11-18 10:00:00.1 worker.pool.WARN: slow", "18-Nov-2026 10:00:00.123 SEVERE boom",
             "E, [2026-11-18T10:00:00.123456 #812] ERROR -- : boom",
             "2026-11-18T10:00:00.000Z error: boom", "2026-11-18 10:00:00 <error> planner: boom"});
  check_all("", {"2026-11-18 10:00:00 dentist. Bring your card.",
                 "2026-12-01 08:00:00 yoga. Warning: bring a mat.",
                 "2026-12-01 08:00:00 Warning: bring a mat.", "Done.WARNING: the plate is hot.",
                 "The planner: INFO evening on 2026-03-01 at 18:00:00 in room 3."});
}

TEST_CASE("ARL-09: ids of models leak with underscores, too") {
  check_all("a model id",
            {"gpt_4o", "gpt_3_5_turbo", "claude_sonnet_4", "claude_3_5_sonnet", "gemini_1_5_pro",
             "llama_3_70b_instruct", "mistral_large_latest", "command_r_plus", "o1_mini",
             "text_embedding_3_small", "deepseek_chat", "qwen_2_5_72b"});
  check_all("", {"Her username is claude_42.", "My username is gemini_1984.",
                 "The folder is called llama_farm_3.", "She wrote a sonnet_18 tag on the photo.",
                 "Your photos img_4021 and img_4022 were saved."});
}

TEST_CASE("ARL-09: an exchange with a provider that did not come to an end leaks") {
  check_all(
      "a failure of a provider",
      {"The OpenAI request could not be completed.",
       "Our request to OpenAI could not be completed.",
       "The request could not be completed by OpenAI.", "OpenAI couldn't process your request.",
       "Anthropic was unable to complete the request.", "The Groq call did not succeed.",
       "OpenAI never answered.", "The OpenAI response could not be parsed.",
       "The response from OpenAI was empty.", "OpenAI closed the connection.",
       "The connection to Anthropic was interrupted.", "The Gemini request could not be completed.",
       "Something went wrong while calling Anthropic.", "I wasn't able to reach OpenAI."});
  check_all("", {"Your request to meet OpenAI could not be completed because the calendar is full.",
                 "The OpenAI course could not be booked.",
                 "The OpenAI call could not be moved to Friday.",
                 "The call with OpenAI did not take place.",
                 "I could not find the request that you sent to OpenAI's press office.",
                 "I could not complete the form for the Anthropic event.",
                 "OpenAI could not process your application.", "Anthropic lost a client.",
                 "OpenAI closed the deal.", "Nothing went wrong at the Anthropic interview.",
                 "Claude could not complete the marathon.",
                 "Claude's request for leave could not be processed.",
                 "Anthropic rejected your application for the service desk."});
}

TEST_CASE("ARL-09: a name that is also a word is a provider's when it is written as one") {
  check_all("a failure of a provider",
            {"Mistral returned an error.", "The model provider Mistral did not respond.",
             "Cohere is down.", "The provider Claude is down.", "The model Mistral failed.",
             "Google Gemini was unable to answer.", "Quota exceeded at OpenAI."});
  check_all("", {"Perplexity is a state of mind.", "The mistral is down to 20 knots.",
                 "These pieces cohere, and the plan did not fail.", "Claude is down with a cold.",
                 "Perplexity about the error is natural.", "Attendance exceeded 300 people.",
                 "Perplexity is down from 20 to 15 after training.", "The Mistral is down today.",
                 "Trains failed in the Mistral.", "The model perplexity is down to 12.3.",
                 "The Mistral exceeded 100 km/h.", "Our role model Claude failed the exam twice."});
}

TEST_CASE("ARL-09: log lines of Go, Rust and debuggers leak") {
  check_all("a log line", {"TRACE planner.run: begin", "2026/11/18 12:00:00 main.go: failed",
                           "thread 'main' panicked"});
  check_all("a stack trace",
            {"2026/11/18 12:00:00.1 main.go:42: failed", "thread 'main' panicked at src"});
  check_all("a Sentry id", {"Reported to Sentry as PROJ-1A2B."});
  check_all("", {"Use DEBUG mode: it prints more.", "The TRACE method: it echoes a request.",
                 "DEBUG builds: slower, but easier.", "On 2026/11/18 12:00 the museum opens.",
                 "The thread 'Holidays' is closed.", "He works as a sentry as his father did."});
}

TEST_CASE("ARL-09: a number that counts things is no status") {
  check_all("an error code",
            {"The service returned 500.", "The server returned 500 for this request.",
             "The gateway answered with 502, so I stopped.", "The server returned a 500 error.",
             "The service responded with 401 and no message.", "The backend responded with a 404.",
             "The endpoint returned 404 when I asked for the plan.", "The API returned 429"});
  check_all("", {"The service returned 500 dollars to you.", "The service returned 500 € to you.",
                 "The server returned 402 glasses to the bar.",
                 "The service returned 503 of the 600 books.",
                 "The service returned 500.50 to your card.",
                 "The loan service responded with 500 pages of paperwork.",
                 "The repair service answered with a 500-franc voucher."});
}

TEST_CASE("ARL-09: juries, composers and tax forms use words of programs, too") {
  check_all("", {"The deadlock detected by the jury surprised everyone.",
                 "A deadlock found when the council voted was broken by the mayor.",
                 "The duplicate key error at the locksmith cost us an hour.",
                 "There are too many clients already, so the salon closed its list.",
                 "The Opus 3.1 recording is out of print.", "Her Opus 5.2 premieres in Vienna.",
                 "The collector sold Opus 4.1 for 200 euros.",
                 "File \"Taxes 2025\", line 3 needs your signature.",
                 "File \"Budget\", line 14, in red.", "File \"Schedule C.pdf\", line 31"});
  check_all("an SQL error", {"ERROR: deadlock detected DETAIL: Process 12 waits",
                             "Saving failed, deadlock detected.",
                             "ORA-00060: deadlock detected while waiting for resource",
                             "Deadlock found when trying to get lock; try restarting transaction",
                             "SELECT id, name FROM plans WHERE id = 3"});
  check_all("a model id", {"Opus 4.1", "Answered by Opus 4.1.", "I switched to Opus 4.5.",
                           "This was written using Opus 4."});
  check_all("a stack trace", {"File \"<stdin>\", line 1, in <module>", "File \"plan.py\", line 12",
                              "  File \"worker\", line 3, in run", "File \"<string>\", line 4",
                              "File \"plan.py\",  line 12", "File \"plan.py\",\nline 12"});
}

TEST_CASE("ARL-09: what assistants say every day passes") {
  check_all("", {"Your flight LH 429 leaves at 14:05 from gate B12.",
                 "The invoice over $1,500.00 is due on 2026-04-30.",
                 "I moved your dentist appointment to Tuesday, March 3, at 9:30.",
                 "Preheat the oven to 200 °C, then bake for 45 minutes.",
                 "Add 250 g of flour, 3 eggs and 1.5 tsp of baking powder.",
                 "Claude will join the call at 15:00:00.",
                 "Room 404 is on the fourth floor.",
                 "Your package has the status: delivered.",
                 "Highway 500 is closed; take the 503 instead.",
                 "The dishwasher shows error code E24: check the drain hose.",
                 "There are 137 steps to the tower's exit.",
                 "I could not reach Ana by phone.",
                 "The connection from Basel arrives 12 minutes late.",
                 "The signal at platform 9 is broken.",
                 "A broken pipe in the kitchen was reported to the landlord.",
                 "No such restaurant is open today.",
                 "The email address is already in use by another guest.",
                 "The fault lies in the segment between Ulm and Augsburg.",
                 "Your phone has no space left for new photos.",
                 "The library's catalogue lists 1,200 titles by Agatha Christie.",
                 "The panic at the concert was unfounded.",
                 "Redis is the plural of a name in this novel.",
                 "The score was 3:2 after 90:00 minutes.",
                 "Version 4.5 of your thesis is saved.",
                 "I set the timer to 00:12:30.",
                 "The gateway to the park is on Elm Street.",
                 "The exceptional concert was sold out.",
                 "Grok is a word from a novel of 1961.",
                 "Dial 500 for the front desk, 503 for room service.",
                 "The code of the locker is 0429.",
                 "Haiku have 5, 7 and 5 syllables.",
                 "Your request was received, and somebody will call back."});
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
