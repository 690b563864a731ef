#pragma once

// Runs kernels on virtual GPUs: every thread of every block of every rank is a fibre, and a seeded
// scheduler decides who goes on. The same seed gives the same run.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/emulator/memory.h"
#include "kernels/gpu.h"

namespace tally::kernels::emulator {

class EmulatedGpu;

/// One launch: `blocks` of `threads`. `wave` is the GPU's wave size, 32 or 64.
struct Geometry {
  int blocks = 2, threads = 64, wave = 64;
};

/// A kernel with its arguments bound; called once by every thread.
using Kernel = std::function<void(EmulatedGpu&)>;

/// Who a thread is.
struct ThreadId {
  int rank = 0, block = 0, thread = 0;
};

/// A completed wait: which thread's store it saw.
struct Edge {
  int from_rank, from_block, to_rank, to_block;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

/// What a run was, beside the bytes it left in memory.
struct Trace {
  /// Bytes that plain accesses moved over each directed link, [from * ranks + to].
  std::vector<std::int64_t> link_bytes;
  /// Completed waits, with how often.
  std::map<Edge, int> edges;
  /// Accesses outside every buffer, as sentences; at most the first ten.
  std::vector<std::string> out_of_bounds;
  /// Who waited for what when nothing could go on; empty when all kernels finished.
  std::vector<std::string> hang;
};

class Emulator {
 public:
  Emulator(Memory& memory, int ranks, std::uint64_t seed);
  ~Emulator();

  /// Appends a launch to the stream of `rank`. Launches of one stream run one after another; the
  /// streams run side by side.
  void launch(int rank, const Geometry& geometry, Kernel kernel);

  /// Runs until all streams are empty, and says what happened since the last run. On a hang every
  /// wait gives up, as it does on hardware after its time limit, and the kernels run to their ends.
  Trace run();

 private:
  friend class EmulatedGpu;
  struct Thread;
  struct Block;
  struct Stream;
  /// The last store to a flag.
  struct Writer {
    ThreadId id;
  };

  void start_next_launch(int rank);
  void run_one();
  void thread_finished(Thread& thread);
  void break_hang();
  std::string why_it_waits(const Thread& thread) const;
  void make_runnable(Thread& thread);

  // What EmulatedGpu asks for.
  void read(Thread& thread, const void* address, void* value, std::size_t bytes);
  void write(Thread& thread, void* address, const void* value, std::size_t bytes);
  bool in_bounds(const Thread& thread, const void* address, std::size_t bytes, const char* verb);
  void block_barrier(Thread& thread);
  std::uint32_t shuffle(Thread& thread, std::uint32_t value, int source, int width);
  void store_flag(Thread& thread, std::uint32_t* flag, std::uint32_t value);
  bool wait(Thread& thread, const std::uint32_t* flag, std::uint32_t target,
            const std::function<bool(std::uint32_t)>& predicate);
  std::uint64_t random();

  Memory& memory_;
  int ranks_;
  std::uint64_t random_state_;
  std::vector<Stream> streams_;
  std::vector<Thread*> runnable_;
  std::map<const void*, std::vector<Thread*>> waiters_;
  std::map<const void*, Writer> writers_;
  bool hung_ = false;
  Trace trace_;
};

}  // namespace tally::kernels::emulator
