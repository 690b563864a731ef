// Goal: all_to_all_v keeps its contract whatever the counts in device memory are: blocks where the
// sums of counts put them; and where a count is not within its bound, all ranks are told who is to
// blame, nothing is written, and the next call works.
// Method: calls in a row on one session, each with counts of its own, and one captured call whose
// counts change between replays; in gfx942's caches, with clocks, under several interleavings. The
// same calls fail where the kernel has a planted fault.

#include <algorithm>
#include <cstring>

#include "kernels/emulator/communicator.h"
#include "model/builders.h"
#include "tests/kernels/run_helper.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using namespace kernels::emulator;
using model::Accumulate, model::Collective, model::Format, model::Op;
using Counts = std::vector<std::int64_t>;  // [from * ranks + to]

constexpr int kRanks = 3;
constexpr std::int64_t kBound = 200;
constexpr Geometry kGeometry{2, 4, 64};
constexpr std::byte kStale{0x7F};
constexpr model::Arithmetic kArithmetics[] = {
    {Format::bf16, model::kNoWire, Op::sum, Accumulate::element},
    {Format::f32, model::cast_wire(Format::e4m3fnuz), Op::sum, Accumulate::f32}};

bool is_within_bound(std::int64_t count) { return count >= 0 && count <= kBound; }
/// Whether all that a rank sends is.
bool is_innocent(const Counts& counts, int rank) {
  const auto row = counts.begin() + rank * kRanks;
  return std::all_of(row, row + kRanks, is_within_bound);
}
bool all_are_innocent(const Counts& counts) {
  return std::all_of(counts.begin(), counts.end(), is_within_bound);
}

/// The buffers of one call, and what has to be in them afterwards.
class Exchange {
 public:
  Exchange(Memory& memory, const model::Arithmetic& arithmetic, const Counts& counts,
           std::uint64_t seed)
      : arithmetic_(arithmetic), counts_(counts) {
    const std::size_t bytes = bytes_of(arithmetic);
    call.count = kBound;
    const auto given = random_inputs(arithmetic.element, kRanks, kRanks * kBound, seed);
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto allocate = [&](const char* name, std::size_t size) {
        return memory.allocate(rank, name, size, kStale);
      };
      inputs.push_back(allocate("input", bytes));
      outputs.push_back(allocate("output", bytes));
      sent.push_back(allocate("send counts", kRow));
      received.push_back(allocate("received counts", kRow));
      std::copy(given[rank].begin(), given[rank].end(), inputs[rank].first);
      std::memcpy(sent[rank].first, counts.data() + rank * kRanks, kRow);
      call.inputs.push_back(inputs[rank].first);
      call.outputs.push_back(outputs[rank].first);
      call.send_counts.push_back(reinterpret_cast<const std::int64_t*>(sent[rank].first));
      call.received_counts.push_back(reinterpret_cast<std::int64_t*>(received[rank].first));
    }
    wanted_ = wanted(given);
  }
  static constexpr std::size_t kRow = sizeof(std::int64_t) * kRanks;
  static std::size_t bytes_of(const model::Arithmetic& arithmetic) {
    return kRanks * kBound * arithmetic.element.bytes();
  }
  /// Room of a Memory that it takes on each rank.
  static std::size_t room(const model::Arithmetic& arithmetic) {
    return 2 * Memory::room(bytes_of(arithmetic)) + 2 * Memory::room(kRow);
  }

  /// What is not as the contract has it; "" where all is.
  std::string violation() const {
    reference::RankBuffers left;
    for (int rank = 0; rank < kRanks; ++rank) {
      left.emplace_back(outputs[rank].first, outputs[rank].first + outputs[rank].bytes);
      for (int from = 0; from < kRanks; ++from) {
        const std::int64_t told = call.received_counts[rank][from];
        if (told != told_count(from, rank)) {
          return "rank " + std::to_string(rank) + " was told " + std::to_string(told) +
                 " of rank " + std::to_string(from);
        }
      }
    }
    return first_difference(arithmetic_.element, left, wanted_);
  }

  Call call;
  std::vector<Buffer> inputs, outputs, sent, received;  // [rank]

 private:
  std::int64_t told_count(int from, int to) const {
    if (all_are_innocent(counts_)) return counts_[from * kRanks + to];
    return is_innocent(counts_, from) ? 0 : -1;
  }
  reference::RankBuffers wanted(const reference::RankBuffers& given) const {
    reference::RankBuffers outputs_wanted(kRanks, std::vector(bytes_of(arithmetic_), kStale));
    if (!all_are_innocent(counts_)) return outputs_wanted;
    KernelRun how{.ranks = kRanks, .count = kBound, .geometry = kGeometry};
    how.collective = Collective::all_to_all_v;
    how.send_counts = counts_;
    reference::run_into(schedule_of("flat", arithmetic_, how), given, outputs_wanted);
    return outputs_wanted;
  }

  const model::Arithmetic arithmetic_;
  const Counts counts_;
  reference::RankBuffers wanted_;
};

/// Calls with these counts, one after another.
class Calls {
 public:
  Calls(const model::Arithmetic& arithmetic, const std::vector<Counts>& calls,
        std::string_view fault = "")
      : key_{"flat", arithmetic, fault, Collective::all_to_all_v}, calls_(calls) {}

