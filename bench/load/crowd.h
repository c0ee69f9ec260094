// Clients on kept connections, driven by one thread: each asks, waits for its answer, asks again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

std::string post(std::string_view path, std::string_view body);

struct Load {
  int clients = 1;
  int requests = 1;  // Of all clients together.

  // The bytes of a request: the `number`th of `client`, both from 0.
  std::function<std::string(int client, int number)> request;

  // Called after every `mark` answers, when there is a mark.
  int mark = 0;
  std::function<void(int answered)> at_mark{};
};

struct Ran {
  double seconds = 0;
  int answered = 0;  // With 200.
  int failed = 0;
  std::string first_failure{};
  std::vector<double> microseconds{};  // From request to answer; sorted.

  double per_second() const { return seconds > 0 ? answered / seconds : 0; }
  double percentile(double share) const;
};

Ran run(std::uint16_t port, const Load& load);

// Connections that have asked for an event stream and got its beginning; closed with this object.
class IdleStreams {
 public:
  // `request(i)` for each. Answers how many have begun.
  IdleStreams(std::uint16_t port, int count, const std::function<std::string(int)>& request);
  ~IdleStreams();
  IdleStreams(const IdleStreams&) = delete;
  IdleStreams& operator=(const IdleStreams&) = delete;

  int begun() const { return begun_; }

 private:
  std::vector<int> descriptors_{};
  int begun_ = 0;
};

}  // namespace bench
