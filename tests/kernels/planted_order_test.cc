// Goal: each fault of order is caught wherever it is planted, by the detector that its kind calls
// for. The caches of gfx942 show it in values and hangs too, most where strong memory hides it. The
// healthy kernels do nothing of that.
// Method: calls in a row, of small integers that change from call to call, in many interleavings;
// with clocks that look for races, and without.

#include <algorithm>
#include <cstring>
#include <set>

#include "kernels/emulator/communicator.h"
#include "model/builders.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using namespace kernels::emulator;
using model::Accumulate;
using model::Arithmetic;
using model::Collective;
using model::Format;
using model::Op;

constexpr Arithmetic kArithmetics[] = {
    {Format::bf16, model::kNoWire, Op::sum, Accumulate::element},
    {Format::f32, model::cast_wire(Format::e4m3fnuz), Op::sum, Accumulate::f32},
};
constexpr int kRanks = 2, kInterleavings = 100;
constexpr Geometry kGeometry{2, 4, 64};
using Counts = std::vector<std::int64_t>;  // of calls

/// Element i of what a rank gives in a call: exact in every format, as are sums of two.
int given(int call, int rank, std::int64_t i) {
  return static_cast<int>((i + 3 * call + 5 * rank) % 7) + 1;
}

/// Two virtual GPUs, and calls that can be launched on them. In all_to_all_v everybody sends as
/// much as there may be, so that it leaves what all_to_all does.
class World {
 public:
  World(const KernelKey& key, Choices& choices, const Settings& settings, const Counts& counts)
      : collective_(key.collective),
        arithmetic_(key.arithmetic),
        largest_(*std::max_element(counts.begin(), counts.end())),
        scratch_bytes_(kernels::scratch_bytes(collective_, arithmetic_, kRanks, largest_)),
        packet_bytes_(kernels::packet_bytes(key.algorithm, arithmetic_, kRanks, largest_)),
        memory_(kRanks, Session::room(kGeometry, scratch_bytes_, packet_bytes_) +
                            2 * (counts.size() + 1) *
                                (Memory::room(kRanks * bytes(largest_)) + Memory::room(kRow))),
        session(memory_, kRanks, kGeometry, scratch_bytes_, packet_bytes_),
        emulator(memory_, kRanks, choices, settings) {
    for (const std::int64_t count : counts) {
      const int number = static_cast<int>(calls.size());
      Call& call = calls.emplace_back(new_call(count));
      call.number = static_cast<std::uint32_t>(number);
      for (int rank = 0; rank < kRanks; ++rank) {
        auto* input = static_cast<std::byte*>(const_cast<void*>(call.inputs[rank]));
        for (std::int64_t i = 0; i < input_elements(count); ++i) {
          put(input, i, given(number, rank, i));
        }
      }
    }
  }

  Call new_call(std::int64_t count) {
    Call call{count, {}, {}};
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto allocate = [&](const char* name, std::size_t size, std::byte fill) {
        return memory_.allocate(rank, name, size, fill).first;
      };
      call.inputs.push_back(allocate("input", input_bytes(count), std::byte{}));
      call.outputs.push_back(allocate("output", output_bytes(count), std::byte{0x5A}));
      auto* sent = reinterpret_cast<std::int64_t*>(allocate("send counts", kRow, std::byte{}));
      std::fill(sent, sent + kRanks, count);
      call.send_counts.push_back(sent);
      call.received_counts.push_back(
          reinterpret_cast<std::int64_t*>(allocate("received counts", kRow, std::byte{})));
    }
    return call;
  }
  std::size_t input_bytes(std::int64_t count) const { return bytes(input_elements(count)); }
  std::size_t output_bytes(std::int64_t count) const { return bytes(output_elements(count)); }

  /// What running all that was launched showed, the most telling first: "hang", "race", "value".
  std::string run() {
    const Trace trace = emulator.run();
    if (!trace.hang.empty()) return "hang";
    if (!trace.races.empty() || !trace.stale_reads.empty()) return "race";
    for (const Call& call : calls) {
      const int number = static_cast<int>(call.number);
      for (int rank = 0; rank < kRanks; ++rank) {
        std::vector<std::byte> wanted(output_bytes(call.count));
        for (std::int64_t i = 0; i < output_elements(call.count); ++i) {
          put(wanted.data(), i, due(number, call.count, rank, i));
        }
        if (std::memcmp(call.outputs[rank], wanted.data(), wanted.size()) != 0) return "value";
      }
    }
    return "";
  }

 private:
  static constexpr std::size_t kRow = sizeof(std::int64_t) * kRanks;

  std::size_t bytes(std::int64_t elements) const {
    return elements * model::format(arithmetic_.element).bytes();
  }
  std::int64_t input_elements(std::int64_t count) const {
    return model::input_elements(collective_, kRanks, count);
  }
  std::int64_t output_elements(std::int64_t count) const {
    return model::output_elements(collective_, kRanks, count);
  }
  /// Output element i of a rank, by the collective's contract.
  int due(int number, std::int64_t count, int rank, std::int64_t i) const {
    const bool has_counts = collective_ == Collective::all_to_all_v;
    const auto [first, last, element] = model::contributions(
        has_counts ? Collective::all_to_all : collective_, kRanks, count, rank, i);
    int sum = 0;
    for (int from = first; from <= last; ++from) sum += given(number, from, element);
    return sum;
  }
  void put(std::byte* elements, std::int64_t i, int value) const {
    const std::uint32_t f32 = kernels::bits_of(static_cast<float>(value));
    const std::uint32_t code = arithmetic_.element == Format::f32 ? f32 : f32 >> 16;
    std::memcpy(elements + bytes(i), &code, bytes(1));
  }

  const Collective collective_;
  const Arithmetic arithmetic_;
  const std::int64_t largest_;
  const std::size_t scratch_bytes_, packet_bytes_;
  Memory memory_;

 public:
  const Session session;
  Emulator emulator;
  std::vector<Call> calls;
};

