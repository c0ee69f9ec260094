#include "treaty/machines/run/tool_loop_state.h"

#include <algorithm>

#include "treaty/machines/journal/line_reading.h"

namespace treaty::machines {

Object object_of(const ToolLoopState& loop) {
  return {{"chain", loop.chain},
          {"turns", loop.turns},
          {"tool_calls_count", loop.tool_calls},
          {"loop_cost", loop.cost},
          {"calls", loop.calls},
          {"waits", loop.waits},
          {"seconds", loop.seconds},
          {"pending", loop.pending},
          {"next", static_cast<std::int64_t>(loop.next)},
          {"skipped", loop.skipped},
          {"result", loop.result}};
}

ToolLoopState read_tool_loop_state(const Object& kept) {
  ToolLoopState loop;
  loop.chain = lines::list(kept, "chain");
  loop.turns = lines::whole(kept, "turns");
  loop.tool_calls = lines::whole(kept, "tool_calls_count");
  loop.cost = lines::number(kept, "loop_cost");
  loop.calls = lines::whole(kept, "calls");
  loop.waits = lines::whole(kept, "waits");
  loop.seconds = lines::number(kept, "seconds");
  loop.pending = lines::list(kept, "pending");
  loop.next = static_cast<std::size_t>(std::max<std::int64_t>(lines::whole(kept, "next"), 0));
  loop.skipped = lines::list(kept, "skipped");
  loop.result = lines::object(kept, "result");
  return loop;
}

}  // namespace treaty::machines
