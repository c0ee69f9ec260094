#include "treaty/base/timestamp.h"

#include <doctest/doctest.h>

using namespace treaty;

TEST_CASE("RFC 3339 takes a date, a time and a zone") {
  for (const char* text : {"2025-11-24T14:22:45Z", "2025-11-24t14:22:45z",
                           "2024-02-29T23:59:60.123456+02:00", "2025-01-01T00:00:00-00:00"}) {
    CAPTURE(text);
    CHECK(timestamp_form(text) == TimestampForm::rfc3339);
  }
}

TEST_CASE("ISO 8601 has forms that RFC 3339 does not") {
  for (const char* text : {"2025-11-24T14:22Z", "2025-11-24T14:22:45,5Z", "2025-11-24T14:22:45+02",
                           "2025-11-24T14:22:45+0200"}) {
    CAPTURE(text);
    CHECK(timestamp_form(text) == TimestampForm::iso8601);
  }
}

TEST_CASE("a time without a zone is naive") {
  CHECK(timestamp_form("2025-11-24T14:22:45.5") == TimestampForm::naive);
}

TEST_CASE("what is not in the calendar or not a time is none") {
  for (const char* text :
       {"", "yesterday", "2025-11-24", "2025-02-30T00:00:00Z", "2025-11-24T25:00:00Z",
        "2025-11-24T14:60:00Z", "2025-11-24 14:22:45Z", "2025-11-24T14:22:45.Z",
        "2025-11-24T14:22:45+24:00", "2025-11-24T14:22:45Zx", "25-11-24T14:22:45Z"}) {
    CAPTURE(text);
    CHECK(timestamp_form(text) == TimestampForm::none);
  }
}

TEST_CASE("the time now is RFC 3339") {
  CHECK(timestamp_form(timestamp_now()) == TimestampForm::rfc3339);
}
