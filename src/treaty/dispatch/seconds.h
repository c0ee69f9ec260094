// Time as dispatch has it: seconds on a clock that never jumps.
#pragma once

namespace treaty::dispatch {

using Moment = double;
using Seconds = double;

}  // namespace treaty::dispatch
