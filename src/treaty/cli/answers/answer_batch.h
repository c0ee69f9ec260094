// Commands that read answers, one or many: the loop over lines, and what is told of a bad one.
#pragma once

#include <functional>
#include <string>

#include "treaty/cli/answers/answer_input.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli {

// Reads the file that the arguments name (standard input by default), as one answer or, with
// --ndjson, as one a line, and gives each to `each`. A line that cannot be read is told on stderr
// and answered with null, so that lines in and lines out stay side by side.
int for_each_answer(const std::string& command, const Arguments& arguments,
                    const std::function<void(const AnswerInput&)>& each);

}  // namespace treaty::cli