  /// What is wrong after them; "" where nothing is.
  std::string violation(std::uint64_t seed, bool is_captured = false) const {
    const std::size_t scratch =
        kernels::scratch_bytes(key_.collective, key_.arithmetic, kRanks, kBound);
    Memory memory(kRanks,
                  (calls_.size() + 2) * Memory::room(1 << 14) + Session::room(kGeometry, scratch));
    const Session session(memory, kRanks, kGeometry, scratch);
    RandomWalk choices(seed);
    Emulator emulator(memory, kRanks, choices, {.memory = MemoryKind::gfx942, .finds_races = true});
    Communicator communicator(emulator, session);
    std::vector<Exchange> exchanges;
    for (const Counts& counts : calls_) {
      exchanges.emplace_back(memory, key_.arithmetic, counts, seed + exchanges.size());
    }
    is_captured ? replay(communicator, memory, exchanges) : call(communicator, exchanges);
    const Trace trace = communicator.synchronize();
    if (!trace.hang.empty()) return "hang: " + trace.hang[0];
    if (!trace.out_of_bounds.empty()) return "bounds: " + trace.out_of_bounds[0];
    if (!trace.races.empty()) return describe(trace.races[0], memory);
    for (const std::string& guard : memory.broken_guards()) return "guard: " + guard;
    for (const Exchange& exchange : exchanges) {
      if (const std::string wrong = exchange.violation(); !wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  void call(Communicator& communicator, const std::vector<Exchange>& exchanges) const {
    for (const Exchange& exchange : exchanges) {
      for (int rank = 0; rank < kRanks; ++rank) {
        communicator.collective(rank, key_, exchange.call);
      }
    }
  }
  /// One call is captured, and given the buffers of each before a replay.
  void replay(Communicator& communicator, Memory& memory,
              const std::vector<Exchange>& exchanges) const {
    const Exchange frozen(memory, key_.arithmetic, calls_[0], 0);
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto copy = [&](const std::vector<Buffer>& to, const std::vector<Buffer>& from) {
        communicator.copy(rank, to[rank].first, from[rank].first, to[rank].bytes);
      };
      communicator.begin_capture(rank);
      communicator.collective(rank, key_, frozen.call);
      const Communicator::Graph graph = communicator.end_capture(rank);
      for (const Exchange& one : exchanges) {
        copy(frozen.inputs, one.inputs);
        copy(frozen.outputs, one.outputs);
        copy(frozen.sent, one.sent);
        communicator.replay(rank, graph);
        copy(one.outputs, frozen.outputs);
        copy(one.received, frozen.received);
      }
    }
  }

  const KernelKey key_;
  const std::vector<Counts> calls_;
};

/// Requires that the contract is kept in several interleavings, by both arithmetics.
void require_kept(const std::vector<Counts>& calls, bool is_captured = false) {
  for (const model::Arithmetic& arithmetic : kArithmetics) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(arithmetic.wire.name(), seed);
      REQUIRE(Calls(arithmetic, calls).violation(seed, is_captured) == "");
    }
  }
}

const Counts kZero(kRanks* kRanks, 0), kFull(kRanks* kRanks, kBound);

/// Ragged counts, of which those of some pairs are others.
Counts with(std::vector<std::pair<int, std::int64_t>> others, std::uint64_t seed = 1) {
  Counts counts = ragged_counts(kRanks, kBound, seed);
  for (const auto& [pair, count] : others) counts[pair] = count;
  return counts;
}

}  // namespace

TEST_CASE("counts from none to the bound are received, one block behind the other", "[kernels]") {
  require_kept({kZero});
  require_kept({kFull});
  for (std::uint64_t seed = 1; seed <= 10; ++seed) require_kept({with({}, seed)});
}

TEST_CASE("a count that is not within its bound is told to all ranks, and nothing is written",
          "[kernels]") {
  for (const std::int64_t count : {kBound + 1, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    CAPTURE(count);
    for (const int pair : {0, 2, 4, 8}) require_kept({with({{pair, count}})});
    require_kept({with({{1, count}, {5, count}})});                        // ranks 0 and 1
    require_kept({with({{0, count}, {3, -1}, {7, kBound + 1}})});          // all of them
    require_kept({with({{3, count}, {4, count}, {5, count}}, 2), kZero});  // rank 1, of all
  }
}

TEST_CASE("a call works behind one that was refused", "[kernels]") {
  const Counts too_many = with({{5, kBound + 1}}), negative = with({{0, -7}, {8, -7}});
  require_kept({kFull, too_many, with({}, 3), negative, negative, kZero, kFull});
}

TEST_CASE("counts may change between the replays of a graph", "[kernels]") {
  const std::vector<Counts> changing = {with({}, 1), kZero, with({{5, kBound + 1}}),
                                        with({}, 2), kFull, with({{1, -1}}),
                                        with({}, 3)};
  require_kept(changing, true);
}

TEST_CASE("each planted fault of the counts breaks the contract where it can", "[kernels]") {
  const struct {
    std::string_view fault;
    std::vector<Counts> shows, hides;
  } faults[] = {
      {"unchecked_counts", {with({{5, kBound + 1}})}, {kFull, with({}, 2)}},
      {"counts_of_sender", {with({}, 2)}, {kFull, kZero}},  // which are their own transpose
      {"received_count_lost", {kZero}, {kFull}},
  };
  for (const auto& [fault, shows, hides] : faults) {
    for (const model::Arithmetic& arithmetic : kArithmetics) {
      CAPTURE(std::string(fault), arithmetic.wire.name());
      REQUIRE(Calls(arithmetic, shows, fault).violation(1) != "");
      REQUIRE(Calls(arithmetic, hides, fault).violation(1) == "");
    }
  }
}

}  // namespace tally::test
