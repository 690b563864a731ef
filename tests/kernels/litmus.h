#pragma once

// Litmus tests: a few threads, each a list of accesses to named variables, run on a MemoryModel
// without kernels and fibres. Choices decide who goes on and what the memory does.

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/emulator/gfx942_memory.h"

namespace tally::kernels::emulator::litmus {

/// Up to 16 bytes. A store writes its number into each of the variable's 4-byte words.
using Value = std::array<std::uint32_t, 4>;

struct Variable {
  int owner = 0;
  Allocation allocation = Allocation::device;
  std::uint32_t bytes = 4;
  bool is_beside = false;  // behind the variable before it, in the same line; else in its own line
};

struct Operation {
  enum class What : std::uint8_t {
    load,
    store,
    add,
    fence,
    barrier,
    issue,
    bind,
    go_on_if,
    wait,
    expect
  };
  What what;
  int variable = 0, reg = 0;
  std::uint32_t value = 0;
  Order order = Order::plain;
  Scope scope = Scope::system;
};

Operation load(int reg, int variable, Order = Order::plain, Scope = Scope::system);
Operation store(int variable, std::uint32_t value, Order = Order::plain, Scope = Scope::system);
/// Adds 1; the register gets what was there.
Operation add(int reg, int variable, Order, Scope = Scope::system);
Operation fence(Order, Scope = Scope::system);
/// Of all threads of the block.
Operation barrier();
/// A load in flight, and when its value is needed.
Operation issue(int reg, int variable, Order = Order::plain, Scope = Scope::system);
Operation bind(int reg, int variable);
/// The thread ends here unless the register has that value.
Operation go_on_if(int reg, std::uint32_t value);
/// Loads until the variable has at least that value.
Operation wait(int variable, std::uint32_t value, Order, Scope = Scope::system);
/// A plain load that should give that value.
Operation expect(int variable, std::uint32_t value);

struct Thread {
  int rank = 0, block = 0;
  std::vector<Operation> operations = {};
  int wave = 0;    // of its block
  int launch = 0;  // launch n begins when n - 1 has ended and the host has waited for it
};

struct Program {
  std::vector<Variable> variables;
  std::vector<Thread> threads;
};

struct Outcome {
  std::array<Value, 16> registers{};
  std::vector<Value> memory;  // of the variables, at the end
  bool hung = false;          // some thread waits for ever
  // Where races are looked for: accesses that nothing orders, and reads that are ordered behind a
  // write that they did not see.
  bool raced = false, stale = false;
  bool surprised = false;  // some expectation was not met

  std::uint32_t r(int reg) const { return registers[reg][0]; }
  std::uint32_t m(int variable) const { return memory[variable][0]; }
};

class Laboratory {
 public:
  enum class Races : std::uint8_t { ignored, found };
  Laboratory(const Program& program, const Gfx942& machine);
  ~Laboratory();
  /// One run from the beginning. All caches are warm: every thread has read every variable.
  Outcome run(Choices& choices, Races races = Races::ignored);

 private:
  class Run;
  std::byte* address(int variable) const { return addresses_[variable]; }

  const Program program_;
  const Gfx942 machine_;
  std::unique_ptr<Memory> memory_;
  std::vector<std::byte*> addresses_;
  std::vector<Place> places_;
};

/// What a search found of an outcome.
struct Found {
  bool outcome = false, race = false;
  std::int64_t runs = 0;
  bool is_exhaustive = false;
};
/// All runs where there are at most `most_runs`, else so many, and 20,000 random ones. It ends
/// early when the outcome is found.
Found search(const Program& program, const Gfx942& machine,
             const std::function<bool(const Outcome&)>& outcome, std::int64_t most_runs);
/// Whether the language calls the program racy: some runs of each kind, with happens-before.
bool is_racy(const Program& program, const Gfx942& machine);

}  // namespace tally::kernels::emulator::litmus
