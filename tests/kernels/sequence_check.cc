#include "tests/kernels/sequence_check.h"

#include <algorithm>
#include <cstring>

#include "model/builders.h"
#include "model/check.h"
#include "tests/kernels/run_helper.h"
#include "tests/reference/rank_buffers.h"

namespace tally::test {
namespace {

using namespace kernels::emulator;

constexpr std::byte kStale{0x7F};

/// Somebody else's choices, but for the blocks that a sequence delays. Each thread counts its
/// launches by its loads of an epoch, with which all begin but the empty ones of flat_ll; those of
/// a rank run in the order of the calls.
class Delaying : public Choices {
 public:
  Delaying(Choices& choices, const Sequence& sequence, const Session& session)
      : choices_(choices), session_(session) {
    for (const Step& step : sequence.steps) {
      if (step.kernel.algorithm == "flat_ll" && step.count == 0) continue;
      for (int i = 0; i < step.launches(); ++i) delays_.push_back(step.delay);
    }
  }

 private:
  int choose_thread(const Candidates& candidates, int) override {
    int slot = choices_.thread(candidates);
    for (int left = candidates.runnable.size(); left > 0; --left) {
      if (!is_late(candidates.upcoming[slot])) break;
      slot = candidates.runnable.after(slot);
    }
    const Upcoming& next = candidates.upcoming[slot];
    if (begins(next)) ++begun(next.place.id);
    return slot;
  }
  int choose_memory(int ways, MemoryChoice kind) override { return choices_.memory(ways, kind); }

  bool begins(const Upcoming& next) const {
    if (next.access == nullptr || next.access->kind != AccessKind::load) return false;
    const auto is_in = [&](const Buffer& buffer) {
      const auto* at = static_cast<const std::byte*>(next.access->address);
      return at >= buffer.first && at < buffer.first + buffer.bytes;
    };
    const int rank = next.place.id.rank;
    return is_in(session_.epochs[rank]) || is_in(session_.packet_epochs[rank]);
  }
  bool is_late(const Upcoming& next) {
    const std::size_t launch = begun(next.place.id) - (begins(next) ? 0 : 1);
    if (launch >= delays_.size() || !delays_[launch]) return false;
    const Delay& delay = *delays_[launch];
    return next.place.id.rank == delay.rank && next.place.id.block == delay.block;
  }
  std::size_t& begun(const ThreadId& id) { return begun_[{id.rank, id.block, id.thread}]; }

