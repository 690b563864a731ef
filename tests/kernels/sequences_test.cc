// Goal: whatever calls follow one another, on whatever streams, launched or replayed, with whoever
// delayed, every one of them leaves what it leaves alone.
// Method: RapidCheck draws 200 sequences for each memory model; the reference is the model, the
// emulated communicator the system, run under 5 interleavings. Kernels with planted faults fail,
// and what is found shrinks to the fewest calls that show the fault.

#include <algorithm>
#include <sstream>

#include "model/check.h"
#include "tests/kernels/sequence_check.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::test {
namespace {

using kernels::emulator::KernelKey;
using kernels::emulator::MemoryKind;
using kernels::emulator::Scripted;
using kernels::emulator::Settings;
using model::Accumulate;
using model::Format;
using model::Op;

constexpr int kSequencesOfProperty = 200, kInterleavings = 5;
constexpr int kInterleavingsOfFault = 10;

const Settings kStrong{};
const Settings kCaches{.memory = MemoryKind::gfx942};
const Settings kCachesAndRaces{.memory = MemoryKind::gfx942, .finds_races = true};

/// The one that most faults are planted in.
const model::Arithmetic kPlain{Format::bf16, model::kNoWire, Op::sum, Accumulate::element};

std::vector<model::Arithmetic> arithmetics() {
  std::vector<model::Arithmetic> all;
  for (const Format element : {Format::bf16, Format::f16, Format::f32}) {
    for (const Op op : {Op::sum, Op::avg, Op::min}) {
      all.push_back({element, model::kNoWire, op, Accumulate::element});
    }
    const model::Wire wire = model::cast_wire(Format::e4m3fn, model::kSaturate);
    for (const Op op : {Op::sum, Op::avg}) all.push_back({element, wire, op, Accumulate::f32});
  }
  return all;
}

/// RC_PARAMS may ask for more sequences.
template <class Testable>
rc::detail::TestResult check(Testable testable, rc::detail::TestParams params) {
  params.maxSuccess = std::max(params.maxSuccess, kSequencesOfProperty);
  return rc::detail::checkTestable(testable, rc::detail::TestMetadata(), params);
}

/// The sequence that RapidCheck ends with where kernels have a fault; nothing where it finds none.
struct Found {
  std::optional<Sequence> sequence;
  std::string text;  // as a failure prints it
};
Found find(std::string_view fault, const Settings& settings) {
  const std::vector<KernelKey> kernels = kernels_with({kPlain}, fault);
  TALLY_CHECK(!kernels.empty(), "a test asks for a fault that is not planted");
  Found found;
  const auto holds = [&] {
    const auto sequence = *any_sequence(kernels).as("sequence");
    const std::string violation =
        SequenceCheck(sequence, settings).violation(kInterleavingsOfFault);
    if (!violation.empty()) found.sequence = sequence;  // the last that fails is the smallest
    RC_ASSERT(violation == "");
  };
  std::ostringstream text;
  rc::detail::printResultMessage(check(holds, {.seed = 1}), text);
  found.text = text.str();
  return found;
}

}  // namespace

TEST_CASE("a sequence of calls", "[kernels]") {
  const std::vector<KernelKey> kernels = kernels_with(arithmetics());
  const auto holds_under = [&](const std::string& claim, const Settings& settings) {
    const auto holds = [&] {
      const auto sequence = *any_sequence(kernels).as("sequence");
      RC_ASSERT(SequenceCheck(sequence, settings).violation(kInterleavings) == "");
    };
    report_property(claim, check(holds, rc::detail::configuration().testParams),
                    std::source_location::current());
  };
  holds_under("leaves in strong memory what the reference leaves", kStrong);
  holds_under("leaves the same in gfx942's caches, and has no races", kCachesAndRaces);
}

TEST_CASE("sequences of every kind are drawn, and can be read", "[kernels]") {
  const rc::Gen<Sequence> any = any_sequence(kernels_with(arithmetics()));
  std::ostringstream text;
  for (int i = 0; i < 500; ++i) text << any(rc::Random(i), 0).value() << '\n';
  for (const char* kind :
       {"4 ranks, blocks x threads 2x4, seed ", "\ncall 1: flat bf16 sum none count=", "\ncall 8: ",
        ": tree f32 avg e4m3fn:sat count=", ": ring f16 min none count=",
        ": reduce_scatter flat f32 avg none count=", ": all_gather flat f16 sum none count=",
        ": all_to_all flat bf16 sum e4m3fn:sat count=", ": all_to_all_v flat f32 sum none count=",
        ", rounds 3\ncall 1: ", ": flat_ll bf16 sum none count=", " count=0 stream 1",
        " count=512 ", " count=513 ", " count=2000 ", ", in place, replay x2, delay rank ",
        " stream 0, replay x3", " delay rank 3 block 1"}) {
    INFO(kind);
    CHECK(text.str().find(kind) != std::string::npos);
  }
}

TEST_CASE("a delayed block is overtaken in the call that delays it, and in no other", "[kernels]") {
  const auto violation = [](std::optional<Delay> in_first, std::optional<Delay> in_second) {
    const KernelKey kernel{"flat", kPlain, "no_exit_barrier"};
    Sequence sequence;
    for (const auto& delay : {in_first, in_second}) {
      sequence.steps.push_back({.kernel = kernel, .count = 100, .delay = delay});
    }
    Scripted usual({});
    return SequenceCheck(sequence, kStrong).violation(usual);
  };
  REQUIRE(violation(std::nullopt, std::nullopt) == "");
  // Rank 1 stages its second input where rank 0 has not read the first.
  REQUIRE(violation(Delay{0, 0}, std::nullopt).find("call 1, launch 1, rank 0, ") == 0);
  REQUIRE(violation(Delay{0, 1}, std::nullopt) == "");
  REQUIRE(violation(std::nullopt, Delay{0, 0}) == "");
}

TEST_CASE("a sequence that shows a fault shrinks to the fewest calls that do", "[kernels]") {
  struct Planted {
    const char* fault;
    const Settings& settings;
    int launches;  // that it takes to see the fault
  };
  const Planted kPlanted[] = {
      {"stale_scratch", kStrong, 1},   {"missing_barrier", kStrong, 1},
      {"no_exit_barrier", kStrong, 2}, {"flag_in_graph", kStrong, 2},
      {"epochs_reset", kStrong, 2},    {"no_release", kCaches, 1},
      {"no_acquire", kCaches, 1},      {"agent_scope_flags", kCachesAndRaces, 1},
  };
  for (const auto& [fault, settings, launches] : kPlanted) {
    const Found found = find(fault, settings);
    INFO(fault << '\n' << found.text);
    REQUIRE(found.sequence);
    int in_all = 0;
    for (const Step& step : found.sequence->steps) in_all += step.launches();
    CHECK(in_all == launches);
  }
}

TEST_CASE("a fault of replayed graphs is found in a replayed call, and printed so", "[kernels]") {
  const Found found = find("flag_in_graph", kStrong);
  const std::string call = "\ncall 1: flat bf16 sum none count=1 stream 0, replay x2\n";
  INFO(found.text);
  REQUIRE(found.text.find("2 ranks, blocks x threads 1x1, seed ") != std::string::npos);
  REQUIRE(found.text.find(call) != std::string::npos);
  REQUIRE(found.text.find("\ncall 2: ") == std::string::npos);
}

}  // namespace tally::test
