// Goal: the barrier between ranks counts on over calls and around the end of 32 bits, and a rank
// that is missing is named, not waited for without end.
// Method: all-reduce kernels of the table, several calls in a row, and calls that one rank never
// makes.

#include "kernels/barrier.h"

#include "kernels/all_reduce_flat.h"
#include "kernels/emulator/emulated_gpu.h"
#include "tests/kernels/run_helper.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using namespace kernels::emulator;
using model::Accumulate;
using model::Format;

constexpr model::Arithmetic kPlain{Format::f32, model::kNoWire, model::Op::sum,
                                   Accumulate::element};

KernelData data_of(const reference::RankBuffers& inputs, std::int64_t count) {
  return {.inputs = inputs,
          .scratch_bytes = kernels::scratch_bytes(model::Collective::all_reduce, kPlain, 1, count),
          .element_bytes = sizeof(float)};
}

/// Meetings of a call of three ranks.
std::uint32_t meetings(std::string_view algorithm) {
  return algorithm == "flat" ? 2 : algorithm == "tree" ? 3 : 5;
}

/// The kernel, except on one rank, which never launches.
Launch without_rank(int missing) {
  using R =
      kernels::Recipe<kernels::Element<Format::f32>, kernels::Sum, kernels::AccumulateElement,
                      kernels::PlainCodec<kernels::Element<Format::f32>>, kernels::FaithfulPlan>;
  return [missing](Emulator& emulator, const Session& session, const Call& call) {
    for (int rank = 0; rank < session.ranks; ++rank) {
      if (rank == missing) continue;
      emulator.launch(rank, session.geometry, [a = bind<R>(session, call, rank)](EmulatedGpu& gpu) {
        kernels::all_reduce_flat<R>(gpu, a);
      });
    }
  };
}

}  // namespace

TEST_CASE("several calls in a row are right, and count their barriers", "[kernels]") {
  const auto inputs = random_inputs(Format::f32, 3, 300, 5);
  for (const std::string_view algorithm : {"flat", "tree", "ring"}) {
    for (const std::uint32_t first : {0u, 0xFFFF'FFFEu, 0x7FFF'FFFEu}) {
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const int calls = 1 + static_cast<int>(seed % 4);
        const KernelRun how{.ranks = 3,
                            .count = 300,
                            .geometry = {2, 4, 64},
                            .seed = seed,
                            .first_epoch = first,
                            .calls = calls};
        CAPTURE(algorithm == "flat", first, seed);
        const KernelOutcome outcome = run_kernel({algorithm, kPlain, ""}, how, inputs);
        const auto wanted = reference::run(schedule_of(algorithm, kPlain, how), inputs);
        REQUIRE(outcome.misbehaviour() == "");
        REQUIRE(first_difference(Format::f32, outcome.outputs, wanted) == "");
        const std::uint32_t last = first + meetings(algorithm) * static_cast<std::uint32_t>(calls);
        for (const auto& epochs : outcome.epochs) {
          REQUIRE(epochs == std::vector<std::uint32_t>{last, last});
        }
      }
    }
  }
}

TEST_CASE("algorithms may follow each other in any order", "[kernels]") {
  const char* orders[] = {"flat ring", "ring flat", "tree ring", "ring tree", "ring ring"};
  for (const std::string order : orders) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const std::string first = order.substr(0, 4), second = order.substr(5);
      const Launch launch = [&](Emulator& emulator, const Session& session, const Call& call) {
        Call shorter = call;
        shorter.count = call.count / 2;  // other parts of the scratch
        find_kernel({first, kPlain, ""})(emulator, session, shorter);
        find_kernel({second, kPlain, ""})(emulator, session, call);
        find_kernel({first, kPlain, ""})(emulator, session, shorter);
        find_kernel({second, kPlain, ""})(emulator, session, call);
      };
      const KernelRun how{.ranks = 4,
                          .count = 1500,
                          .geometry = {2, 4, 64},
                          .seed = seed,
                          .first_epoch = 0xFFFF'FFFA};
      const auto inputs = random_inputs(Format::f32, 4, 1500, seed);
      const KernelOutcome outcome = run_kernel(launch, how, data_of(inputs, how.count));
      CAPTURE(order, seed);
      REQUIRE(outcome.misbehaviour() == "");
      const auto wanted = reference::run(schedule_of(second, kPlain, how), inputs);
      REQUIRE(first_difference(Format::f32, outcome.outputs, wanted) == "");
      for (const auto& epochs : outcome.epochs) REQUIRE(epochs == outcome.epochs[0]);
    }
  }
}

