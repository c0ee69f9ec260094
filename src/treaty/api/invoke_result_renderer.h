// Answers as InvokeResults (AGN-033 §2.1): the format of POST /v1/agent/execute, of streams, and of
// every refusal of the API. Pure.
#pragma once

#include "treaty/contracts/invoke_result.h"
#include "treaty/turns/renderer.h"

namespace treaty::api {

const turns::Renderer& invoke_result_renderer();

// The bytes, checked once more against the contract before they leave. An answer that breaks it is
// withheld: an `internal` error takes its place.
turns::Rendered write_checked(const contracts::InvokeResult& result, contracts::Dialect dialect);

}  // namespace treaty::api
