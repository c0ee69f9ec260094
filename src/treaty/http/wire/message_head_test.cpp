#include "treaty/http/wire/message_head.h"

#include <doctest/doctest.h>

#include <string>

using namespace treaty::http;

namespace {

std::string_view request_fault(const std::string& head) {
  return find_head_fault(head, HeadKind::request);
}

std::string_view response_fault(const std::string& head) {
  return find_head_fault(head, HeadKind::response);
}

// A GET of HTTP/1.1 with these field lines.
std::string_view fault_with(const std::string& lines) {
  return request_fault("GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n");
}

}  // namespace

TEST_CASE("heads in order have no fault") {
  CHECK(request_fault("GET / HTTP/1.1\r\nHost: a\r\n\r\n") == "");
  CHECK(request_fault("POST /v1/x?y=%20 HTTP/1.1\r\nhost:[::1]:80\r\nContent-Length: 12\r\n\r\n") ==
        "");
  CHECK(request_fault("GET / HTTP/1.0\r\n\r\n") == "");
  CHECK(fault_with("Transfer-Encoding: Chunked\r\nX-Empty:\r\nX-Text: a\tb \xC3\xA9\r\n") == "");
  CHECK(response_fault("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") == "");
  CHECK(response_fault("HTTP/1.0 404 \r\n\r\n") == "");
}

TEST_CASE("S10: a head with two readings of its length is refused") {
  CHECK(fault_with("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n") ==
        "Content-Length and Transfer-Encoding come together");
  CHECK(fault_with("Content-Length: 1\r\nContent-Length: 1\r\n") == "Content-Length comes twice");
  for (const std::string value :
       {"1, 1", "1,1", "+1", "-1", "0x1", "", "1 1", "1a", "9999999999999999999", "\t"}) {
    CAPTURE(value);
    CHECK(fault_with("Content-Length: " + value + "\r\n") == "Content-Length is not one number");
  }
  for (const std::string value :
       {"gzip", "gzip, chunked", "chunked, chunked", "identity", "", "xchunked", "chunked;q=1"}) {
    CAPTURE(value);
    CHECK(fault_with("Transfer-Encoding: " + value + "\r\n") == "the transfer coding is not known");
  }
  CHECK(fault_with("Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n") ==
        "Transfer-Encoding comes twice");
  CHECK(request_fault("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n") ==
        "HTTP/1.0 knows no Transfer-Encoding");
}

TEST_CASE("S10: a header field has a name, a colon right after it, and one line") {
  CHECK(fault_with("A: b\r\n c\r\n") == "a header field is folded");
  CHECK(fault_with("A: b\r\n\tc\r\n") == "a header field is folded");
  CHECK(fault_with("A : b\r\n") == "white space stands before a colon");
  CHECK(fault_with("A\t: b\r\n") == "white space stands before a colon");
  CHECK(fault_with(": b\r\n") == "a header field has no name");
  CHECK(fault_with("A\r\n") == "a header field has no colon");
  CHECK(fault_with("A b: c\r\n") == "the name of a header field is not a token");
  CHECK(fault_with("A\x01: c\r\n") == "the name of a header field is not a token");
}

TEST_CASE("S10: line ends are CRLF, and neither zero bytes nor halves of a line end pass") {
  const std::string_view fault = "a line holds a zero byte, or half a line end";
  CHECK(fault_with("A: b\n") == fault);
  CHECK(fault_with("A: b\rc\r\n") == fault);
  CHECK(fault_with("A: b\r\r\n") == fault);
  CHECK(fault_with(std::string("A: b\0c\r\n", 8)) == fault);
  CHECK(request_fault("GET / HTTP/1.1\nHost: a\r\n\r\n") == fault);
  CHECK(fault_with("A: b\x0B\r\n") == "a control character is in a header field");
  CHECK(fault_with("A: b\x7F\r\n") == "a control character is in a header field");
}

TEST_CASE("S10: HTTP/1.1 has exactly one Host, and it looks like one") {
  CHECK(request_fault("GET / HTTP/1.1\r\n\r\n") == "Host is missing");
  CHECK(fault_with("Host: a\r\n") == "Host comes twice");
  CHECK(request_fault("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n") ==
        "Host is not a host, or has a bad port");
  CHECK(request_fault("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n") ==
        "Host is not a host, or has a bad port");
}

TEST_CASE("S10: the request line has three parts and a version that is known") {
  const std::string rest = "\r\nHost: a\r\n\r\n";
  CHECK(request_fault("GET /" + rest) == "the request line is not whole");
  CHECK(request_fault("GET" + rest) == "the request line is not whole");
  CHECK(request_fault(" / HTTP/1.1" + rest) == "the method is not a token");
  CHECK(request_fault("G{T / HTTP/1.1" + rest) == "the method is not a token");
  for (const std::string line :
       {"GET  / HTTP/1.1", "GET /a b HTTP/1.1", "GET /\x01 HTTP/1.1", "GET  HTTP/1.1"}) {
    CAPTURE(line);
    CHECK(request_fault(std::string(line).append(rest)) ==
          "the request target holds a space or a control character");
  }
  for (const std::string version :
       {"HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "http/1.1", "HTTP/1.1x", "HTTP/11", ""}) {
    CAPTURE(version);
    CHECK(request_fault(std::string("GET / ").append(version).append(rest)) ==
          "the version is neither HTTP/1.1 nor HTTP/1.0");
  }
}

TEST_CASE("a status line has a version, three digits and perhaps a reason") {
  for (const std::string line : {"HTTP/2 200 OK", "SSH-2.0-x", "", "HTTP/1.1"}) {
    CAPTURE(line);
    CHECK(!response_fault(line + "\r\n\r\n").empty());
  }
  for (const std::string status : {"20", "200", "2000", "abc", "099", "20x OK"}) {
    CAPTURE(status);
    CHECK(response_fault("HTTP/1.1 " + status + "\r\n\r\n") == "it has no status");
  }
  CHECK(!response_fault("HTTP/1.1 200 a\x01\r\n\r\n").empty());
}

TEST_CASE("the end of a head is found wherever the search is taken up again") {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n\r\nbody";
  for (std::size_t from = 0; from < bytes.size() - 4; ++from) {
    CHECK(find_head_end(bytes, from) == bytes.size() - 4);
  }
  CHECK(find_head_end("GET / HTTP/1.1\r\n\r") == std::string_view::npos);
  CHECK(!has_bare_line_feed(bytes));
  CHECK(has_bare_line_feed("GET / HTTP/1.1\n\n"));
  CHECK(has_bare_line_feed("\n"));
}
