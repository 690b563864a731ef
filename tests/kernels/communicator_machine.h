#pragma once

// Two virtual GPUs for tests of what a communicator orders, and what programs of a few lines show
// on them.

#include <algorithm>
#include <set>
#include <string>

#include "kernels/emulator/communicator.h"
#include "kernels/emulator/emulated_gpu.h"

namespace tally::test {

/// Two virtual GPUs with two streams each, and three buffers of numbers.
struct Machine {
  static constexpr int kCount = 16;  // numbers in a buffer
  static constexpr std::size_t kBytes = sizeof(float) * kCount;
  static constexpr kernels::emulator::Geometry kGeometry{2, 2, 64};
  using Buffers = std::vector<float*>;  // [rank]
  using Graphs = std::vector<kernels::emulator::Communicator::Graph>;

  explicit Machine(std::uint64_t seed = 1)
      : memory(2, kernels::emulator::Session::room(kGeometry, kBytes) +
                      3 * kernels::emulator::Memory::room(kBytes)),
        session(memory, 2, kGeometry, kBytes),
        choices(seed),
        emulator(memory, 2, choices, settings(seed)),
        gpus(emulator, session),
        second{gpus.add_stream(0), gpus.add_stream(1)} {
    for (Buffers* buffers : {&x, &y, &z}) {
      for (int rank = 0; rank < 2; ++rank) {
        const auto& one = memory.allocate(rank, "numbers", kBytes, std::byte{0});
        buffers->push_back(reinterpret_cast<float*>(one.first));
      }
    }
  }
  /// Strong memory, or caches that the end of a kernel empties more or less.
  static kernels::emulator::Settings settings(std::uint64_t seed) {
    kernels::emulator::Settings how{.finds_races = true};
    if (seed % 2 == 1) how.memory = kernels::emulator::MemoryKind::gfx942;
    how.gfx942.kernel_end_reaches_peers = !has_lazy_runtime(seed);
    return how;
  }
  static bool has_lazy_runtime(std::uint64_t seed) { return seed % 4 == 3; }

  static void fill(const Buffers& buffers, float value) {
    for (float* first : buffers) std::fill_n(first, kCount, value);
  }
  /// Whether all numbers of all ranks are that.
  static bool all_are(const Buffers& buffers, float value) {
    return std::all_of(buffers.begin(), buffers.end(), [value](const float* first) {
      return std::count(first, first + kCount, value) == kCount;
    });
  }

  int stream(int which, int rank) const { return which == 0 ? rank : second[rank]; }
  static kernels::emulator::Call call(const Buffers& from, const Buffers& to) {
    return {kCount, {from[0], from[1]}, {to[0], to[1]}};
  }
  static kernels::emulator::KernelKey flat_sum() {
    using model::Accumulate, model::Format, model::Op;
    return {"flat", {Format::f32, model::kNoWire, Op::sum, Accumulate::element}, ""};
  }
  /// On the first or the second stream of both ranks.
  void all_reduce(int which, const kernels::emulator::Call& call) {
    for (int rank = 0; rank < 2; ++rank) gpus.collective(stream(which, rank), flat_sum(), call);
  }
  /// The graph of each rank's call, captured from its first stream.
  Graphs capture(const kernels::emulator::Call& call) {
    Graphs graphs;
    for (int rank = 0; rank < 2; ++rank) {
      gpus.begin_capture(rank);
      gpus.collective(rank, flat_sum(), call);
      graphs.push_back(gpus.end_capture(rank));
    }
    return graphs;
  }
  void replay(int which, const Graphs& graphs) {
    for (int rank = 0; rank < 2; ++rank) gpus.replay(stream(which, rank), graphs[rank]);
  }
  void synchronize() {
    const kernels::emulator::Trace trace = gpus.synchronize();
    if (!trace.hang.empty()) shown += " hang";
    if (!trace.races.empty()) shown += " race";
    if (!trace.stale_reads.empty()) shown += " stale";
  }

  kernels::emulator::Memory memory;
  kernels::emulator::Session session;
  kernels::emulator::RandomWalk choices;
  kernels::emulator::Emulator emulator;
  kernels::emulator::Communicator gpus;
  int second[2];
  Buffers x, y, z;
  std::string shown;  // by kernels, and what was wrong
};

inline kernels::emulator::Kernel storing(float* to, float value, int block = 0) {
  return [=](kernels::emulator::EmulatedGpu& gpu) {
    if (gpu.block() == block && gpu.thread() == 0) gpu.store(to, value);
  };
}

/// Appends the number to what the machine has shown.
inline kernels::emulator::Kernel showing(Machine& m, const float* from) {
  return [&m, from](kernels::emulator::EmulatedGpu& gpu) {
    if (gpu.block() + gpu.thread() != 0) return;
    m.shown += std::to_string(static_cast<int>(gpu.load(from)));
  };
}

using Strings = std::set<std::string>;

/// What the program shows under 60 seeds, or those of them without a lazy runtime.
template <class Program>
Strings shown(Program program, bool with_lazy_runtimes = true) {
  Strings all;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    if (!with_lazy_runtimes && Machine::has_lazy_runtime(seed)) continue;
    Machine m(seed);
    program(m);
    m.synchronize();
    all.insert(m.shown);
  }
  return all;
}

}  // namespace tally::test