  Choices& choices_;
  const Session& session_;
  std::vector<std::optional<Delay>> delays_;                // [launch]
  std::map<std::tuple<int, int, int>, std::size_t> begun_;  // launches
};

void fill(const Buffer& buffer, const std::vector<std::byte>& bytes) {
  std::copy(bytes.begin(), bytes.end(), buffer.first);
}

reference::RankBuffers bytes_of(const std::vector<Buffer>& buffers) {
  reference::RankBuffers all;
  for (const Buffer& one : buffers) all.emplace_back(one.first, one.first + one.bytes);
  return all;
}

std::string what_happened(const Trace& trace, const Memory& memory) {
  if (!trace.hang.empty()) return "hang: " + trace.hang[0];
  if (!trace.out_of_bounds.empty()) return "bounds: " + trace.out_of_bounds[0];
  if (!trace.races.empty()) return describe(trace.races[0], memory);
  if (!trace.stale_reads.empty()) return "stale read: " + describe(trace.stale_reads[0].read);
  const std::vector<std::string> broken = memory.broken_guards();
  return broken.empty() ? "" : "guard: " + broken[0];
}

}  // namespace

/// Of one call. A call that is replayed gets the inputs of each replay from buffers of their own,
/// and leaves its outputs in others.
struct SequenceCheck::Buffers {
  Call call;
  std::vector<Buffer> inputs, outputs;           // [rank]
  std::vector<Buffer> received;                  // counts of all_to_all_v, [rank]
  std::vector<std::vector<Buffer>> fresh, kept;  // [replay][rank]
};

SequenceCheck::SequenceCheck(Sequence sequence, Settings settings)
    : sequence_(std::move(sequence)), settings_(settings) {
  const int ranks = sequence_.ranks;
  std::uint64_t seed = sequence_.seed;
  for (const Step& step : sequence_.steps) {
    const auto& [algorithm, arithmetic, fault, collective] = step.kernel;
    auto& sent = sent_.emplace_back();
    if (collective == model::Collective::all_to_all_v)
      sent = ragged_counts(ranks, step.count, seed);
    const model::Schedule schedule =
        model::find_builder(collective, algorithm)
            ->build({ranks, step.count, sequence_.geometry.blocks, step.is_in_place, arithmetic,
                     sequence_.geometry.rounds, sent});
    const std::int64_t elements = model::input_elements(collective, ranks, step.count);
    PerLaunch &inputs = inputs_.emplace_back(), &wanted = wanted_.emplace_back();
    for (int i = 0; i < step.launches(); ++i) {
      inputs.push_back(random_inputs(arithmetic.element, ranks, elements, ++seed));
      wanted.emplace_back(ranks, std::vector<std::byte>(output_bytes(step), kStale));
      reference::run_into(schedule, inputs.back(), wanted.back());
    }
  }
}

std::size_t SequenceCheck::bytes(const Step& step, std::int64_t elements) const {
  return elements * step.kernel.arithmetic.element.bytes();
}
std::size_t SequenceCheck::input_bytes(const Step& step) const {
  return bytes(step, model::input_elements(step.kernel.collective, sequence_.ranks, step.count));
}
std::size_t SequenceCheck::output_bytes(const Step& step) const {
  return bytes(step, model::output_elements(step.kernel.collective, sequence_.ranks, step.count));
}
std::size_t SequenceCheck::row_bytes() const { return sizeof(std::int64_t) * sequence_.ranks; }

std::size_t SequenceCheck::room(std::size_t of_session) const {
  std::size_t room = of_session;
  for (const Step& step : sequence_.steps) {
    room +=
        (1 + step.replays) * (Memory::room(input_bytes(step)) + Memory::room(output_bytes(step))) +
        2 * Memory::room(row_bytes());
  }
  return room;
}

SequenceCheck::Buffers SequenceCheck::allocate(Memory& memory, std::size_t index) const {
  const Step& step = sequence_.steps[index];
  const std::size_t in = input_bytes(step), out = output_bytes(step);
  const auto on_all_ranks = [&](const char* name, std::size_t size) {
    std::vector<Buffer> all;
    for (int rank = 0; rank < sequence_.ranks; ++rank) {
      all.push_back(memory.allocate(rank, name, size, kStale));
    }
    return all;
  };
  Buffers buffers;
  buffers.inputs = on_all_ranks("input", step.is_in_place ? std::max(in, out) : in);
  buffers.outputs = step.is_in_place ? buffers.inputs : on_all_ranks("output", out);
  for (int i = 0; i < step.replays; ++i) {
    buffers.fresh.push_back(on_all_ranks("fresh input", in));
    buffers.kept.push_back(on_all_ranks("kept output", out));
  }
  buffers.call.count = step.count;
  buffers.call.number = static_cast<std::uint32_t>(index);
  for (int rank = 0; rank < sequence_.ranks; ++rank) {
    Buffer &input = buffers.inputs[rank], &output = buffers.outputs[rank];
    if (step.is_in_place) {  // the smaller is where it belongs in the larger
      (in < out ? input : output).first +=
          bytes(step, model::in_place_offset(step.kernel.collective, rank, step.count));
      input.bytes = in, output.bytes = out;
    }
    buffers.call.inputs.push_back(input.first);
    buffers.call.outputs.push_back(output.first);
    for (int i = 0; i < step.launches(); ++i) {
      fill(step.replays > 0 ? buffers.fresh[i][rank] : input, inputs_[index][i][rank]);
    }
  }
  if (!sent_[index].empty()) add_counts(memory, index, buffers);
  return buffers;
}

void SequenceCheck::add_counts(Memory& memory, std::size_t index, Buffers& buffers) const {
  for (int rank = 0; rank < sequence_.ranks; ++rank) {
    const Buffer sent = memory.allocate(rank, "send counts", row_bytes(), kStale);
    std::memcpy(sent.first, sent_[index].data() + rank * sequence_.ranks, row_bytes());
    buffers.received.push_back(memory.allocate(rank, "received counts", row_bytes(), kStale));
    Call& call = buffers.call;
    call.send_counts.push_back(reinterpret_cast<const std::int64_t*>(sent.first));
    call.received_counts.push_back(reinterpret_cast<std::int64_t*>(buffers.received[rank].first));
  }
}

void SequenceCheck::put(Communicator& gpus, std::size_t index, int rank, int stream,
                        const Buffers& buffers) const {
  const Step& step = sequence_.steps[index];
  if (step.replays == 0) return gpus.collective(stream, step.kernel, buffers.call);
  gpus.begin_capture(stream);
  gpus.collective(stream, step.kernel, buffers.call);
  const Communicator::Graph graph = gpus.end_capture(stream);
  for (int i = 0; i < step.replays; ++i) {
    gpus.copy(stream, buffers.inputs[rank].first, buffers.fresh[i][rank].first, input_bytes(step));
    gpus.replay(stream, graph);
    gpus.copy(stream, buffers.kept[i][rank].first, buffers.outputs[rank].first, output_bytes(step));
  }
}

std::string SequenceCheck::first_difference(std::size_t index, const Buffers& buffers) const {
  const Step& step = sequence_.steps[index];
  const model::Format element = step.kernel.arithmetic.element;
  const std::string where = "call " + std::to_string(index + 1);
  for (int i = 0; i < step.launches(); ++i) {
    const std::vector<Buffer>& outputs = step.replays > 0 ? buffers.kept[i] : buffers.outputs;
    const std::string found = test::first_difference(element, bytes_of(outputs), wanted_[index][i]);
    if (!found.empty()) return where + ", launch " + std::to_string(i + 1) + ", " + found;
  }
  for (int rank = 0; rank < std::ssize(buffers.received); ++rank) {
    for (int from = 0; from < sequence_.ranks; ++from) {
      const std::int64_t sent = sent_[index][from * sequence_.ranks + rank];
      if (buffers.call.received_counts[rank][from] != sent) return where + " told another count";
    }
  }
  const bool is_intact = step.is_in_place || bytes_of(buffers.inputs) == inputs_[index].back();
  return is_intact ? "" : where + " wrote to its input";
}

std::string SequenceCheck::violation(Choices& choices) const {
  std::size_t scratch = 0, packets = 0;
  for (const Step& step : sequence_.steps) {
    const auto& [algorithm, arithmetic, fault, collective] = step.kernel;
    scratch = std::max(scratch,
                       kernels::scratch_bytes(collective, arithmetic, sequence_.ranks, step.count));
    packets = std::max(packets,
                       kernels::packet_bytes(algorithm, arithmetic, sequence_.ranks, step.count));
  }
  Memory memory(sequence_.ranks, room(Session::room(sequence_.geometry, scratch, packets)));
  const Session session(memory, sequence_.ranks, sequence_.geometry, scratch, packets);
  Delaying late(choices, sequence_, session);
  Emulator emulator(memory, sequence_.ranks, late, settings_);
  Communicator gpus(emulator, session);
  std::vector<int> second;  // [rank]
  for (int rank = 0; rank < sequence_.ranks; ++rank) second.push_back(gpus.add_stream(rank));
  std::vector<Buffers> buffers;
  for (std::size_t i = 0; i < sequence_.steps.size(); ++i) {
    buffers.push_back(allocate(memory, i));
    for (int rank = 0; rank < sequence_.ranks; ++rank) {
      put(gpus, i, rank, sequence_.steps[i].stream == 0 ? rank : second[rank], buffers[i]);
    }
  }
  std::string found = what_happened(gpus.synchronize(), memory);
  for (std::size_t i = 0; i < buffers.size() && found.empty(); ++i) {
    found = first_difference(i, buffers[i]);
  }
  return found;
}

std::string SequenceCheck::violation(int runs) const {
  RandomWalk walk(sequence_.seed);
  std::string found = violation(walk);
  for (int i = 1; i < runs && found.empty(); ++i) {
    Pct choices(sequence_.seed + i, 1 + static_cast<int>((sequence_.seed + i) % 5), walk.made());
    found = violation(choices);
  }
  return found;
}

}  // namespace tally::test
