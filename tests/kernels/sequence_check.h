#pragma once

// Runs a sequence of calls on an emulated communicator, and compares what every call left with what
// the reference says of its schedule.

#include "kernels/emulator/communicator.h"
#include "reference/run.h"
#include "tests/kernels/sequence.h"

namespace tally::test {

class SequenceCheck {
 public:
  /// Draws the inputs, and has the reference compute the outputs.
  SequenceCheck(Sequence sequence, kernels::emulator::Settings settings);

  /// What is wrong after a run in which `choices` decide who goes on, but for the delays; "" where
  /// nothing is.
  std::string violation(kernels::emulator::Choices& choices) const;
  /// The same of so many runs: a random walk, and then PCT of depths 1 to 5.
  std::string violation(int runs) const;

 private:
  struct Buffers;
  std::size_t bytes(const Step& step, std::int64_t elements) const;
  std::size_t input_bytes(const Step& step) const;
  std::size_t output_bytes(const Step& step) const;
  std::size_t row_bytes() const;  // of one rank's counts
  std::size_t room(std::size_t of_session) const;
  Buffers allocate(kernels::emulator::Memory& memory, std::size_t step) const;
  void add_counts(kernels::emulator::Memory& memory, std::size_t step, Buffers& buffers) const;
  void put(kernels::emulator::Communicator& gpus, std::size_t step, int rank, int stream,
           const Buffers& buffers) const;
  std::string first_difference(std::size_t step, const Buffers& buffers) const;

  using PerLaunch = std::vector<reference::RankBuffers>;
  Sequence sequence_;
  kernels::emulator::Settings settings_;
  std::vector<PerLaunch> inputs_, wanted_;       // [step][launch]
  std::vector<std::vector<std::int64_t>> sent_;  // [step][from * ranks + to]; of all_to_all_v
};

}  // namespace tally::test
