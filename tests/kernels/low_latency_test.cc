// Goal: each call takes its own packets, whatever calls preceded it, around the end of 32 bits too,
// and a rank that is missing is named, not waited for without end.
// Method: one large sum, cut into calls that follow each other, each with inputs and outputs of its
// own, so that what an earlier call left shows. The same calls are wrong where the kernel has but
// one half of the scratch, never writes packets anew, or counts its calls in another way.

#include "kernels/low_latency.h"

#include <cstring>
#include <numeric>
#include <optional>

#include "kernels/algorithms.h"
#include "kernels/emulator/emulated_gpu.h"
#include "tests/kernels/run_helper.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using namespace kernels::emulator;
using kernels::FaithfulPlan;
using kernels::FlatLl;
using model::Accumulate;
using model::Format;

using F32 = kernels::Element<Format::f32>;
template <class Plan>
using SumOf =
    kernels::Recipe<F32, kernels::Sum, kernels::AccumulateElement, kernels::PlainCodec<F32>, Plan>;
constexpr model::Arithmetic kPlain{Format::f32, model::kNoWire, model::Op::sum,
                                   Accumulate::element};

/// For calls of up to `count` elements.
KernelData data_of(const reference::RankBuffers& inputs, std::int64_t count) {
  const int ranks = static_cast<int>(inputs.size());
  return {.inputs = inputs,
          .scratch_bytes = kernels::scratch_bytes(model::Collective::all_reduce, kPlain, 1, count),
          .packet_bytes = kernels::packet_bytes("flat_ll", kPlain, ranks, count),
          .element_bytes = sizeof(float)};
}

struct OneHalf : FaithfulPlan {
  static int half(std::uint32_t) { return 0; }
};
struct NeverRefreshes : FaithfulPlan {
  static constexpr std::uint32_t kRefreshPeriod = 0;
};
struct RefreshesOften : FaithfulPlan {
  static constexpr std::uint32_t kRefreshPeriod = 8;
};

/// Blocks without elements do not count the call.
struct CountsOwnWork {
  template <class R>
  static void run(EmulatedGpu& gpu, const typename R::Arguments& a) {
    const kernels::Span mine = kernels::piece({0, a.count}, gpu.block(), gpu.blocks());
    if (mine.begin < mine.end) FlatLl::run<R>(gpu, a);
  }
};

/// Only the blocks that a launch has count it.
struct CountsOwnBlocks {
  template <class R>
  static void run(EmulatedGpu& gpu, typename R::Arguments a) {
    a.packets.blocks = gpu.blocks();
    FlatLl::run<R>(gpu, a);
  }
};

/// Calls without elements count, though in them nobody waits for the others.
struct CountsEmptyCalls {
  template <class R>
  static void run(EmulatedGpu& gpu, const typename R::Arguments& a) {
    FlatLl::run<R>(gpu, a);
    if (a.count == 0) kernels::PacketExchange<R, EmulatedGpu>(gpu, a).finish();
  }
};

/// One of the calls that a sum is cut into.
struct Piece {
  std::int64_t count;
  Geometry geometry;
};
constexpr Geometry kLarge{3, 4, 64}, kSmall{1, 2, 64};

std::int64_t total(const std::vector<Piece>& pieces) {
  std::int64_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.count;
  return sum;
}

/// The part of a call that is `count` elements of f32 from `first` on.
Call part_of(const Call& call, std::int64_t first, std::int64_t count) {
  Call part{count, {}, {}};
  for (const void* input : call.inputs) {
    part.inputs.push_back(static_cast<const float*>(input) + first);
  }
  for (void* output : call.outputs) part.outputs.push_back(static_cast<float*>(output) + first);
  return part;
}

/// All packets hold this flag, as if a call had written them 2^32 calls ago.
void plant(const Session& session, std::uint32_t flag) {
  for (const Buffer& packets : session.packets) {
    for (std::size_t i = 4; i < packets.bytes; i += 8) {
      std::memcpy(packets.first + i, &flag, sizeof flag);
    }
  }
}