TEST_CASE("a ring leaves no flag behind, not even between ranks that are no neighbours",
          "[kernels]") {
  const auto inputs = random_inputs(Format::f32, 5, 300, 5);
  std::vector<Buffer> flags;
  const Launch launch = [&](Emulator& emulator, const Session& session, const Call& call) {
    flags = session.flags;
    find_kernel({"ring", kPlain, ""})(emulator, session, call);
    // Behind the ring in each stream: when all are done, every flag has the last epoch.
    for (int rank = 0; rank < session.ranks; ++rank) {
      emulator.launch(rank, {1, 1, 64}, [&flags, rank](EmulatedGpu& gpu) {
        for (int sender = 0; sender < 5; ++sender) {
          if (sender == rank) continue;
          const auto* flag = reinterpret_cast<const std::uint32_t*>(flags[rank].first) + sender;
          gpu.wait(flag, kernels::Reached{9}, kernels::Acquire{}, kernels::System{});
        }
      });
    }
  };
  const KernelRun how{.ranks = 5, .count = 300, .geometry = {1, 4, 64}};
  REQUIRE(run_kernel(launch, how, data_of(inputs, how.count)).misbehaviour() == "");
}

TEST_CASE("the same seed gives the same bytes and the same trace", "[kernels]") {
  const auto inputs = random_inputs(Format::f32, 4, 500, 9);
  for (const std::string_view algorithm : {"flat", "tree", "ring"}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const KernelRun how{
          .ranks = 4, .count = 500, .geometry = {2, 8, 64}, .seed = seed, .calls = 2};
      const KernelOutcome a = run_kernel({algorithm, kPlain, ""}, how, inputs);
      const KernelOutcome b = run_kernel({algorithm, kPlain, ""}, how, inputs);
      REQUIRE(a.outputs == b.outputs);
      REQUIRE(a.trace.edges == b.trace.edges);
      REQUIRE(a.trace.link_bytes == b.trace.link_bytes);
      // Another seed, the same values.
      KernelRun other = how;
      other.seed = seed + 1000;
      REQUIRE(run_kernel({algorithm, kPlain, ""}, other, inputs).outputs == a.outputs);
    }
  }
}

TEST_CASE("the same seed gives the same strays and the same hang", "[kernels]") {
  const auto inputs = random_inputs(Format::bf16, 3, 300, 9);
  const model::Arithmetic arithmetic{Format::bf16, model::kNoWire, model::Op::sum,
                                     Accumulate::element};
  const KernelRun how{.ranks = 3, .count = 300, .geometry = {2, 8, 64}, .seed = 4};
  const KernelKey key{"flat", arithmetic, "write_past_end"};
  const KernelOutcome a = run_kernel(key, how, inputs), b = run_kernel(key, how, inputs);
  REQUIRE(!a.trace.out_of_bounds.empty());
  REQUIRE(a.trace.out_of_bounds == b.trace.out_of_bounds);
  REQUIRE(a.broken_guards == b.broken_guards);
}

TEST_CASE("a rank that never launches is named by all who waited for it", "[kernels]") {
  const auto inputs = random_inputs(Format::f32, 3, 20, 2);
  const KernelData data = data_of(inputs, 20);
  const KernelRun how{.ranks = 3, .count = 20, .geometry = {1, 4, 64}};
  const KernelOutcome outcome = run_kernel(without_rank(1), how, data);
  REQUIRE(outcome.trace.hang ==
          std::vector<std::string>{
              "rank 0 block 0 thread 1 waits for flags of rank 0, byte 4 to reach 1; it holds 0, "
              "never written",
              "rank 2 block 0 thread 1 waits for flags of rank 2, byte 4 to reach 1; it holds 0, "
              "never written"});
  for (const int rank : {0, 2}) {
    REQUIRE(outcome.stuck[rank].happened == 1);
    REQUIRE(outcome.stuck[rank].block == 0);
    REQUIRE(outcome.stuck[rank].peer == 1);
    REQUIRE(outcome.stuck[rank].target == 1);
  }
  REQUIRE(outcome.stuck[1].happened == 0);
  // The kernels went on to their ends.
  REQUIRE(outcome.epochs == std::vector<std::vector<std::uint32_t>>{{2}, {0}, {2}});
}

TEST_CASE("where a wait gave up is written once", "[kernels]") {
  const auto inputs = random_inputs(Format::f32, 4, 20, 2);
  const KernelData data = data_of(inputs, 20);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const KernelRun how{.ranks = 4, .count = 20, .geometry = {2, 1, 64}, .seed = seed};
    const KernelOutcome outcome = run_kernel(without_rank(3), how, data);
    // The first barrier of the block, not the second, which waits in vain too.
    REQUIRE(outcome.stuck[0].peer == 3);
    REQUIRE(outcome.stuck[0].target == 1);
  }
}

}  // namespace tally::test
