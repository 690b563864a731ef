#include <algorithm>
#include <cstring>

#include "kernels/emulator/communicator.h"
#include "model/suggestion.h"
#include "verify/chart.h"
#include "verify/subject.h"

namespace tally::verify {
namespace {

namespace emulator = kernels::emulator;

/// The buffers of one call.
struct CallBuffers {
  std::vector<emulator::Buffer> inputs, outputs;  // [rank]
  emulator::Call call;
};

/// Each thread has a clock of all: those of so many take 256 MiB.
constexpr int kMostWatched = 8192;

class EmulatorSubject : public Subject {
 public:
  explicit EmulatorSubject(const emulator::Settings& base) : base_(base) {}

  std::optional<std::string> cannot_run(const Case& c) const override {
    if (!emulator::can_launch(c.arithmetic, geometry(c))) {
      return "a block of the wire needs whole groups of threads in a wave: --geometry";
    }
    if (finds_races(c) && c.ranks * c.launch.blocks * c.launch.threads > kMostWatched) {
      return "clocks watch at most 8192 threads: --geometry, --ranks";
    }
    if (emulator::find_binder(key(c)) != nullptr) return std::nullopt;
    return c.fault.empty() ? "the emulator has no such kernel"
                           : "the fault is not planted in a kernel for this case";
  }

  Observation run(const Case& c, const std::vector<reference::RankBuffers>& inputs,
                  const Run& how) const override {
    const emulator::Geometry geometry = EmulatorSubject::geometry(c);
    const std::int64_t largest =
        c.counts.empty() ? 0 : *std::max_element(c.counts.begin(), c.counts.end());
    const std::size_t scratch =
        kernels::scratch_bytes(model::Collective::all_reduce, c.arithmetic, 1, largest);
    const std::size_t packets = kernels::packet_bytes(c.algorithm, c.arithmetic, c.ranks, largest);
    std::size_t room = emulator::Session::room(geometry, scratch, packets);
    for (const std::int64_t count : c.counts) room += 2 * emulator::Memory::room(bytes(c, count));
    if (c.graph) room += 2 * emulator::Memory::room(bytes(c, largest));

    emulator::Memory memory(c.ranks, room);
    const emulator::Session session(memory, c.ranks, geometry, scratch, packets);
    const auto choices = choices_of(c, how.interleaving);
    emulator::Settings settings = base_;
    settings.memory = c.memory;
    settings.finds_races = finds_races(c);
    settings.keeps_log = how.draws_chart;
    emulator::Emulator emulator(memory, c.ranks, *choices, settings);
    emulator::Communicator communicator(emulator, session);
    const std::vector<CallBuffers> calls =
        c.graph ? replay(communicator, memory, c, inputs) : call(communicator, memory, c, inputs);
    const emulator::Trace trace = communicator.synchronize();

    Observation seen;
    seen.hang = trace.hang;
    seen.order_faults = order_faults(trace, memory);
    seen.broken = memory.broken_guards();
    seen.broken.insert(seen.broken.end(), trace.out_of_bounds.begin(), trace.out_of_bounds.end());
    for (std::size_t i = 0; i < calls.size(); ++i) collect(c, calls[i], inputs[i], seen);
    seen.script = choices->deviations();
    seen.choices = choices->made();
    if (how.draws_chart) {
      const std::byte* wrong =
          how.wrong ? calls[how.wrong->call].outputs[how.wrong->rank].first +
                          how.wrong->number * static_cast<std::int64_t>(element_bytes(c))
                    : nullptr;
      seen.chart = draw_chart(trace, memory, how.lines, wrong);
    }
    return seen;
  }

 private:
  static emulator::Geometry geometry(const Case& c) {
    return {c.launch.blocks, c.launch.threads, c.launch.wave};
  }
  static emulator::KernelKey key(const Case& c) { return {c.algorithm, c.arithmetic, c.fault}; }
  static std::size_t element_bytes(const Case& c) {
    return model::format(c.arithmetic.element).bytes();
  }
  static std::size_t bytes(const Case& c, std::int64_t count) { return count * element_bytes(c); }

