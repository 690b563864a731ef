// Goal: the collectives' contracts are the ones of MPI and NCCL.
// Method: small cases by hand; then all small shapes, counting how often each input is used.

#include "model/collective.h"

#include <map>
#include <vector>

#include "tests/support/catch.h"

namespace tally::model {
namespace {

constexpr Collective kAll[] = {Collective::all_reduce, Collective::reduce_scatter,
                               Collective::all_gather, Collective::all_to_all};

bool same(const Contributions& a, const Contributions& b) {
  return a.first_rank == b.first_rank && a.last_rank == b.last_rank && a.element == b.element;
}

/// How often each (rank, element) is part of an output, over all ranks.
std::map<std::pair<int, std::int64_t>, int> uses(Collective collective, int ranks,
                                                 std::int64_t count) {
  std::map<std::pair<int, std::int64_t>, int> all;
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::int64_t i = 0; i < output_elements(collective, ranks, count); ++i) {
      const Contributions from = contributions(collective, ranks, count, rank, i);
      for (int r = from.first_rank; r <= from.last_rank; ++r) ++all[{r, from.element}];
    }
  }
  return all;
}

}  // namespace

TEST_CASE("sizes: one block, or one block for each rank", "[model]") {
  REQUIRE(input_elements(Collective::all_reduce, 4, 10) == 10);
  REQUIRE(output_elements(Collective::all_reduce, 4, 10) == 10);
  REQUIRE(input_elements(Collective::reduce_scatter, 4, 10) == 40);
  REQUIRE(output_elements(Collective::reduce_scatter, 4, 10) == 10);
  REQUIRE(input_elements(Collective::all_gather, 4, 10) == 10);
  REQUIRE(output_elements(Collective::all_gather, 4, 10) == 40);
  REQUIRE(input_elements(Collective::all_to_all, 4, 10) == 40);
  REQUIRE(output_elements(Collective::all_to_all, 4, 10) == 40);
}

TEST_CASE("contributions of rank 2 of 4, count 10", "[model]") {
  const auto of = [](Collective collective, std::int64_t element) {
    return contributions(collective, 4, 10, 2, element);
  };
  REQUIRE(same(of(Collective::all_reduce, 7), {0, 3, 7}));
  REQUIRE(same(of(Collective::reduce_scatter, 7), {0, 3, 27}));
  REQUIRE(same(of(Collective::all_gather, 0), {0, 0, 0}));
  REQUIRE(same(of(Collective::all_gather, 39), {3, 3, 9}));
  REQUIRE(same(of(Collective::all_to_all, 0), {0, 0, 20}));
  REQUIRE(same(of(Collective::all_to_all, 39), {3, 3, 29}));
}

TEST_CASE("every input is used, inside its buffer, as often as the collective says", "[model]") {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (std::int64_t count = 0; count <= 4; ++count) {
      for (const Collective collective : kAll) {
        CAPTURE(ranks, count, std::string(name(collective)));
        const auto used = uses(collective, ranks, count);
        const std::int64_t inputs = input_elements(collective, ranks, count);
        REQUIRE(std::int64_t(used.size()) == ranks * inputs);
        for (const auto& [key, times] : used) {
          REQUIRE((key.first >= 0 && key.first < ranks));
          REQUIRE((key.second >= 0 && key.second < inputs));
          REQUIRE(times == (same_on_all_ranks(collective) ? ranks : 1));
        }
      }
    }
  }
}

TEST_CASE("ranks end alike exactly where no contribution depends on the rank", "[model]") {
  for (const Collective collective : kAll) {
    CAPTURE(std::string(name(collective)));
    bool alike = true;
    for (std::int64_t i = 0; i < output_elements(collective, 3, 2); ++i) {
      alike &= same(contributions(collective, 3, 2, 0, i), contributions(collective, 3, 2, 1, i));
    }
    REQUIRE(same_on_all_ranks(collective) == alike);
  }
}

TEST_CASE("names are the ones of flags and reports", "[model]") {
  REQUIRE(name(Collective::all_reduce) == "all_reduce");
  REQUIRE(name(Collective::reduce_scatter) == "reduce_scatter");
  REQUIRE(name(Collective::all_gather) == "all_gather");
  REQUIRE(name(Collective::all_to_all) == "all_to_all");
  REQUIRE(name(Op::sum) == "sum");
  REQUIRE(name(Accumulate::element) == "element");
  REQUIRE(name(Accumulate::f32) == "f32");
}

}  // namespace tally::model
