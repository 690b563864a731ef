#include "kernels/emulator/faulty_hosts.h"
#include "kernels/planted.h"
#include "kernels/planted_blocks.h"

namespace tally::kernels::emulator {
namespace {

template <class Plan>
void add_everywhere(KernelList& list, std::string_view fault) {
  add_plan_in<ReduceScatterFlat, Plan>(list, fault);
  add_plan_in<AllGatherFlat, Plan>(list, fault);
  add_plan_in<AllToAllFlat, Plan>(list, fault);
  add_plan_in<AllToAllVFlat, Plan>(list, fault);
}

}  // namespace

void add_faulty_blocks(KernelList& list) {
  add_everywhere<MissingBarrier>(list, "missing_barrier");
  add_everywhere<NoExitBarrier>(list, "no_exit_barrier");
  add_everywhere<MeetOn<RelaxedFlags>>(list, "relaxed_flags");
  add_everywhere<MeetOn<StartWithoutRelease>>(list, "start_without_release");
  add_plan_in<ReduceScatterFlat, ReduceScatterMisplaced>(list, "reduce_scatter_misplaced");
  add_plan_in<ReduceScatterFlat, RankLost>(list, "rank_lost");
  add_plan_in<ReduceScatterFlat, OtherOrder>(list, "other_order");
  add_plan_with_wire<AllGatherFlat, OwnBlockUnquantised>(list, "own_block_unquantised");
  add_plan_in<AllToAllFlat, BlockOfPeer>(list, "block_of_peer");
  add_plan_in<AllToAllVFlat, UncheckedCounts>(list, "unchecked_counts");
  add_plan_in<RunOn<AllToAllVFlat, CountsOfSender>, FaithfulPlan>(list, "counts_of_sender");
  add_plan_in<RunOn<AllToAllVFlat, ReceivedCountLost>, FaithfulPlan>(list, "received_count_lost");
}

}  // namespace tally::kernels::emulator
