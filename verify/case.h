#pragma once

// One case: a sequence of calls, with everything that decides what must come out and how it is
// run. Its text is the replay line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/emulator/emulator.h"
#include "model/builders.h"
#include "reference/inputs.h"

namespace tally::verify {

/// Where the buffers lie: apart and 256-byte aligned; the output in the input's place; apart, and
/// aligned to one element only.
enum class Placement : std::uint8_t { out_of_place, in_place, misaligned };

std::string_view name(Placement placement);
std::vector<Placement> all_placements();
model::Result<Placement> parse_placement(std::string_view name);

/// How a kernel is launched on every rank. `wave` is the size of the virtual GPU's waves.
struct LaunchShape {
  int blocks = 2, threads = 64, wave = 64;
  int rounds = 1;            // that flat algorithms work in
  std::string text() const;  // 2x64w64, 2x64w64r4
};
/// Reads what text() wrote; without the wave's size it is 64. Nothing where it is out of range.
std::optional<LaunchShape> parse_launch(std::string_view text);

// What a case may ask for.
inline constexpr int kMaxRanks = 16;  // of the kernels
inline constexpr int kMaxBlocks = 304;
inline constexpr int kMaxThreads = 1024;
inline constexpr int kMaxRounds = 256;
inline constexpr int kMaxInterleavings = 1'000'000;
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 33;
inline constexpr std::size_t kMaxCalls = 16;

/// The algorithm of a case for a library that chooses by itself.
inline constexpr std::string_view kLibrarysChoice = "auto";

using kernels::emulator::Deviation;
using kernels::emulator::MemoryKind;

struct Case {
  model::Collective collective = model::Collective::all_reduce;
  std::string algorithm = "flat";
  model::Arithmetic arithmetic;
  int ranks = 1;
  std::vector<std::int64_t> counts;  // one call each, in a row, on the same staging and flags
  Placement placement = Placement::out_of_place;
  LaunchShape launch;
  /// Each rank captures the call once and replays it with other inputs; all counts are equal. In
  /// the text "launch=2x64w64:graph".
  bool graph = false;
  std::uint64_t seed = 1;  // of the inputs, and of the interleavings that are tried
  int interleavings = 1;
  MemoryKind memory = MemoryKind::strong;  // what the threads see of each other's stores
  std::string fault;                       // planted in the kernel; empty for none
  /// The one interleaving that is run, instead of drawn ones: where it differs from the usual one,
  /// in which a thread goes on until it has to wait. In the text "schedule=usual" where it does
  /// not.
  std::optional<std::vector<Deviation>> script;
  reference::Input input{reference::InputKind::order_free, "order_free", nullptr};

  /// all_reduce/flat/f32/none/sum/element/ranks=8/counts=1000,334,1037/out_of_place/
  /// launch=2x64w64/seed=1/interleavings=1/memory=strong/fault=none/input=normal
  /// A premul_sum has its factor, as in premul_sum:0.25. With a script, "schedule=12:3,57:1" stands
  /// before the input.
  std::string text() const;
  /// The schedule of call number `call`.
  model::Schedule schedule(int call) const;
  /// Elements of a rank's input and output in it.
  std::int64_t input_elements(int call) const {
    return model::input_elements(collective, ranks, counts[call]);
  }
  std::int64_t output_elements(int call) const {
    return model::output_elements(collective, ranks, counts[call]);
  }
};

/// Whether accesses that nothing orders fail the case even where the values come out right: where
/// more than one interleaving is tried, where one is given, and in memory that is not strong.
bool finds_races(const Case& c);

/// What there is not in any size: the algorithm, the placement, or the arithmetic with it.
std::optional<model::Error> missing(const Case& c);

/// What in the case does not fit together; nothing where all is well.
std::optional<model::Error> validate(const Case& c);

/// Reads what text() wrote; opens the input, and validates.
model::Result<Case> parse_case(const std::string& text);

}  // namespace tally::verify
