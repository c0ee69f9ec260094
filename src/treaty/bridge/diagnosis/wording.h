// What the parts of the diagnosis share: commands, times and the list that they add to.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/bridge/diagnosis/diagnosis.h"
#include "treaty/bridge/run_state.h"

namespace treaty::bridge {

// "treaty bridge VERB", with --dir unless the directory is where one stands, and what else there
// is to say.
Words bridge_command(const DirectoryView& view, std::string_view verb, const Words& more = {});

// The same as it is given in the directory `from`, where the files that it names are.
std::vector<Words> given_from(const std::string& from, const DirectoryView& view,
                              std::string_view verb, const Words& more);

// "treaty bridge run -- PROGRAM…", for a program that the journal knows, with the options that were
// given and from where it was given.
std::vector<Words> run_again(const DirectoryView& view, const RunState& run);

// "treaty bridge answer…", with the options that the request was asked with before.
std::vector<Words> answer_again(const DirectoryView& view, std::string_view request_id,
                                Words words);

// "12 s", "3 min", "2 h", "5 d".
std::string duration_text(double seconds);

// In the general words of the problem, unless there are better ones.
void add(std::vector<Diagnosis>& found, Problem problem, std::string what = {},
         std::vector<Words> mend = {}, std::string why = {});

// What has to change before an agent can answer, by the type of its error.
std::string_view cure_of(std::string_view error_type);

void diagnose_exchanges(const DirectoryView& view, std::vector<Diagnosis>& found);

}  // namespace treaty::bridge
