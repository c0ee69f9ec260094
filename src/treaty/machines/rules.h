// The rules of machine files: what `treaty machine check` can refuse or warn by, with an example
// for each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/rules.h"

namespace treaty::machines {

inline constexpr contracts::Rule kRules[] = {
    {"MCH-01", "machine", contracts::Effect::refuses,
     "A machine file is YAML or JSON of at most 10 MiB, a mapping, and no key stands in a mapping "
     "twice.",
     "Machines §1"},
    {"MCH-02", "machine", contracts::Effect::refuses, "spec is flatmachine.", "Machines §1"},
    {"MCH-03", "machine", contracts::Effect::refuses,
     "spec_version is 4.x; that it is missing is a warning.", "Machines §1"},
    {"MCH-04", "machine", contracts::Effect::refuses,
     "Every key is known where it stands; settings are open, and in persistence an unknown key is "
     "a "
     "warning.",
     "Machines §1"},
    {"MCH-05", "machine", contracts::Effect::refuses,
     "data is there, and every value has its type and is in its range.", "Machines §1"},
    {"MCH-06", "machine", contracts::Effect::refuses, "A machine has at least one state.",
     "Machines §1"},
    {"MCH-07", "machine", contracts::Effect::refuses, "At most one state is of type initial.",
     "Machines §1"},
    {"MCH-08", "machine", contracts::Effect::refuses,
     "Transitions, on_error and the arguments of the rate-limit policy name states of the machine.",
     "Machines §1"},
    {"MCH-09", "machine", contracts::Effect::warns,
     "Every state can be reached from the initial one by transitions, on_error or the rate-limit "
     "policy.",
     "Machines §1"},
    {"MCH-10", "machine", contracts::Effect::warns, "A state that is not final has transitions.",
     "Machines §1"},
    {"MCH-11", "machine", contracts::Effect::warns, "A machine has a final state.", "Machines §1"},
    {"MCH-12", "machine", contracts::Effect::warns,
     "No transition stands after one without a condition.", "Machines §1"},
    {"MCH-13", "machine", contracts::Effect::refuses,
     "A condition can be parsed and names context, input, output and result alone.",
     "Machines §1, §3"},
    {"MCH-14", "machine", contracts::Effect::refuses,
     "A template can be parsed and uses variables, constructs and filters that are there.",
     "Machines §1, §2"},
    {"MCH-15", "machine", contracts::Effect::refuses, "The agent of a state is one of data.agents.",
     "Machines §1"},
    {"MCH-16", "machine", contracts::Effect::refuses,
     "What a state runs or launches is one of data.machines.", "Machines §1"},
    {"MCH-17", "machine", contracts::Effect::warns,
     "Every key of a state has an effect: execution, tool_loop and sampling stand beside agent; as "
     "and key beside foreach; mode beside machine; launch_input beside launch; output in a final "
     "state; agent, machine, action and launch not beside wait_for.",
     "Machines §1"},
    {"MCH-18", "machine", contracts::Effect::refuses,
     "foreach stands beside one machine, and tool_loop not beside parallel or mdap_voting.",
     "Machines §1"},
    {"MCH-19", "machine", contracts::Effect::refuses,
     "A hook is built in (logging, metrics, webhook, command, rate-limit) or registered.",
     "Machines §1, §8"},
    {"MCH-20", "machine", contracts::Effect::refuses,
     "No machine stands twice in the list of a state.", "Machines §1, §6"},
    {"MCH-21", "machine", contracts::Effect::refuses, "The expression engine is not cel.",
     "Machines §1"},
    {"MCH-22", "machine", contracts::Effect::warns, "A final state has no transitions.",
     "Machines §1"},
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
