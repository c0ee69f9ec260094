// The parts of a final AgentExecuteResponse that have rules of their own: files and usage.
#pragma once

#include "treaty/base/json_write.h"
#include "treaty/contracts/agent_execute_response.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {

// RES-40, RES-41.
FileRef inspect_file_ref(Inspection& inspection, const Place& place);
void write(json::Writer& writer, const FileRef& file, Dialect dialect);

// RES-50.
Usage inspect_usage(Inspection& inspection, const Place& place);
void write(json::Writer& writer, const Usage& usage, Dialect dialect);

}  // namespace treaty::contracts
