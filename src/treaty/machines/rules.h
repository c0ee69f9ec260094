// The rules of machine files: what `treaty machine check` can refuse or warn by, with an example
// for each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/rules.h"

namespace treaty::machines {

inline constexpr contracts::Rule kRules[] = {
    {"MCH-01", "Machines §1",
     "A machine file is YAML or JSON of at most 10 MiB, a mapping, and no key stands in a mapping "
     "twice."},
    {"MCH-02", "Machines §1", "spec is flatmachine."},
    {"MCH-03", "Machines §1", "spec_version is 4.x; that it is missing is a warning."},
    {"MCH-04", "Machines §1",
     "Every key is known where it stands; settings are open, and in persistence an unknown key is "
     "a warning."},
    {"MCH-05", "Machines §1", "data is there, and every value has its type and is in its range."},
    {"MCH-06", "Machines §1", "A machine has at least one state."},
    {"MCH-07", "Machines §1", "At most one state is of type initial."},
    {"MCH-08", "Machines §1",
     "Transitions, on_error and the arguments of the rate-limit policy name states of the "
     "machine."},
    {"MCH-09", "Machines §1",
     "Every state can be reached from the initial one by transitions, on_error or the rate-limit "
     "policy.",
     contracts::Effect::warns},
    {"MCH-10", "Machines §1", "A state that is not final has transitions.",
     contracts::Effect::warns},
    {"MCH-11", "Machines §1", "A machine has a final state.", contracts::Effect::warns},
    {"MCH-12", "Machines §1", "No transition stands after one without a condition.",
     contracts::Effect::warns},
    {"MCH-13", "Machines §1, §3",
     "A condition can be parsed and names context, input, output and result alone."},
    {"MCH-14", "Machines §1, §2",
     "A template can be parsed and uses variables, constructs and filters that are there."},
    {"MCH-15", "Machines §1", "The agent of a state is one of data.agents."},
    {"MCH-16", "Machines §1", "What a state runs or launches is one of data.machines."},
    {"MCH-17", "Machines §1",
     "Every key of a state has an effect: execution, tool_loop and sampling stand beside agent; "
     "as and key beside foreach; mode beside machine; launch_input beside launch; output in a "
     "final state; agent, machine, action and launch not beside wait_for.",
     contracts::Effect::warns},
    {"MCH-18", "Machines §1",
     "foreach stands beside one machine, and tool_loop not beside parallel or mdap_voting."},
    {"MCH-19", "Machines §1, §8",
     "A hook is built in (logging, metrics, webhook, command, rate-limit) or registered."},
    {"MCH-20", "Machines §1, §6", "No machine stands twice in the list of a state."},
    {"MCH-21", "Machines §1", "The expression engine is not cel."},
    {"MCH-22", "Machines §1", "A final state has no transitions.", contracts::Effect::warns},
};

// A file that passes and one that does not, each on one line.
struct MachineRuleExample {
  std::string_view rule;
  std::string passes;
  std::string fails;
};

// In the order of the rules.
std::vector<MachineRuleExample> rule_examples();

}  // namespace treaty::machines
