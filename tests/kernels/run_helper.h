#pragma once

// One kernel on virtual GPUs, with everything around it: buffers, session, launch, and what is
// left afterwards.

#include <functional>
#include <string>
#include <vector>

#include "kernels/emulator/kernel_table.h"
#include "model/schedule.h"
#include "reference/run.h"

namespace tally::test {

/// How a kernel is run.
struct KernelRun {
  int ranks = 2;
  std::int64_t count = 0;
  kernels::emulator::Geometry geometry{1, 4, 64};
  bool in_place = false;
  std::size_t misalignment = 0;   // of inputs and outputs, in bytes
  std::uint64_t seed = 1;         // of the scheduler
  bool has_leaders = false;       // some threads go on as long as they can, others fall far behind
  std::uint32_t first_epoch = 0;  // in epochs and flags of every rank, those of packets too
  int calls = 1;                  // the same call, several times in a row
  model::Collective collective = model::Collective::all_reduce;
  std::vector<std::int64_t> send_counts = {};  // of all_to_all_v, [from * ranks + to]
};

/// What is in the buffers before.
struct KernelData {
  reference::RankBuffers inputs;
  std::size_t scratch_bytes = 0, packet_bytes = 0, element_bytes = 0;
  std::uint32_t stale = 0x7F7F'7F7F;  // fills scratch, packets' data and outputs
};

/// What is in them afterwards.
struct KernelOutcome {
  reference::RankBuffers outputs, inputs;
  std::vector<std::vector<std::int64_t>> received_counts;  // [rank][from]; of all_to_all_v
  kernels::emulator::Trace trace;
  std::vector<std::string> broken_guards;
  std::vector<std::vector<std::uint32_t>> epochs;         // [rank][block]
  std::vector<std::vector<std::uint32_t>> packet_epochs;  // [rank][block]
  std::vector<kernels::Stuck> stuck;                      // [rank]

  /// What no correct kernel does, whatever it computes; "" where it did not.
  std::string misbehaviour() const;
};

using Launch = std::function<void(kernels::emulator::Emulator&, const kernels::emulator::Session&,
                                  const kernels::emulator::Call&)>;

KernelOutcome run_kernel(const Launch&, const KernelRun&, const KernelData&);

/// A kernel of the table, which must be there, on elements of its type.
KernelOutcome run_kernel(const kernels::emulator::KernelKey&, const KernelRun&,
                         const reference::RankBuffers& inputs);

/// Whether lanes, which are blocks, waited for each other as the schedule says. Where there are
/// packets each one is waited for, the own ones too, and the schedule has one wait for all that
/// come from a lane: then it is compared who waited for whom, not how often.
bool meets_as_planned(const kernels::emulator::Trace&, const model::Schedule&);

/// The schedule's bytes on each link, and of all_to_all_v those of the counts beside: each lane
/// tells each peer one, which is no element of the schedule's.
std::vector<std::int64_t> planned_link_bytes(const model::Schedule&);

/// None, all, and some of `count` elements for each pair of ranks, [from * ranks + to].
std::vector<std::int64_t> ragged_counts(int ranks, std::int64_t count, std::uint64_t seed);

/// Whether each rank was told what the others sent it; of another collective nothing is told.
bool was_told_what_was_sent(const KernelOutcome&, const KernelRun&);

/// The schedule that the kernel is an implementation of.
model::Schedule schedule_of(std::string_view algorithm, const model::Arithmetic&, const KernelRun&);

}  // namespace tally::test
