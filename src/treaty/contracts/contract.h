// The seven documents by name: what `treaty check` and every other door calls.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "treaty/contracts/decoded.h"

namespace treaty::contracts {

enum class Contract {
  request,
  response,
  invoke_result,
  agent_result,
  bridge_request,
  bridge_response,
  assistant
};

constexpr std::array<Contract, 7> kContracts = {Contract::request,        Contract::response,
                                                Contract::invoke_result,  Contract::agent_result,
                                                Contract::bridge_request, Contract::bridge_response,
                                                Contract::assistant};

std::string_view name_of(Contract contract);   // "invoke-result".
std::string_view title_of(Contract contract);  // "InvokeResult".
std::optional<Contract> contract_named(std::string_view name);

// The contract that the document's members tell; nothing when they tell none.
std::optional<Contract> detect_contract(std::string_view bytes,
                                        std::size_t max_size = DecodeOptions().max_size);

// The same decoder that the C++ types come from, without its value.
Verdict check(Contract contract, std::string_view bytes, const DecodeOptions& options = {});

// The same by the contract that the members tell. When they tell none, the verdict is that of the
// rules for JSON, which every contract shares.
struct DetectedVerdict {
  std::optional<Contract> contract{};
  Verdict verdict{};
};
DetectedVerdict check_detected(std::string_view bytes, const DecodeOptions& options = {});

// What to say of a document that is JSON and tells no contract.
inline constexpr std::string_view kUnknownContract =
    "its members tell no contract; name one instead of auto";

}  // namespace treaty::contracts
