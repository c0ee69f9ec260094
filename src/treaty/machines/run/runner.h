// Runs machines durably: leases, and where an execution goes on after a crash (machines.md
// section 9).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "treaty/machines/journal/history.h"
#include "treaty/machines/run/world.h"

namespace treaty::machines {

// A new execution; `lost` when there is one of that name already, or somebody else has it.
boost::asio::awaitable<Outcome> run_machine(World world, std::shared_ptr<const Machine> machine,
                                            Start start);

// The same, or on with the one of that name.
boost::asio::awaitable<Outcome> run_or_resume(World world, std::shared_ptr<const Machine> machine,
                                              Start start);

// Makes a machine of the text that an execution began with. The error is for people.
using ReadMachine = std::function<std::expected<std::shared_ptr<const Machine>, std::string>(
    const std::string& text, const std::string& directory)>;

// An Error when it is not known, or cannot be read any more.
boost::asio::awaitable<std::expected<Outcome, Error>> resume_execution(
    World world, std::string execution, ReadMachine read,
    std::optional<std::int64_t> max_steps = {});

}  // namespace treaty::machines