std::unique_ptr<Choices> choices_of(int number) {
  if (number % 6 == 0) return std::make_unique<RandomWalk>(number);
  return std::make_unique<Pct>(number, number % 6, 2000);
}

/// Whether one of some interleavings of three calls, of other sizes than their neighbours, shows
/// `what`; where that is empty, whether none shows anything.
bool shows(const KernelKey& key, const Settings& settings, std::string_view what) {
  for (int i = 0; i < kInterleavings; ++i) {
    const auto choices = choices_of(i);
    World world(key, *choices, settings, {300, 520, 300});
    for (const Call& call : world.calls) find_kernel(key)(world.emulator, world.session, call);
    const std::string seen = world.run();
    if (what.empty() ? !seen.empty() : seen == what) return !what.empty();
  }
  return what.empty();
}

/// How a fault shows itself; empty where it does not.
struct Expectation {
  std::string_view fault;
  std::string_view kernel;       // its label; empty: every one that it is in
  std::string_view with_clocks;  // in gfx942's memory, where races are looked for
  std::string_view without_clocks;
  std::string_view strong;  // in strong memory, without clocks
};

// In a ring of two nothing is read twice, so that no L1 holds a line that an acquire would drop.
// Packets are atomics, and no race. Agent scope does what system scope does while a GPU has several
// L2s.
constexpr Expectation kExpectations[] = {
    {"missing_barrier", "flat", "race", "value", "value"},
    {"missing_barrier", "flat_ll", "value", "value", "value"},
    {"missing_barrier", "tree", "race", "value", "value"},
    {"missing_barrier", "ring", "race", "value", "value"},
    {"missing_barrier", "reduce_scatter", "race", "value", "value"},
    {"missing_barrier", "all_gather", "race", "value", "value"},
    {"missing_barrier", "all_to_all", "race", "value", "value"},
    {"missing_barrier", "all_to_all_v", "race", "value", "value"},
    {"relaxed_flags", "", "race", "value", ""},
    {"no_release", "", "race", "value", ""},
    {"no_acquire", "flat", "race", "value", ""},
    {"no_acquire", "tree", "race", "value", ""},
    {"no_acquire", "ring", "race", "", ""},
    {"agent_scope_flags", "", "race", "", ""},
    {"signal_before_fence", "", "race", "value", ""},
    {"start_without_release", "", "race", "value", ""},
    {"leader_signals_early", "", "race", "value", "value"},
    {"no_exit_barrier", "", "race", "value", "value"},
    {"tail_of_another_block", "", "race", "value", "value"},
    {"plain_poll", "", "hang", "hang", ""},
    {"plain_flag_store", "", "hang", "hang", ""},
    {"single_counter", "", "hang", "hang", "hang"},
    {"flags_modulo_three", "", "race", "value", "value"},
    {"epochs_reset", "", "hang", "hang", "hang"},
    {"gate_on_local_alignment", "flat", "hang", "hang", "hang"},
    {"gate_on_local_alignment", "tree", "race", "value", "value"},
    {"ll_split_packet", "", "race", "value", ""},
    {"ll_flag_wrap", "", "value", "value", "value"},
    {"ll_one_buffer", "", "hang", "hang", "hang"},
};

/// An algorithm of all_reduce, or another collective, of which each has one.
std::string_view label(const KernelKey& key) {
  return key.collective == Collective::all_reduce ? key.algorithm : model::name(key.collective);
}

