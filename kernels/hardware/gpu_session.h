#pragma once

// A communicator's memory on GPUs, and launching on it. Ranks are shared out among devices: all may
// be virtual ranks on one GPU, or each have a GPU of its own, in one process or in several, or
// anything between.
//
//   shared[share]   of each rank of a share: scratch | flags | counts | packets     what peers reach
//   own[share]      epochs | packet epochs | stuck                         [rank of the share] each
//
// There is one allocation of each kind for a share, so that a process hands out one handle for it.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/hardware/exchange.h"
#include "kernels/hardware/gpu_runtime.h"
#include "model/result.h"

namespace tally::kernels::hardware {

/// The ranks that one device plays: [first_rank, first_rank + ranks).
struct Share {
  int device = 0, first_rank = 0, ranks = 1;
};

/// `ranks` shared out among `devices` devices of one process: evenly, in order, the first ones
/// having one more where they must. Devices that would have none are left out.
std::vector<Share> share_out(int ranks, int devices);

/// Why a device cannot launch a kernel on the share's ranks; nothing where it can.
std::optional<std::string> cannot_launch(const GpuRuntime& runtime, const Share& share,
                                         const KernelName& kernel, int blocks, int threads);

/// What the largest call needs of each rank, and the largest launch.
struct SessionOptions {
  std::size_t scratch_bytes = 0, packet_bytes = 0;
  int max_blocks = 1, max_threads = kMaxThreads;  // of each rank, of each block
};

/// A collective call, as the ranks of one share launch it.
struct GroupCall {
  KernelName kernel;
  int blocks = 1, threads = 1;
  std::int64_t count = 0;
  float factor = 1;                 // of premul_sum
  std::span<const RankCall> ranks;  // of the share, in order
  int rounds = 1;                   // that flat algorithms work in
};

/// A wait that gave up.
struct Lost {
  int rank = 0, block = 0, peer = 0;
  /// rank 3, block 0, gave up waiting for rank 5
  std::string text() const;
};

class GpuSession {
 public:
  /// All processes call this together, each with its own shares of the ranks; between them they
  /// have all. An error of one (no memory, a peer that cannot be reached) is an error of all.
  static model::Result<std::unique_ptr<GpuSession>> create(GpuRuntime& runtime, Exchange& exchange,
                                                           std::vector<Share> shares,
                                                           const SessionOptions& options);
  /// All processes do this together, when what they launched has ended.
  ~GpuSession();
  GpuSession(const GpuSession&) = delete;
  GpuSession& operator=(const GpuSession&) = delete;

  int ranks() const { return ranks_; }
  const std::vector<Share>& shares() const { return shares_; }
  const SessionOptions& options() const { return options_; }

  /// Why the call cannot be launched on the share, or does not fit; nothing where it can.
  std::optional<std::string> cannot_launch(int share, const GroupCall& call) const;
  /// Puts the share's ranks of a call into a stream of its device, which is made the thread's. The
  /// calls of a share are launched in the same order in all processes, and follow each other, in
  /// one stream or by events. cannot_launch() has nothing against it, and nobody is lost.
  void launch(int share, Stream stream, const GroupCall& call);

  /// The first wait, of a rank of this process, that gave up, if any did in what has ended. From
  /// then on the session is broken: results are worthless, and it launches no more.
  std::optional<Lost> lost();
  bool is_broken() const { return is_broken_; }

 private:
  /// The memory behind a share, its device's view of all ranks, and a stream to set up both.
  struct Memory {
    void *shared = nullptr, *own = nullptr;
    Peers peers{};
    std::vector<void*> imported;
    Stream stream = nullptr;
    std::uint32_t calls = 0;
  };
  struct Layout;

  GpuSession(GpuRuntime& runtime, Exchange& exchange, std::vector<Share> shares,
             const SessionOptions& options);
  std::optional<model::Error> set_up();
  std::optional<model::Error> agree(const std::string& error);
  std::optional<model::Error> share_all_out();
  std::string allocate();
  std::string map_peers();
  std::string map_own(Memory& memory);
  std::string map_imported(Memory& memory, std::size_t process,
                           const std::vector<MemoryHandle>& handles);
  void set_peers(Peers& peers, const Share& share, void* shared) const;

  GpuRuntime& runtime_;
  Exchange& exchange_;
  const std::vector<Share> shares_;
  const SessionOptions options_;
  std::vector<Memory> memory_;                  // [share]
  std::vector<std::vector<Share>> of_process_;  // the shares of all
  std::size_t process_ = 0;                     // this one
  int ranks_ = 0;
  bool is_broken_ = false;
  bool is_reachable_ = false;  // peers may have mapped the memory
};

}  // namespace tally::kernels::hardware
