// Answers that lie where no program looks for them: under a name that is nearly right, or in the
// directory where some agent happened to stand.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/bridge/exchange.h"

namespace treaty::bridge {

struct StrayAnswer {
  std::string path{};
  std::string request_id{};  // Of the request that waits for it.
  bool operator==(const StrayAnswer&) const = default;
};

// True for names that somebody may have given to an answer: `agent-response.json`,
// `.agent_response.json`, `.agent-response.json.txt`.
bool is_like_an_answer(std::string_view file_name);

// The request_id of a text that is written as an answer; empty when it is none.
std::string answered_id(std::string_view text);

// Looks for the answers that the exchanges wait for: in the directory, in those above it, in those
// right below it, and where the process stands.
std::vector<StrayAnswer> find_stray_answers(const std::string& directory,
                                            std::span<const Exchange> exchanges);

// Requests right above, right below and where the process stands, for a directory in which nothing
// is asked.
std::vector<std::string> find_stray_requests(const std::string& directory);

}  // namespace treaty::bridge