/// flat_ll, piece by piece, on the ranks other than `missing`.
template <class Plan, class Algorithm = FlatLl>
Launch in_pieces(const std::vector<Piece>& pieces, std::optional<std::uint32_t> planted = {},
                 int missing = -1) {
  return [=](Emulator& emulator, const Session& session, const Call& call) {
    if (planted) plant(session, *planted);
    std::int64_t first = 0;
    for (const Piece& piece : pieces) {
      const Call part = part_of(call, first, piece.count);
      first += piece.count;
      for (int rank = 0; rank < session.ranks; ++rank) {
        if (rank == missing) continue;
        emulator.launch(rank, piece.geometry,
                        [a = bind<SumOf<Plan>>(session, part, rank)](EmulatedGpu& gpu) {
                          Algorithm::template run<SumOf<Plan>>(gpu, a);
                        });
      }
    }
  };
}

/// What is wrong with the sum that the pieces should make; "" where nothing.
std::string wrong(const Launch& launch, KernelRun how) {
  const auto inputs = random_inputs(Format::f32, how.ranks, how.count, 5);
  const KernelOutcome outcome = run_kernel(launch, how, data_of(inputs, how.count));
  if (const std::string what = outcome.misbehaviour(); !what.empty()) return what;
  const auto wanted = reference::run(schedule_of("flat_ll", kPlain, how), inputs);
  return first_difference(Format::f32, outcome.outputs, wanted);
}

/// In how many of 30 interleavings the sum is wrong.
template <class Plan, class Algorithm = FlatLl>
int failures(const std::vector<Piece>& pieces, std::uint32_t first_epoch = 0,
             std::optional<std::uint32_t> planted = {}) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const KernelRun how{.ranks = 3,
                        .count = total(pieces),
                        .geometry = kLarge,
                        .in_place = seed % 3 == 0,
                        .seed = seed,
                        .has_leaders = seed % 2 == 0,
                        .first_epoch = first_epoch};
    count += wrong(in_pieces<Plan, Algorithm>(pieces, planted), how) != "";
  }
  return count;
}

/// `calls` small calls, so that the next one's epoch is `first` + calls + 1; then a large one.
std::vector<Piece> small_then_large(int calls) {
  std::vector<Piece> pieces(calls, {5, kLarge});
  pieces.push_back({700, kLarge});
  return pieces;
}

}  // namespace

