#include <algorithm>
#include <cstring>

#include "kernels/emulator/communicator.h"
#include "verify/chart.h"
#include "verify/send_counts.h"
#include "verify/subject.h"

namespace tally::verify {
namespace {

namespace emulator = kernels::emulator;

/// The buffers of one call.
struct CallBuffers {
  std::vector<emulator::Buffer> inputs, outputs;  // [rank]
  std::vector<emulator::Buffer> sent, received;   // counts of all_to_all_v, [rank]
  emulator::Call call;
};

/// An emulator's run keeps all of its calls in memory.
constexpr std::int64_t kMostElements = std::int64_t{1} << 26;

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
    for (int call = 0; call < std::ssize(c.counts); ++call) {
      if (std::max(c.input_elements(call), c.output_elements(call)) > kMostElements) {
        return "the emulator has buffers of at most 2^26 elements";
      }
    }
    if (emulator::find_binder(key(c)) != nullptr) return std::nullopt;
    return c.fault.empty() ? "the emulator has no such kernel"
                           : "the fault is not planted in a kernel for this case";
  }

  Observation run(const Case& c, const std::vector<reference::RankBuffers>& inputs,
                  const Run& how) const override {
    const emulator::Geometry geometry = EmulatorSubject::geometry(c);
    std::size_t scratch = 0, packets = 0, room = 0;
    for (int call = 0; call < std::ssize(c.counts); ++call) {
      const std::int64_t count = c.counts[call];
      scratch =
          std::max(scratch, kernels::scratch_bytes(c.collective, c.arithmetic, c.ranks, count));
      packets = std::max(packets, kernels::packet_bytes(c.algorithm, c.arithmetic, c.ranks, count));
      room += EmulatorSubject::room(c, call);
    }
    room += emulator::Session::room(geometry, scratch, packets);
    if (c.graph) room += EmulatorSubject::room(c, 0);

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
    for (int i = 0; i < std::ssize(calls); ++i) collect(c, i, calls[i], inputs[i], seen);
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
    return {c.launch.blocks, c.launch.threads, c.launch.wave, c.launch.rounds};
  }
  static emulator::KernelKey key(const Case& c) {
    return {c.algorithm, c.arithmetic, c.fault, c.collective};
  }
  static std::size_t element_bytes(const Case& c) { return c.arithmetic.element.bytes(); }

  /// Room that the buffers of a call take on a rank.
  static std::size_t room(const Case& c, int call) {
    return emulator::Memory::room(c.input_elements(call) * element_bytes(c)) +
           emulator::Memory::room(c.output_elements(call) * element_bytes(c)) +
           2 * emulator::Memory::room(c.ranks * sizeof(std::int64_t));
  }

  /// A rank's input, and its output: in place the smaller is where it belongs in the larger.
  static std::pair<emulator::Buffer, emulator::Buffer> allocate(emulator::Memory& memory,
                                                                const Case& c, int call, int rank) {
    const std::size_t shift = c.placement == Placement::misaligned ? element_bytes(c) : 0;
    const std::size_t in = c.input_elements(call) * element_bytes(c);
    const std::size_t out = c.output_elements(call) * element_bytes(c);
    if (c.placement != Placement::in_place) {
      const auto input = memory.allocate(rank, "input", in, std::byte{0}, shift);
      return {input, memory.allocate(rank, "output", out, kPoison, shift)};
    }
    emulator::Buffer input =
        memory.allocate(rank, in < out ? "output" : "input", std::max(in, out), kPoison, shift);
    emulator::Buffer output = input;
    (in < out ? input : output).first +=
        model::in_place_offset(c.collective, rank, c.counts[call]) * element_bytes(c);
    input.bytes = in;
    output.bytes = out;
    return {input, output};
  }

  static CallBuffers allocate(emulator::Memory& memory, const Case& c, int call,
                              const reference::RankBuffers& inputs) {
    CallBuffers buffers;
    buffers.call.count = c.counts[call];
    const std::vector<std::int64_t> counts = send_counts(c, call);
    for (int rank = 0; rank < c.ranks; ++rank) {
      const auto [input, output] = allocate(memory, c, call, rank);
      std::copy(inputs[rank].begin(), inputs[rank].end(), input.first);
      buffers.inputs.push_back(input);
      buffers.outputs.push_back(output);
      buffers.call.inputs.push_back(input.first);
      buffers.call.outputs.push_back(output.first);
      if (counts.empty()) continue;
      const std::size_t row = c.ranks * sizeof(std::int64_t);
      const auto sent = memory.allocate(rank, "send counts", row, std::byte{0});
      const auto received = memory.allocate(rank, "received counts", row, kPoison);
      std::memcpy(sent.first, counts.data() + rank * c.ranks, row);
      buffers.sent.push_back(sent);
      buffers.received.push_back(received);
      buffers.call.send_counts.push_back(reinterpret_cast<const std::int64_t*>(sent.first));
      buffers.call.received_counts.push_back(reinterpret_cast<std::int64_t*>(received.first));
    }
    return buffers;
  }

  /// The calls one after another.
  static std::vector<CallBuffers> call(emulator::Communicator& communicator,
                                       emulator::Memory& memory, const Case& c,
                                       const std::vector<reference::RankBuffers>& inputs) {
    std::vector<CallBuffers> calls;
    for (int i = 0; i < std::ssize(c.counts); ++i) {
      CallBuffers& one = calls.emplace_back(allocate(memory, c, i, inputs[i]));
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
    const CallBuffers captured = allocate(memory, c, 0, inputs[0]);
    std::vector<CallBuffers> calls;
    for (int i = 0; i < std::ssize(c.counts); ++i) {
      calls.push_back(allocate(memory, c, i, inputs[i]));
    }
    const auto copy = [&](int rank, const emulator::Buffer& to, const emulator::Buffer& from) {
      communicator.copy(rank, to.first, from.first, to.bytes);
    };
    for (int rank = 0; rank < c.ranks; ++rank) {
      communicator.begin_capture(rank);
      communicator.collective(rank, key(c), captured.call);
      const emulator::Communicator::Graph graph = communicator.end_capture(rank);
      for (const CallBuffers& one : calls) {
        copy(rank, captured.outputs[rank], one.outputs[rank]);
        copy(rank, captured.inputs[rank], one.inputs[rank]);
        if (!one.sent.empty()) copy(rank, captured.sent[rank], one.sent[rank]);
        communicator.replay(rank, graph);
        copy(rank, one.outputs[rank], captured.outputs[rank]);
        if (!one.sent.empty()) copy(rank, one.received[rank], captured.received[rank]);
      }
    }
    return calls;
  }

  static void collect(const Case& c, int call, const CallBuffers& buffers,
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
      if (buffers.received.empty()) continue;
      std::vector<std::int64_t> received(c.ranks);
      std::memcpy(received.data(), buffers.received[rank].first, buffers.received[rank].bytes);
      check_received_counts(c, call, rank, received, seen);
    }
  }

  const emulator::Settings base_;
};

}  // namespace

std::unique_ptr<Subject> emulator_subject(const emulator::Settings& base) {
  return std::make_unique<EmulatorSubject>(base);
}

}  // namespace tally::verify
