#include "kernels/emulator/litmus_kernels.h"

#include <algorithm>

#include "kernels/emulator/emulated_gpu.h"

namespace tally::kernels::emulator {
namespace {

/// Two GPUs for one run.
class Bench {
 public:
  Bench(Choices& choices, const Settings& settings)
      : memory_(2, std::size_t{1} << 16), emulator_(memory_, 2, choices, settings) {}

  /// `n` values of a rank, every byte of them `fill`.
  template <class T>
  T* allocate(int rank, const char* name, int n, std::byte fill = {}) {
    return reinterpret_cast<T*>(memory_.allocate(rank, name, n * sizeof(T), fill).first);
  }
  /// Behind what the rank was given before.
  void launch(int rank, int threads, Kernel kernel) {
    emulator_.launch(rank, {1, threads, 64}, std::move(kernel));
  }
  /// What the ranks were given before precedes, on both, what they are given later.
  void meet() {
    const int events[] = {emulator_.record(0), emulator_.record(1)};
    for (const int rank : {0, 1}) {
      for (const int event : events) emulator_.wait(rank, event);
    }
  }

  /// Runs all. `output` should hold 1, 2, ..., n.
  template <class T>
  LitmusOutcome run(const T* output, int n) {
    LitmusOutcome outcome;
    outcome.trace = emulator_.run();
    for (const Race& race : outcome.trace.races) {
      outcome.races.push_back(describe(race, memory_));
    }
    for (const StaleRead& stale : outcome.trace.stale_reads) {
      outcome.races.push_back(describe(stale.read) + " sees something old");
    }
    for (int i = n; i-- > 0;) {
      if (output[i] == static_cast<T>(i + 1)) continue;
      outcome.wrong = "value " + std::to_string(i) + " is " + std::to_string(output[i]);
    }
    return outcome;
  }

 private:
  Memory memory_;
  Emulator emulator_;
};

/// Holds at the first look: a wait for it is a load.
struct Any {
  std::uint64_t target = 0;
  bool operator()(std::uint64_t) const { return true; }
};
struct Equal {
  std::uint64_t target;
  bool operator()(std::uint64_t value) const { return value == target; }
};

/// A line of 128 bytes: 8 threads store 16 bytes each, of which the last 8 are the flag. It was
/// thought to arrive whole, so that who sees the flag sees the rest. Right is a release before it.
LitmusOutcome ll128(Form form, Choices& choices, const Settings& settings) {
  constexpr int kThreads = 8, kFlag = 2 * kThreads - 1;
  Bench bench(choices, settings);
  auto* line = bench.allocate<std::uint64_t>(1, "line", kFlag + 1);
  auto* output = bench.allocate<std::uint64_t>(1, "output", kFlag);
  bench.launch(0, kThreads, [=](EmulatedGpu& gpu) {
    for (const int i : {2 * gpu.thread(), 2 * gpu.thread() + 1}) {
      if (i != kFlag) gpu.store_packet(line + i, i + 1, Relaxed{}, System{});
    }
    if (form == Form::healthy) gpu.fence(Release{}, System{});
    gpu.block_barrier();  // a wave's stores are issued together: the flag's is none too early
    if (gpu.thread() != kThreads - 1) return;
    if (form == Form::healthy) return gpu.store_packet(line + kFlag, 1, Release{}, System{});
    gpu.store_packet(line + kFlag, 1, Relaxed{}, System{});
  });
  bench.launch(1, kThreads, [=](EmulatedGpu& gpu) {
    std::uint64_t seen;
    if (gpu.thread() == kThreads - 1) {
      gpu.wait_packet(line + kFlag, Equal{1}, seen, Acquire{}, System{});
    }
    gpu.block_barrier();
    for (const int i : {2 * gpu.thread(), 2 * gpu.thread() + 1}) {
      if (i == kFlag) continue;
      gpu.wait_packet(line + i, Any{}, seen, Relaxed{}, System{});
      gpu.store(output + i, seen);
    }
  });
  return bench.run(output, kFlag);
}

/// Messages through a few slots. Wrong is not to wait until the receiver has emptied one.
LitmusOutcome fifo_depth(Form form, Choices& choices, const Settings& settings) {
  constexpr std::uint32_t kSlots = 2, kMessages = 5;
  Bench bench(choices, settings);
  auto* slots = bench.allocate<std::uint32_t>(1, "slots", kSlots);
  auto* tail = bench.allocate<std::uint32_t>(1, "tail", 1);
  auto* head = bench.allocate<std::uint32_t>(0, "head", 1);
  auto* output = bench.allocate<std::uint32_t>(1, "output", kMessages);
  bench.launch(0, 1, [=](EmulatedGpu& gpu) {
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      if (form == Form::healthy) gpu.wait(head, Reached{i + 1 - kSlots}, Acquire{}, System{});
      gpu.store(slots + i % kSlots, i + 1);
      gpu.store_flag(tail, i + 1, Release{}, System{});
    }
  });
  bench.launch(1, 1, [=](EmulatedGpu& gpu) {
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      gpu.wait(tail, Reached{i + 1}, Acquire{}, System{});
      gpu.store(output + i, gpu.load(slots + i % kSlots));
      gpu.store_flag(head, i + 1, Release{}, System{});
    }
  });
  return bench.run(output, kMessages);
}