/// Every kernel that a fault is in; every healthy one of the same kinds where it is empty.
template <class Visit>
void for_each_kernel(std::string_view fault, Visit visit) {
  for (const auto& [algorithm, collective, build] : model::builders()) {
    for (const Arithmetic& arithmetic : kArithmetics) {
      const KernelKey key{algorithm, arithmetic, fault, collective};
      if (find_kernel(key) != nullptr) visit(key);
    }
  }
}

/// Replays a captured call three times, or makes it three times, with changed inputs.
std::string seen_of_graph(const KernelKey& key, Choices& choices, bool is_captured) {
  constexpr std::int64_t kCount = 300;
  World world(key, choices, {.memory = MemoryKind::gfx942, .finds_races = true},
              {kCount, kCount, kCount});
  Communicator communicator(world.emulator, world.session);
  Call frozen = world.new_call(kCount);
  Communicator::Graph graphs[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    communicator.begin_capture(rank);
    communicator.collective(rank, key, frozen);
    graphs[rank] = communicator.end_capture(rank);
  }
  for (const Call& call : world.calls) {
    for (int rank = 0; rank < kRanks; ++rank) {
      auto* input = const_cast<void*>(frozen.inputs[rank]);
      communicator.copy(rank, input, call.inputs[rank], world.input_bytes(kCount));
      if (is_captured) {
        communicator.replay(rank, graphs[rank]);
      } else {
        frozen.number = call.number;
        communicator.collective(rank, key, frozen);
      }
      communicator.copy(rank, call.outputs[rank], frozen.outputs[rank], world.output_bytes(kCount));
    }
  }
  return world.run();
}

}  // namespace

TEST_CASE("each fault of order shows itself wherever it is, as its kind does", "[kernels]") {
  // Else what an acquire leaves in an L2 of peers' memory would be gone with the next kernel.
  const Gfx942 l1_only{.kernel_begin_reaches_l2 = false};
  for (const Expectation& expected : kExpectations) {
    for_each_kernel(expected.fault, [&](const KernelKey& key) {
      if (!expected.kernel.empty() && label(key) != expected.kernel) return;
      CAPTURE(std::string(key.fault), std::string(label(key)), key.arithmetic.wire.name());
      CHECK(shows(key, {.memory = MemoryKind::gfx942, .finds_races = true}, expected.with_clocks));
      CHECK(shows(key, {.memory = MemoryKind::gfx942, .gfx942 = l1_only}, expected.without_clocks));
      CHECK(shows(key, {}, expected.strong));
    });
  }
}

TEST_CASE("every planted fault of order or flags is expected to show itself", "[kernels]") {
  for (const PlantedFault& fault : planted_faults()) {
    if (fault.kind != "order" && fault.kind != "flags") continue;
    if (fault.name == "flag_in_graph") continue;  // it needs a graph: see below
    for_each_kernel(fault.name, [&](const KernelKey& key) {
      CAPTURE(std::string(fault.name), std::string(label(key)));
      int rows = 0;
      for (const Expectation& expected : kExpectations) {
        const bool is_here = expected.kernel.empty() || expected.kernel == label(key);
        rows += expected.fault == fault.name && is_here;
      }
      CHECK(rows == 1);
    });
  }
}

TEST_CASE("healthy kernels show nothing of that", "[kernels]") {
  for_each_kernel("", [](const KernelKey& key) {
    CAPTURE(std::string(label(key)), key.arithmetic.wire.name());
    CHECK(shows(key, {.memory = MemoryKind::gfx942, .finds_races = true}, ""));
    CHECK(shows(key, {.memory = MemoryKind::strong, .finds_races = true}, ""));
  });
}

TEST_CASE("flags of agent scope are not seen by peers where a GPU has one L2", "[kernels]") {
  Settings one_l2{.memory = MemoryKind::gfx942};
  one_l2.gfx942.xcds = 1;
  for_each_kernel("agent_scope_flags", [&](const KernelKey& key) {
    CHECK(shows(key, one_l2, "hang"));
    CHECK(shows({key.algorithm, key.arithmetic, "", key.collective}, one_l2, ""));
  });
}

TEST_CASE("a flag that is an argument is right in calls and wrong in replays", "[kernels]") {
  for_each_kernel("flag_in_graph", [](const KernelKey& key) {
    CAPTURE(std::string(label(key)), key.arithmetic.wire.name());
    const KernelKey healthy{key.algorithm, key.arithmetic, "", key.collective};
    std::set<std::string> in_calls, in_replays, of_healthy;
    for (int i = 0; i < kInterleavings; ++i) {
      in_calls.insert(seen_of_graph(key, *choices_of(i), false));
      in_replays.insert(seen_of_graph(key, *choices_of(i), true));
      of_healthy.insert(seen_of_graph(healthy, *choices_of(i), true));
    }
    CHECK(in_calls == std::set<std::string>{""});
    CHECK(of_healthy == std::set<std::string>{""});
    CHECK(in_replays.count("race") == 1);
  });
}

}  // namespace tally::test
