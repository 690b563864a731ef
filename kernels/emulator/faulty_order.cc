#include "kernels/emulator/faulty_hosts.h"
#include "kernels/planted_packets.h"

namespace tally::kernels::emulator {
namespace {

template <class Plan>
void add_everywhere(KernelList& list, std::string_view fault) {
  add_plan_in<Flat, Plan>(list, fault);
  add_plan_in<Tree, Plan>(list, fault);
  add_plan_in<Ring, Plan>(list, fault);
}

}  // namespace

void add_faulty_order(KernelList& list) {
  add_everywhere<MeetOn<RelaxedFlags>>(list, "relaxed_flags");
  add_everywhere<MeetOn<NoRelease>>(list, "no_release");
  add_everywhere<MeetOn<NoAcquire>>(list, "no_acquire");
  add_everywhere<MeetOn<AgentScopeFlags>>(list, "agent_scope_flags");
  add_everywhere<MeetOn<PlainPoll>>(list, "plain_poll");
  add_everywhere<MeetOn<PlainFlagStore>>(list, "plain_flag_store");
  add_everywhere<MeetOn<SignalBeforeFence>>(list, "signal_before_fence");
  add_everywhere<MeetOn<StartWithoutRelease>>(list, "start_without_release");
  add_everywhere<MeetOn<LeaderSignalsEarly>>(list, "leader_signals_early");
  add_everywhere<MeetOn<SingleCounter>>(list, "single_counter");
  add_everywhere<MeetOn<FlagsModuloThree>>(list, "flags_modulo_three");
  add_everywhere<MeetOn<FlagInGraph>>(list, "flag_in_graph");
  add_everywhere<EpochsReset>(list, "epochs_reset");
  add_everywhere<NoExitBarrier>(list, "no_exit_barrier");
  add_plan_in<Tree, TailOfAnotherBlock>(list, "tail_of_another_block");
  add_plan_in<GateOnLocalAlignment<Flat>, FaithfulPlan>(list, "gate_on_local_alignment");
  add_plan_in<GateOnLocalAlignment<Tree>, FaithfulPlan>(list, "gate_on_local_alignment");
  add_plan_in<RunOn<FlatLl, LlSplitPacket>, FaithfulPlan>(list, "ll_split_packet");
  add_plan_in<RunOn<FlatLl, LlFlagWrap>, FaithfulPlan>(list, "ll_flag_wrap");
  add_plan_in<FlatLl, LlOneBuffer>(list, "ll_one_buffer");
}

}  // namespace tally::kernels::emulator
