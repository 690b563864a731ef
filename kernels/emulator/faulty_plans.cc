#include "kernels/emulator/faulty_hosts.h"
#include "kernels/planted.h"

namespace tally::kernels::emulator {
namespace {

using model::Accumulate;
using model::Format;
using model::Op;

using F32 = Element<Format::f32>;

/// A faulty plan that the ring does not ask.
template <class Plan>
void add_plan(KernelList& list, std::string_view fault) {
  add_plan_in<Flat, Plan>(list, fault);
  add_plan_in<Tree, Plan>(list, fault);
}

/// A faulty plan in one kernel with blocks.
template <class Algorithm, class Plan>
void add_to_blocks(KernelList& list, std::string_view fault) {
  using Codec = BlockCodec<ScaledBlocks<Format::e4m3fn>>;
  list.add<Algorithm, Recipe<F32, Sum, AccumulateF32, Codec, Plan>>(
      {Format::f32, model::block_wire(Format::e4m3fn, 32, Format::f32, model::ScaleRule::amax),
       Op::sum, Accumulate::f32},
      fault);
}

/// A faulty plan that does something to the ring too.
template <class Plan>
void add_plan_everywhere(KernelList& list, std::string_view fault) {
  add_plan<Plan>(list, fault);
  add_plan_in<Ring, Plan>(list, fault);
}

}  // namespace

void add_faulty_plans(KernelList& list) {
  add_plan_everywhere<TailDropped>(list, "tail_dropped");
  add_plan<StaleScratch>(list, "stale_scratch");
  add_plan<RankLost>(list, "rank_lost");
  add_plan<RankDoubled>(list, "rank_doubled");
  add_plan<OtherOrder>(list, "other_order");
  add_plan_everywhere<MissingBarrier>(list, "missing_barrier");
  add_plan_in<FlatLl, MissingBarrier>(list, "missing_barrier");
  add_plan_everywhere<OutputNotWritten>(list, "output_not_written");
  add_plan_everywhere<WritePastEnd>(list, "write_past_end");
  add_plan_everywhere<InputModified>(list, "input_modified");
  add_to_blocks<Flat, OtherRanksScale>(list, "other_ranks_scale");
  add_to_blocks<Tree, OtherRanksScale>(list, "other_ranks_scale");
  add_to_blocks<Tree, OwnerKeepsUnquantised>(list, "owner_keeps_unquantised");
  add_plan_with_wire<Tree, OwnerKeepsUnquantised>(list, "owner_keeps_unquantised");
}

}  // namespace tally::kernels::emulator
