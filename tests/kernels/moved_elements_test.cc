// Goal: what only moves keeps its bits, those of every NaN too, whatever its type.
// Method: random bytes, of which most are NaN in some type that they could be of, through every
// collective that moves; the outputs are copies of the inputs' blocks, byte for byte.

#include "model/builders.h"
#include "tests/kernels/run_helper.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using kernels::emulator::KernelKey;
using model::Collective, model::ElementType, model::Format, model::Moved;

constexpr ElementType kElements[] = {Moved::int8, Moved::int32, Moved::int64, Moved::f64,
                                     Format::f16, Format::bf16, Format::f32};
constexpr std::byte kStale{0x7F};

/// Half of the words have all bits of an exponent, of 2, 4 and 8 bytes alike.
reference::RankBuffers random_bytes(int ranks, std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  reference::RankBuffers all(ranks);
  for (auto& one : all) {
    while (one.size() < bytes) {
      const std::uint64_t word = random.bits() | (random.below(2) == 0 ? 0x7FF0'7F80'7F80'7C00 : 0);
      for (int b = 0; b < 8 && one.size() < bytes; ++b) {
        one.push_back(static_cast<std::byte>(word >> (8 * b)));
      }
    }
  }
  return all;
}

/// What each rank ends with, by the collective's contract alone.
reference::RankBuffers moved(const KernelRun& how, std::size_t element_bytes,
                             const reference::RankBuffers& inputs) {
  const std::int64_t elements = model::output_elements(how.collective, how.ranks, how.count);
  reference::RankBuffers outputs;
  for (int rank = 0; rank < how.ranks; ++rank) {
    auto& output = outputs.emplace_back(elements * element_bytes, kStale);
    const bool has_counts = !how.send_counts.empty();
    const std::int64_t end =
        has_counts ? model::receive_offset(how.send_counts, how.ranks, how.ranks, rank) : elements;
    for (std::int64_t i = 0; i < end; ++i) {
      const model::Contributions from =
          has_counts ? model::contributions_v(how.send_counts, how.ranks, rank, i)
                     : model::contributions(how.collective, how.ranks, how.count, rank, i);
      const auto first = inputs[from.first_rank].begin() + from.element * element_bytes;
      std::copy(first, first + element_bytes, output.begin() + i * element_bytes);
    }
  }
  return outputs;
}

}  // namespace

TEST_CASE("elements that only move keep their bits", "[kernels]") {
  int runs = 0;
  for (const ElementType element : kElements) {
    const model::Arithmetic arithmetic{element};
    const std::size_t bytes = element.bytes();
    for (const model::Builder& builder : model::builders()) {
      if (!model::only_moves(builder.collective)) continue;
      for (const std::int64_t count : {0, 1, 7, 128, 300, 1000}) {
        ++runs;
        KernelRun how{.ranks = 3,
                      .count = count,
                      .geometry = {2, 8, 64, 1 + runs % 3},
                      .misalignment = runs % 2 == 0 ? bytes : 0,
                      .seed = static_cast<std::uint64_t>(runs)};
        how.collective = builder.collective;
        if (builder.collective == Collective::all_to_all_v) {
          how.send_counts = ragged_counts(how.ranks, count, how.seed);
        }
        const std::int64_t given = model::input_elements(how.collective, how.ranks, count);
        const auto inputs = random_bytes(how.ranks, given * bytes, how.seed);
        CAPTURE(std::string(element.name()), std::string(model::name(builder.collective)), count);
        const KernelOutcome outcome =
            run_kernel({builder.algorithm, arithmetic, "", builder.collective}, how, inputs);
        REQUIRE(outcome.misbehaviour() == "");
        REQUIRE(was_told_what_was_sent(outcome, how));
        REQUIRE(outcome.outputs == moved(how, bytes, inputs));
      }
    }
  }
  REQUIRE(runs == 7 * 3 * 6);
}

}  // namespace tally::test