/// A chunk is moved in as many slices as there are threads, which do not divide it. Wrong is to
/// leave the remainder to nobody.
LitmusOutcome fifo_slices(Form form, Choices& choices, const Settings& settings) {
  constexpr int kThreads = 3, kChunk = 16;
  const int slice = form == Form::healthy ? (kChunk + kThreads - 1) / kThreads : kChunk / kThreads;
  Bench bench(choices, settings);
  auto* input = bench.allocate<std::uint32_t>(0, "input", kChunk);
  auto* slot = bench.allocate<std::uint32_t>(1, "slot", kChunk);
  auto* tail = bench.allocate<std::uint32_t>(1, "tail", 1);
  auto* output = bench.allocate<std::uint32_t>(1, "output", kChunk);
  for (int i = 0; i < kChunk; ++i) input[i] = static_cast<std::uint32_t>(i + 1);
  const auto copy_slice = [=](EmulatedGpu& gpu, std::uint32_t* to, const std::uint32_t* from) {
    const int begin = slice * gpu.thread(), end = std::min(begin + slice, kChunk);
    for (int i = begin; i < end; ++i) gpu.store(to + i, gpu.load(from + i));
  };
  bench.launch(0, kThreads, [=](EmulatedGpu& gpu) {
    copy_slice(gpu, slot, input);
    gpu.fence(Release{}, System{});
    gpu.block_barrier();
    if (gpu.thread() == 0) gpu.store_flag(tail, 1, Release{}, System{});
  });
  bench.launch(1, kThreads, [=](EmulatedGpu& gpu) {
    if (gpu.thread() == 0) gpu.wait(tail, Reached{1}, Acquire{}, System{});
    gpu.block_barrier();
    copy_slice(gpu, output, slot);
  });
  return bench.run(output, kChunk);
}

/// Each rank sets its flag to zero, and then they meet. Wrong is to let a peer know the flag's
/// address before it is zero.
LitmusOutcome init_order(Form form, Choices& choices, const Settings& settings) {
  Bench bench(choices, settings);
  std::uint32_t* flags[2];
  for (const int rank : {0, 1}) {
    flags[rank] = bench.allocate<std::uint32_t>(rank, "flag", 1, std::byte{0xFF});
    bench.launch(rank, 1, [flag = flags[rank]](EmulatedGpu& gpu) {
      gpu.store_flag(flag, 0, Release{}, System{});
    });
  }
  if (form == Form::healthy) bench.meet();
  for (const int rank : {0, 1}) {
    bench.launch(rank, 1, [own = flags[rank], peers = flags[1 - rank]](EmulatedGpu& gpu) {
      gpu.store_flag(peers, 1, Release{}, System{});
      gpu.wait(own, Reached{1}, Acquire{}, System{});
    });
  }
  return bench.run(flags[0], 1);
}

constexpr LitmusKernel kLitmusKernels[] = {
    {{"ll128", "order", "a line of 128 bytes with its flag is thought to arrive whole",
      "NVIDIA/nccl#2053"},
     ll128},
    {{"fifo_depth", "flags", "a sender does not wait until the receiver has emptied the slot",
      "microsoft/msccl#38"},
     fifo_depth},
    {{"fifo_slices", "movement",
      "the slices of a chunk that the threads do not divide leave a rest", "NVIDIA/nccl#698"},
     fifo_slices},
    {{"init_order", "flags", "a flag is set to zero when a peer may have signalled already",
      "apache/tvm#16797"},
     init_order},
};

}  // namespace

std::span<const LitmusKernel> litmus_kernels() { return kLitmusKernels; }

}  // namespace tally::kernels::emulator
