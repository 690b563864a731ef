#include "tests/kernels/assembly/scalar_flow.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <regex>

namespace tally::kernels::assembly::gfx942 {
namespace {

bool starts_with(const Instruction& i, std::string_view prefix) {
  return i.operation.rfind(prefix, 0) == 0;
}

/// The numbers of the registers s5, s[2:3] or v5, v[2:3] of an operand.
std::set<int> registers(char bank, const std::string& operand) {
  std::set<int> found;
  if (operand.size() < 2 || operand[0] != bank) return found;
  static const std::regex one(R"(^.(\d+)$)"), range(R"(^.\[(\d+):(\d+)\]$)");
  std::smatch match;
  if (std::regex_match(operand, match, one)) found.insert(std::stoi(match[1]));
  if (std::regex_match(operand, match, range)) {
    for (int r = std::stoi(match[1]); r <= std::stoi(match[2]); ++r) found.insert(r);
  }
  return found;
}

/// A lane of a vector register, where scalar registers are put when there are too few.
int slot(int vector, int lane) { return 1000 + 64 * vector + lane; }

void set(std::set<int>& constants, int r, bool is_constant) {
  if (is_constant) {
    constants.insert(r);
  } else {
    constants.erase(r);
  }
}

/// The state behind an instruction.
ScalarState after(ScalarState state, const Instruction& i) {
  const bool is_flag_or_packet = starts_with(i, "global_load") && contains(i.text, " sc0 sc1");
  if (is_flag_or_packet || i.operation == "buffer_inv") state.may_have_waited = true;
  if (i.operands.empty()) return state;
  std::set<int>& constants = state.constants;
  const auto any_is_constant = [&](std::size_t first_operand) {
    for (std::size_t k = first_operand; k < i.operands.size(); ++k) {
      for (const int r : registers('s', i.operands[k])) {
        if (constants.count(r) != 0) return true;
      }
    }
    return false;
  };
  if (starts_with(i, "v_writelane") || starts_with(i, "v_readlane")) {
    const bool writes = starts_with(i, "v_writelane");
    const auto vector = registers('v', i.operands.at(writes ? 0 : 1));
    const auto scalar = registers('s', i.operands.at(writes ? 1 : 0));
    if (vector.size() == 1 && scalar.size() == 1) {
      const int lane = slot(*vector.begin(), std::atoi(i.operands.at(2).c_str()));
      const int from = writes ? *scalar.begin() : lane, to = writes ? lane : *scalar.begin();
      set(constants, to, constants.count(from) != 0);
    }
    return state;
  }
  for (const int v : registers('v', i.operands[0])) {
    constants.erase(constants.lower_bound(slot(v, 0)), constants.lower_bound(slot(v + 1, 0)));
  }
  const bool computes = starts_with(i, "s_") && !starts_with(i, "s_load");
  const bool is_constant = computes && any_is_constant(1);
  for (const int r : registers('s', i.operands[0])) set(constants, r, is_constant);
  return state;
}

/// Adds what is known on one more path; whether that changed anything.
bool join(ScalarState& state, const ScalarState& other) {
  if (!state.is_reachable) {
    state = other;
    return true;
  }
  std::set<int> both;
  std::set_intersection(state.constants.begin(), state.constants.end(), other.constants.begin(),
                        other.constants.end(), std::inserter(both, both.end()));
  const bool waited = state.may_have_waited || other.may_have_waited;
  const bool changed = both != state.constants || waited != state.may_have_waited;
  state.constants = std::move(both);
  state.may_have_waited = waited;
  return changed;
}

}  // namespace

std::set<int> scalar_registers(const std::string& operand) { return registers('s', operand); }

std::vector<ScalarState> scalar_states(const Kernel& kernel, int preloaded) {
  const auto size = static_cast<int>(kernel.code.size());
  std::vector<ScalarState> states(size);
  if (size == 0) return states;
  std::map<std::string, int> labels;
  for (int i = 0; i < size; ++i) labels[kernel.code[i].label] = i;
  states[0].is_reachable = true;
  for (int r = 0; r < preloaded; ++r) states[0].constants.insert(r);
  std::vector<int> open = {0};  // where a run of instructions begins with a state that is new
  while (!open.empty()) {
    int i = open.back();
    open.pop_back();
    for (bool goes_on = true; goes_on;) {
      const Instruction& instruction = kernel.code[i];
      const ScalarState state = after(states[i], instruction);
      if (starts_with(instruction, "s_branch") || starts_with(instruction, "s_cbranch")) {
        const auto target = labels.find(instruction.operands.at(0));
        if (target != labels.end() && join(states[target->second], state)) {
          open.push_back(target->second);
        }
      }
      const bool falls_through =
          !starts_with(instruction, "s_branch") && instruction.operation != "s_endpgm";
      goes_on = falls_through && ++i < size && join(states[i], state);
    }
  }
  return states;
}

}  // namespace tally::kernels::assembly::gfx942