TEST_CASE("calls of all sizes and launches follow each other", "[kernels]") {
  // Words pass from block to block, and blocks and threads come and go.
  const std::vector<Piece> pieces = {{1, kLarge},  {512, kLarge}, {256, kLarge}, {100, kLarge},
                                     {0, kLarge},  {700, kSmall}, {256, kLarge}, {1, kSmall},
                                     {0, kSmall},  {512, kLarge}, {256, kLarge}, {40, kSmall},
                                     {700, kLarge}};
  for (const std::uint32_t first : {0u, 0xFFFF'FFF8u, 0x3FFF'FFFAu, 0x7FFF'FFFFu}) {
    CAPTURE(first);
    REQUIRE(failures<FaithfulPlan>(pieces, first) == 0);
  }
  REQUIRE(failures<FaithfulPlan, CountsOwnWork>(pieces) > 0);
  REQUIRE(failures<FaithfulPlan, CountsOwnBlocks>(pieces) > 0);
}

TEST_CASE("calls in which nobody waits must not count", "[kernels]") {
  const std::vector<Piece> pieces = {{300, kLarge}, {0, kLarge}, {300, kLarge}, {0, kLarge},
                                     {300, kLarge}, {0, kLarge}, {300, kLarge}, {0, kLarge}};
  REQUIRE(failures<FaithfulPlan>(pieces) == 0);
  REQUIRE(failures<FaithfulPlan, CountsEmptyCalls>(pieces) > 0);
}

TEST_CASE("two halves of the scratch are enough, and one is not", "[kernels]") {
  const std::vector<Piece> alike(6, {300, kLarge});
  REQUIRE(failures<FaithfulPlan>(alike) == 0);
  REQUIRE(failures<OneHalf>(alike) > 0);
}

TEST_CASE("every call with elements counts once, in all blocks", "[kernels]") {
  for (const std::uint32_t first : {0u, 0xFFFF'FFFEu}) {
    const std::vector<Piece> pieces = {{300, kLarge}, {0, kLarge}, {5, kSmall}, {300, kLarge}};
    const KernelRun how{
        .ranks = 2, .count = total(pieces), .geometry = kLarge, .first_epoch = first};
    const KernelOutcome outcome =
        run_kernel(in_pieces<FaithfulPlan>(pieces), how,
                   data_of(random_inputs(Format::f32, 2, how.count, 5), how.count));
    REQUIRE(outcome.misbehaviour() == "");
    for (const auto& epochs : outcome.packet_epochs) {
      REQUIRE(epochs == std::vector<std::uint32_t>(3, first + 3));
    }
    // The barriers of other algorithms are elsewhere.
    for (const auto& epochs : outcome.epochs) REQUIRE(epochs == std::vector(3, first));
  }
}

TEST_CASE("a flag of 2^32 calls ago is not taken for one that is due", "[kernels]") {
  // 2^30 lies between the epochs 0x3FFFFFF9 and 0x40000003, 2^32 between 0xFFFFFFF1 and 3.
  const std::vector<Piece> ten = small_then_large(10), eighteen = small_then_large(18);
  for (const std::uint32_t due : {0x4000'0003u, 0x4000'0002u}) {
    CAPTURE(due);
    REQUIRE(failures<FaithfulPlan>(ten, due - 11, due) == 0);
    REQUIRE(failures<NeverRefreshes>(ten, due - 11, due) > 0);
  }
  for (const std::uint32_t due : {3u, 2u}) {
    CAPTURE(due);
    REQUIRE(failures<FaithfulPlan>(eighteen, due - 19, due) == 0);
  }
}

TEST_CASE("after every period no packet holds a flag that is due within the next", "[kernels]") {
  for (int calls = 9; calls < 20; ++calls) {
    const std::uint32_t first = 0xFFFF'FFFC, due = first + static_cast<std::uint32_t>(calls) + 1;
    CAPTURE(calls);
    REQUIRE(failures<RefreshesOften>(small_then_large(calls), first, due) == 0);
  }
  // Too few calls to have come through a period: the planted flag is still there.
  REQUIRE(failures<RefreshesOften>(small_then_large(2), 0x1'0001, 0x1'0004) > 0);
}

TEST_CASE("packets and other algorithms follow each other", "[kernels]") {
  constexpr std::string_view kAlgorithms[] = {"flat_ll", "flat",    "flat_ll", "ring",
                                              "flat_ll", "flat_ll", "tree",    "flat_ll"};
  const Launch launch = [&](Emulator& emulator, const Session& session, const Call& call) {
    std::int64_t first = 0;
    for (const std::string_view algorithm : kAlgorithms) {
      find_kernel({algorithm, kPlain, ""})(emulator, session, part_of(call, first, 300));
      first += 300;
    }
  };
  reference::RankBuffers inputs;  // integers, whose sums are the same in every order
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<double> values(8 * 300);
    std::iota(values.begin(), values.end(), 1000.0 * rank);
    inputs.push_back(codes_of(Format::f32, values));
  }
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const KernelRun how{.ranks = 4, .count = 8 * 300, .geometry = {2, 4, 64}, .seed = seed};
    const KernelOutcome outcome = run_kernel(launch, how, data_of(inputs, 300));
    REQUIRE(outcome.misbehaviour() == "");
    const auto wanted = reference::run(schedule_of("flat", kPlain, how), inputs);
    REQUIRE(first_difference(Format::f32, outcome.outputs, wanted) == "");
  }
}

TEST_CASE("a rank that never launches is named by all who wait for its packets", "[kernels]") {
  const std::vector<Piece> pieces = {{4, {1, 2, 64}}};  // the first thread has a word of its own
  const KernelRun how{.ranks = 3, .count = 4, .geometry = {1, 2, 64}};
  const KernelOutcome outcome = run_kernel(in_pieces<FaithfulPlan>(pieces, {}, 1), how,
                                           data_of(random_inputs(Format::f32, 3, 4, 2), 4));
  REQUIRE(outcome.trace.hang.size() == 2);  // each waits once, and for no other packet afterwards
  for (const int rank : {0, 2}) {
    CAPTURE(outcome.trace.hang[rank / 2]);
    REQUIRE(outcome.trace.hang[rank / 2].rfind("rank " + std::to_string(rank) +
                                                   " block 0 thread 0 waits for packets of rank " +
                                                   std::to_string(rank),
                                               0) == 0);
    REQUIRE(outcome.stuck[rank].happened == 1);
    REQUIRE(outcome.stuck[rank].peer == 1);
    REQUIRE(outcome.stuck[rank].target == 1);
  }
  REQUIRE(outcome.stuck[1].happened == 0);
}

}  // namespace tally::test
