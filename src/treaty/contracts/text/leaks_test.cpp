#include "treaty/contracts/text/leaks.h"

#include <doctest/doctest.h>

#include <string>

using namespace treaty::contracts;

TEST_CASE("ARL-09: stack traces of every language leak") {
  for (const char* text :
       {"Traceback (most recent call last):", "  File \"worker.py\", line 3, in run",
        "\tat org.acme.Worker.run(Worker.java:42)", "   at Acme.Core.Run(String s)",
        "    at Object.<anonymous> (index.js:1:7)", "    at async main (lib/run.mjs:9:3)",
        "goroutine 17 [running]:", "main.go:12 +0x1d", "#0  0x00007f3a in poll () from libc",
        "#1  run (argc=1) at main.c:12", "thread 'main' panicked at src/main.rs:3"}) {
    CAPTURE(text);
    CHECK(find_leak(text) == "a stack trace");
  }
}

TEST_CASE("ARL-09: a line of a source file leaks as what it is, and not as a stack trace") {
  CHECK(find_leak("src/app/main.py line 3") == "a source file");
  CHECK(find_leak("main.py line 3") == "a stack trace");
  CHECK(find_leak("in src/app/main.php on line 3") == "a stack trace");
}

TEST_CASE("ARL-09: file paths leak, below a known root, with a drive, or on a share") {
  for (const char* text :
       {"cannot open /var/lib/agent/store.db", "(/home/build/x)", "see:/etc/hosts",
        "C:\\Users\\x\\y.txt", "d:/work/notes.md", "\\\\server\\share\\x", "file:///etc/hosts"}) {
    CAPTURE(text);
    CHECK(find_leak(text) == "a file path");
  }
}

TEST_CASE("ARL-09: environment lines leak when the name or the length tells a secret") {
  CHECK(find_leak("DB_PASSWORD=x") == "an environment variable");
  CHECK(find_leak("export GREETING=0123456789abcdef") == "an environment variable");
  CHECK(find_leak("MAX=10").empty());
  CHECK(find_leak("a = b + c, X=5").empty());
}

TEST_CASE("ARL-09: passwords of connection strings leak, talk about passwords does not") {
  CHECK(find_leak("host=db user=app password=x1") == "a password or key");
  CHECK(find_leak("Server=db;Database=x;Pwd=hunter2;") == "a password or key");
  CHECK(find_leak("api_key=abcdef") == "a password or key");
  CHECK(find_leak("x-api-key: abcdef12") == "a password or key");
  CHECK(find_leak("token=abcdef0123456789") == "a password or key");
  CHECK(find_leak("Your password = secret is weak; password: too short").empty());
}

TEST_CASE("ARL-09: keys and tokens of providers leak") {
  for (const char* text :
       {"sk-ant-api03-AbCdEf123", "sk-proj-abcdefgh1", "sk-0123456789abcdef",
        "gsk_0123456789abcdefg", "AIzaSyA0123456789abcdefghij", "xai-0123456789abcdefg",
        "ghp_0123456789abcdefg", "AKIA0123456789ABCDEF", "Authorization: Bearer 0123456789abcdefA",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "-----BEGIN RSA PRIVATE KEY-----",
        "ghp_abcdefghijklmnopqrstuvwxyzabcdefghij", "sk-1234567890",
        "sk\u200b-ant-api03-AbCdEf12"}) {
    CAPTURE(text);
    CHECK(find_leak(text) == "a key or token");
  }
}

TEST_CASE("ARL-09: a token or a password may be of any length") {
  const std::string header = "eyJ" + std::string(600, 'a');

  CHECK(find_leak(header + ".eyJzdWIiOiIxIn0.c2ln") == "a key or token");
  CHECK(!find_leak("https://user:" + std::string(600, 'p') + "@host.example").empty());
}

TEST_CASE("ARL-09: addresses leak with credentials, and always those of data sources") {
  for (const char* text :
       {"https://user:pass@host.example/x", "postgres://db.internal/prod",
        "redis://:secret@cache:6379", "https://0a1b2c3d4e5f6071@errors.example/1"}) {
    CAPTURE(text);
    CHECK(find_leak(text) == "an address with credentials or of a data source");
  }
}

TEST_CASE("ARL-09: prose, fractions, dates and web links pass") {
  for (const char* text : {"",
                           "Done 24/7, and/or later.",
                           "3/4 of it at 10:30",
                           "2025-10-27T10:00:00",
                           "https://example.com/home/page?x=1",
                           "see example.com/etc/passwd-policy",
                           "mail me at a@example.com",
                           "https://social.example/@someone",
                           "task-based risk-free sk-",
                           "at noon (tomorrow)",
                           "Look at the file (page 3)",
                           "bearer of good news",
                           "/help shows commands",
                           "Drive C:\\ is full",
                           "the a:/b ratio",
                           "git clone ssh://git@example.com/x",
                           "either/or",
                           "C: is a drive",
                           "Set A=1",
                           "#1 Standup (daily) at 10:30",
                           "at 9:30 (room 2:14)",
                           "https://example.com/?next=/home/x",
                           "https://example.com/#/home/x",
                           "AUTHOR=Jane",
                           "KEYBOARD=US",
                           "COMPASS=north",
                           "sk-learn-contrib-package-v2",
                           "xai-explainability-toolkit-v2",
                           "Section 4.c:2 applies",
                           "https://example.com/a.py:80",
                           "Go to /data/export",
                           "token=5 and the token: a word",
                           "npm_config_registry_setting_name_1"}) {
    CAPTURE(text);
    CHECK(find_leak(text).empty());
  }
}