  static CallBuffers allocate(emulator::Memory& memory, const Case& c, std::int64_t count,
                              const reference::RankBuffers& inputs) {
    const std::size_t shift = c.placement == Placement::misaligned ? element_bytes(c) : 0;
    CallBuffers buffers;
    buffers.call.count = count;
    for (int rank = 0; rank < c.ranks; ++rank) {
      const auto input = memory.allocate(rank, "input", bytes(c, count), std::byte{0}, shift);
      std::copy(inputs[rank].begin(), inputs[rank].end(), input.first);
      const auto output = c.placement == Placement::in_place
                              ? input
                              : memory.allocate(rank, "output", bytes(c, count), kPoison, shift);
      buffers.inputs.push_back(input);
      buffers.outputs.push_back(output);
      buffers.call.inputs.push_back(input.first);
      buffers.call.outputs.push_back(output.first);
    }
    return buffers;
  }

  /// The calls one after another.
  static std::vector<CallBuffers> call(emulator::Communicator& communicator,
                                       emulator::Memory& memory, const Case& c,
                                       const std::vector<reference::RankBuffers>& inputs) {
    std::vector<CallBuffers> calls;
    for (std::size_t i = 0; i < c.counts.size(); ++i) {
      CallBuffers& one = calls.emplace_back(allocate(memory, c, c.counts[i], inputs[i]));
      one.call.number = static_cast<std::uint32_t>(i);
      for (int rank = 0; rank < c.ranks; ++rank) communicator.collective(rank, key(c), one.call);
    }
    return calls;
  }

  /// One call, captured on buffers of its own and replayed: each replay's input and poison are
  /// copied there before it, and its output away after it.
  static std::vector<CallBuffers> replay(emulator::Communicator& communicator,
                                         emulator::Memory& memory, const Case& c,
                                         const std::vector<reference::RankBuffers>& inputs) {
    const CallBuffers captured = allocate(memory, c, c.counts[0], inputs[0]);
    std::vector<CallBuffers> calls;
    for (const auto& of_call : inputs) {
      calls.push_back(allocate(memory, c, c.counts[0], of_call));
    }
    for (int rank = 0; rank < c.ranks; ++rank) {
      communicator.begin_capture(rank);
      communicator.collective(rank, key(c), captured.call);
      const emulator::Communicator::Graph graph = communicator.end_capture(rank);
      const emulator::Buffer &input = captured.inputs[rank], &output = captured.outputs[rank];
      for (const CallBuffers& one : calls) {
        communicator.copy(rank, output.first, one.outputs[rank].first, output.bytes);
        communicator.copy(rank, input.first, one.inputs[rank].first, input.bytes);
        communicator.replay(rank, graph);
        communicator.copy(rank, one.outputs[rank].first, output.first, output.bytes);
      }
    }
    return calls;
  }

  static void collect(const Case& c, const CallBuffers& buffers,
                      const reference::RankBuffers& inputs, Observation& seen) {
    auto& outputs = seen.outputs.emplace_back();
    for (int rank = 0; rank < c.ranks; ++rank) {
      const emulator::Buffer& output = buffers.outputs[rank];
      outputs.emplace_back(output.first, output.first + output.bytes);
      const emulator::Buffer& input = buffers.inputs[rank];
      if (c.placement != Placement::in_place &&
          !std::equal(inputs[rank].begin(), inputs[rank].end(), input.first)) {
        seen.broken.push_back("the input of rank " + std::to_string(rank) + " was modified");
      }
    }
  }

  const emulator::Settings base_;
};

// The others are named so that asking for one is not a spelling mistake.
constexpr std::string_view kNotBuiltHere[] = {"gpu", "nccl", "mpi"};

}  // namespace

std::unique_ptr<Subject> emulator_subject(const emulator::Settings& base) {
  return std::make_unique<EmulatorSubject>(base);
}

std::vector<std::string> subject_names() {
  std::vector<std::string> names = {"emulator"};
  names.insert(names.end(), std::begin(kNotBuiltHere), std::end(kNotBuiltHere));
  return names;
}

model::Result<std::shared_ptr<Subject>> find_subject(std::string_view name) {
  if (name == "emulator") return std::shared_ptr<Subject>(emulator_subject());
  const std::string_view kind = name.substr(0, name.find('='));
  if (std::find(std::begin(kNotBuiltHere), std::end(kNotBuiltHere), kind) !=
      std::end(kNotBuiltHere)) {
    return std::shared_ptr<Subject>();
  }
  return model::Error{"--subject", "unknown subject '" + std::string(name) + "'",
                      model::suggestion(name, subject_names())};
}

}  // namespace tally::verify
