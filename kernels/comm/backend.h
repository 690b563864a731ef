#pragma once

// What a communicator needs of the place where its kernels run, for one rank.

#include <memory>
#include <string>

#include "kernels/comm/work.h"
#include "kernels/launch.h"
#include "model/collective.h"

namespace tally::comm {

/// How a call is launched; 0 is what the backend launches otherwise. The bits do not depend on it.
/// On GPUs only: in the emulator all calls of a communicator are launched alike.
struct Grid {
  int blocks = 0, threads = 0;  // of each rank
  int rounds = 0;               // that flat algorithms work in
};

/// A call as the backend carries it out. All but `buffers` has to be the same on all ranks.
struct Issue {
  model::Collective collective = model::Collective::all_reduce;
  std::string algorithm;
  model::Arithmetic arithmetic;
  std::int64_t count = 0;  // the collective's own; of all_to_all_v the bound
  Grid grid{};
  kernels::RankCall buffers{};

  /// "all_reduce of 128 f32, sum, flat": all that ranks have to agree on.
  std::string text() const;
};

/// Whether a call fits the memory that was allocated when the communicator was made.
struct Capacity {
  /// Of the larger of a rank's input and output.
  std::int64_t message_bytes = 0;
  /// Of a call of flat_ll, whose packets take 4 times its bytes on every rank for every rank.
  std::int64_t low_latency_bytes = 0;

  /// Bytes of scratch and of packets that suffice for every call within these.
  std::size_t scratch_bytes(int ranks) const;
  std::size_t packet_bytes(int ranks) const;
};

class Backend {
 public:
  /// Leaves; all that was issued has ended or is given up.
  virtual ~Backend() = default;

  /// Asynchronous. The calls of a rank are carried out in their order. An error is one of all
  /// later calls too, where failure() says so.
  virtual model::Result<std::shared_ptr<Work>> issue(const Issue& issue) = 0;
  /// Why nothing can be issued any more.
  virtual std::optional<model::Error> failure() = 0;
  /// Memory for a barrier: one f32 that collectives can reach.
  virtual void* barrier_memory() = 0;
};

}  // namespace tally::comm
