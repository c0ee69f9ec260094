// What the disk does without us: the floor under everything durable; and many turns at once.
#pragma once

#include <string>

namespace bench {

// One durable commit of SQLite (WAL, synchronous=FULL) with a row of 1 KB: the median, in µs. 0
// when the folder cannot be written to.
double commit_microseconds(const std::string& folder);

// Copies everything in a journal `times` times under new names, while nobody uses it: a large store
// in seconds. Answers how many turns there are then; 0 on failure.
long multiply_journal(const std::string& database, int times);

}  // namespace bench
