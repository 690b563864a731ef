#include "tests/kernels/run_helper.h"

#include <cstring>

#include "model/builders.h"
#include "model/check.h"
#include "tests/reference/rank_buffers.h"

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

/// A rank's input and output, of which one is in the other where it is in place.
std::pair<Buffer, Buffer> allocate(Memory& memory, int rank, const KernelRun& how,
                                   const KernelData& data) {
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * data.element_bytes;
  };
  const std::size_t in = bytes(model::input_elements(how.collective, how.ranks, how.count));
  const std::size_t out = bytes(model::output_elements(how.collective, how.ranks, how.count));
  const auto make = [&](const char* name, std::size_t size) {
    Buffer buffer = memory.allocate(rank, name, size, std::byte{}, how.misalignment);
    fill(buffer, data.stale);
    return buffer;
  };
  if (!how.in_place) return {make("input", in), make("output", out)};
  const Buffer both = make("input", std::max(in, out));
  std::byte* inner = both.first + bytes(model::in_place_offset(how.collective, rank, how.count));
  Buffer input = both, output = both;
  (in < out ? input : output).first = inner;
  input.bytes = in, output.bytes = out;
  return {input, output};
}

KernelOutcome run_kernel(const Launch& launch, const KernelRun& how, const KernelData& data) {
  const std::size_t bytes = data.inputs[0].size() * how.ranks;  // at least as large as either
  const std::size_t row = sizeof(std::int64_t) * how.ranks;
  Memory memory(how.ranks, 2 * Memory::room(bytes) + 2 * Memory::room(row) +
                               Session::room(how.geometry, data.scratch_bytes, data.packet_bytes));
  const Session session(memory, how.ranks, how.geometry, data.scratch_bytes, data.packet_bytes);
  std::vector<Buffer> inputs, outputs, received;
  Call call{how.count, {}, {}};
  for (int rank = 0; rank < how.ranks; ++rank) {
    const auto [input, output] = allocate(memory, rank, how, data);
    inputs.push_back(input);
    outputs.push_back(output);
    std::copy(data.inputs[rank].begin(), data.inputs[rank].end(), inputs[rank].first);
    fill(session.scratch[rank], data.stale);
    fill(session.flags[rank], how.first_epoch);
    fill(session.epochs[rank], how.first_epoch);
    fill_packets(session.packets[rank], data.stale, how.first_epoch);
    fill(session.packet_epochs[rank], how.first_epoch);
    call.inputs.push_back(inputs[rank].first);
    call.outputs.push_back(outputs[rank].first);
    if (how.send_counts.empty()) continue;
    const Buffer sent = memory.allocate(rank, "send counts", row, std::byte{});
    std::memcpy(sent.first, how.send_counts.data() + rank * how.ranks, row);
    received.push_back(memory.allocate(rank, "received counts", row, std::byte{0x5A}));
    call.send_counts.push_back(reinterpret_cast<const std::int64_t*>(sent.first));
    call.received_counts.push_back(reinterpret_cast<std::int64_t*>(received[rank].first));
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
    if (received.empty()) continue;
    auto& counts = outcome.received_counts.emplace_back(how.ranks);
    std::memcpy(counts.data(), received[rank].first, row);
  }
  return outcome;
}

KernelOutcome run_kernel(const KernelKey& key, const KernelRun& how,
                         const reference::RankBuffers& inputs) {
  const Launcher launcher = find_kernel(key);
  TALLY_CHECK(launcher != nullptr, "a test asks for a kernel that is not in the table");
  return run_kernel(
      launcher, how,
      {inputs, kernels::scratch_bytes(key.collective, key.arithmetic, how.ranks, how.count),
       kernels::packet_bytes(key.algorithm, key.arithmetic, how.ranks, how.count),
       static_cast<std::size_t>(key.arithmetic.element.bytes())});
}

bool meets_as_planned(const Trace& trace, const model::Schedule& schedule) {
  std::vector<model::Edge> edges = edges_of(trace);
  const int scratch = model::buffer_with(schedule, model::Role::scratch);
  if (schedule.buffers[scratch].bytes_per_word != model::kWordBytes) {
    for (model::Edge& edge : edges) edge.times = 1;
  }
  return edges == model::wait_edges(schedule);
}

std::vector<std::int64_t> planned_link_bytes(const model::Schedule& schedule) {
  std::vector<std::int64_t> all = model::link_bytes(schedule);
  if (schedule.collective != model::Collective::all_to_all_v) return all;
  const std::size_t counts = sizeof(std::int64_t) * schedule.lanes[0].size();
  for (int from = 0; from < schedule.ranks; ++from) {
    for (int to = 0; to < schedule.ranks; ++to) {
      if (from != to) all[from * schedule.ranks + to] += static_cast<std::int64_t>(counts);
    }
  }
  return all;
}

std::vector<std::int64_t> ragged_counts(int ranks, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> counts;
  Random random(seed);
  for (int pair = 0; pair < ranks * ranks; ++pair) {
    const auto some = static_cast<std::int64_t>(random.bits() >> 32) % (count + 1);
    const std::int64_t any[] = {0, count, some, some};
    counts.push_back(any[random.below(4)]);
  }
  return counts;
}

bool was_told_what_was_sent(const KernelOutcome& outcome, const KernelRun& how) {
  for (int to = 0; to < std::ssize(outcome.received_counts); ++to) {
    for (int from = 0; from < how.ranks; ++from) {
      const std::int64_t sent = how.send_counts[from * how.ranks + to];
      if (outcome.received_counts[to][from] != sent) return false;
    }
  }
  return true;
}

model::Schedule schedule_of(std::string_view algorithm, const model::Arithmetic& arithmetic,
                            const KernelRun& how) {
  const model::Builder* builder = model::find_builder(how.collective, algorithm);
  TALLY_CHECK(builder != nullptr, "a test asks for an algorithm that has no builder");
  return builder->build({how.ranks, how.count, how.geometry.blocks, how.in_place, arithmetic,
                         how.geometry.rounds, how.send_counts});
}

}  // namespace tally::test
