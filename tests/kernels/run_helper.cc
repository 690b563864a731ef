#include "tests/kernels/run_helper.h"

#include <cstring>

#include "model/builders.h"
#include "model/check.h"

namespace tally::test {
namespace {

using namespace kernels::emulator;

void fill(const Buffer& buffer, std::uint32_t word) {
  for (std::size_t i = 0; i < buffer.bytes; ++i) {
    buffer.first[i] = static_cast<std::byte>(word >> (8 * (i % 4)));
  }
}

void fill_packets(const Buffer& buffer, std::uint32_t data, std::uint32_t flag) {
  const std::uint64_t packet = static_cast<std::uint64_t>(flag) << 32 | data;
  for (std::size_t i = 0; i < buffer.bytes; i += sizeof packet) {
    std::memcpy(buffer.first + i, &packet, sizeof packet);
  }
}

/// Every edge between different ranks, as often as it occurs.
std::vector<model::Edge> edges_of(const Trace& trace) {
  std::vector<model::Edge> edges;
  for (const auto& [edge, times] : trace.edges) {
    if (edge.from_rank == edge.to_rank) continue;
    edges.push_back({edge.from_rank, edge.from_block, edge.to_rank, edge.to_block, times});
  }
  return edges;
}

std::vector<std::byte> bytes_of(const Buffer& buffer) {
  return {buffer.first, buffer.first + buffer.bytes};
}

std::vector<std::uint32_t> numbers_in(const Buffer& buffer) {
  std::vector<std::uint32_t> numbers(buffer.bytes / sizeof(std::uint32_t));
  std::memcpy(numbers.data(), buffer.first, buffer.bytes);
  return numbers;
}

}  // namespace

std::string KernelOutcome::misbehaviour() const {
  if (!trace.hang.empty()) return "hang: " + trace.hang[0];
  if (!trace.out_of_bounds.empty()) return "bounds: " + trace.out_of_bounds[0];
  if (!broken_guards.empty()) return "guard: " + broken_guards[0];
  for (const kernels::Stuck& one : stuck) {
    if (one.happened != 0) return "stuck";
  }
  return "";
}

KernelOutcome run_kernel(const Launch& launch, const KernelRun& how, const KernelData& data) {
  const std::size_t bytes = data.inputs[0].size();
  Memory memory(how.ranks, 2 * Memory::room(bytes) +
                               Session::room(how.geometry, data.scratch_bytes, data.packet_bytes));
  const Session session(memory, how.ranks, how.geometry, data.scratch_bytes, data.packet_bytes);
  std::vector<Buffer> inputs, outputs;
  Call call{how.count, {}, {}};
  for (int rank = 0; rank < how.ranks; ++rank) {
    inputs.push_back(memory.allocate(rank, "input", bytes, std::byte{}, how.misalignment));
    std::copy(data.inputs[rank].begin(), data.inputs[rank].end(), inputs[rank].first);
    outputs.push_back(how.in_place
                          ? inputs[rank]
                          : memory.allocate(rank, "output", bytes, std::byte{}, how.misalignment));
    if (!how.in_place) fill(outputs[rank], data.stale);
    fill(session.scratch[rank], data.stale);
    fill(session.flags[rank], how.first_epoch);
    fill(session.epochs[rank], how.first_epoch);
    fill_packets(session.packets[rank], data.stale, how.first_epoch);
    fill(session.packet_epochs[rank], how.first_epoch);
    call.inputs.push_back(inputs[rank].first);
    call.outputs.push_back(outputs[rank].first);
  }

  RandomWalk walk(how.seed, RandomWalk::Grain::coarse);
  Pct leaders(how.seed, 3, 1000);
  Choices& choices = how.has_leaders ? static_cast<Choices&>(leaders) : walk;
  Emulator emulator(memory, how.ranks, choices);
  for (int i = 0; i < how.calls; ++i) launch(emulator, session, call);
  KernelOutcome outcome;
  outcome.trace = emulator.run();
  outcome.broken_guards = memory.broken_guards();
  for (int rank = 0; rank < how.ranks; ++rank) {
    outcome.outputs.push_back(bytes_of(outputs[rank]));
    outcome.inputs.push_back(bytes_of(inputs[rank]));
    outcome.epochs.push_back(numbers_in(session.epochs[rank]));
    outcome.packet_epochs.push_back(numbers_in(session.packet_epochs[rank]));
    std::memcpy(&outcome.stuck.emplace_back(), session.stuck[rank].first, sizeof(kernels::Stuck));
  }
  return outcome;
}

KernelOutcome run_kernel(const KernelKey& key, const KernelRun& how,
                         const reference::RankBuffers& inputs) {
  const Launcher launcher = find_kernel(key);
  TALLY_CHECK(launcher != nullptr, "a test asks for a kernel that is not in the table");
  return run_kernel(launcher, how,
                    {inputs, scratch_bytes(key.arithmetic, how.count),
                     packet_bytes(key.algorithm, key.arithmetic, how.ranks, how.count)});
}

bool meets_as_planned(const Trace& trace, const model::Schedule& schedule) {
  std::vector<model::Edge> edges = edges_of(trace);
  const int scratch = model::buffer_with(schedule, model::Role::scratch);
  if (schedule.buffers[scratch].bytes_per_word != model::kWordBytes) {
    for (model::Edge& edge : edges) edge.times = 1;
  }
  return edges == model::wait_edges(schedule);
}

model::Schedule schedule_of(std::string_view algorithm, const model::Arithmetic& arithmetic,
                            const KernelRun& how) {
  const model::Builder* builder = model::find_builder(model::Collective::all_reduce, algorithm);
  TALLY_CHECK(builder != nullptr, "a test asks for an algorithm that has no builder");
  return builder->build({how.ranks, how.count, how.geometry.blocks, how.in_place, arithmetic});
}

}  // namespace tally::test
