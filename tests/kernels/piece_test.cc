// Goal: the kernels divide elements as the contract says, and as the model does.
// Method: enumerate small sizes and mark the elements one by one; compare with the model, also
// for sizes beyond 2^32.

#include "kernels/movement.h"
#include "model/partition.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::kernels {
namespace {

bool equal(Span a, model::Range b) { return a.begin == b.begin && a.end == b.end; }

/// Whether blocks of the chunks of [0, n) hold each element once, and cut no unit.
bool covers_once(std::int64_t n, int ranks, int blocks) {
  std::vector<std::uint8_t> marks(n, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const Span chunk = piece({0, n}, rank, ranks);
    for (int block = 0; block < blocks; ++block) {
      const Span part = piece(chunk, block, blocks);
      if (part.begin < 0 || part.begin > part.end || part.end > n) return false;
      if (part.begin != part.end && part.begin % kUnit != 0) return false;
      for (std::int64_t i = part.begin; i < part.end; ++i) ++marks[i];
    }
  }
  return marks == std::vector<std::uint8_t>(n, 1);
}

}  // namespace

TEST_CASE("pieces of pieces cover all elements once, in whole units", "[kernels]") {
  for (std::int64_t n = 0; n <= 3000; ++n) {
    if ((n + 2) % kUnit > 4 && n % 13 != 0) continue;
    for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
      for (int blocks = 1; blocks <= 5; ++blocks) {
        if (!covers_once(n, ranks, blocks)) FAIL(n << ' ' << ranks << ' ' << blocks);
      }
    }
  }
}

TEST_CASE("pieces are the model's chunks and parts: n to 3000, 16 ranks, 5 blocks", "[kernels]") {
  for (std::int64_t n = 0; n <= 3000; ++n) {
    for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
      for (int rank = 0; rank < ranks; ++rank) {
        const Span chunk = piece({0, n}, rank, ranks);
        const model::Range modelled = model::chunk(n, rank, ranks, kUnit);
        if (!equal(chunk, modelled)) FAIL(n << ' ' << rank << " of " << ranks);
        for (int blocks = 1; blocks <= 5; ++blocks) {
          const Span part = piece(chunk, blocks - 1, blocks);
          if (!equal(part, model::part(modelled, blocks - 1, blocks, kUnit))) FAIL(n << blocks);
        }
      }
    }
  }
}

TEST_CASE("pieces of anything below 2^38 elements", "[kernels]") {
  test::property("are the model's", [] {
    const std::int64_t limit = std::int64_t{1} << *rc::gen::inRange(1, 39).as("bits");
    const std::int64_t n = limit - *rc::gen::inRange<std::int64_t>(1, 1000).as("below");
    const int pieces = *rc::gen::inRange(1, 5000).as("pieces");
    const int index = *rc::gen::inRange(0, pieces).as("index");
    RC_PRE(n >= 0);
    RC_ASSERT(equal(piece({0, n}, index, pieces), model::part({0, n}, index, pieces, kUnit)));
    const std::int64_t begin = n / 2 / kUnit * kUnit;
    RC_ASSERT(
        equal(piece({begin, n}, index, pieces), model::part({begin, n}, index, pieces, kUnit)));
  });
}

TEST_CASE("the cover sees a wrong division", "[kernels]") {
  REQUIRE(covers_once(300, 2, 2));
  // Rounding the length down, as in RCCLX's low-precision all-reduce, leaves a tail.
  std::vector<std::uint8_t> marks(300, 0);
  for (int rank = 0; rank < 2; ++rank) {
    const std::int64_t length = 300 / 2 / kUnit * kUnit;
    for (std::int64_t i = rank * length; i < (rank + 1) * length; ++i) ++marks[i];
  }
  REQUIRE(marks != std::vector<std::uint8_t>(300, 1));
}

}  // namespace tally::kernels
