// Goal: the collectives' contracts are the ones of MPI and NCCL.
// Method: small cases by hand; then all small shapes, counting how often each input is used.

#include "model/collective.h"

#include <cmath>
#include <map>
#include <vector>

#include "tests/support/aborts.h"
#include "tests/support/catch.h"

namespace tally::model {
namespace {

/// Those whose contributions depend on the count alone.
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
  REQUIRE(input_elements(Collective::all_to_all_v, 4, 10) == 40);
  REQUIRE(output_elements(Collective::all_to_all_v, 4, 10) == 40);
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

TEST_CASE("blocks of all_to_all_v are packed, in the input and in the output", "[model]") {
  const std::vector<std::int64_t> counts = {1, 0, 2, 3, 4, 0, 0, 0, 5};  // [from * 3 + to]
  REQUIRE(send_offset(counts, 3, 0, 0) == 0);
  REQUIRE(send_offset(counts, 3, 0, 2) == 1);
  REQUIRE(send_offset(counts, 3, 1, 3) == 7);
  REQUIRE(receive_offset(counts, 3, 0, 1) == 0);
  REQUIRE(receive_offset(counts, 3, 2, 0) == 4);
  REQUIRE(receive_offset(counts, 3, 3, 2) == 7);
  REQUIRE(same(contributions_v(counts, 3, 0, 0), {0, 0, 0}));
  REQUIRE(same(contributions_v(counts, 3, 0, 3), {1, 1, 2}));
  REQUIRE(same(contributions_v(counts, 3, 1, 0), {1, 1, 3}));  // rank 0 sends it nothing
  REQUIRE(same(contributions_v(counts, 3, 2, 1), {0, 0, 2}));
  REQUIRE(same(contributions_v(counts, 3, 2, 2), {2, 2, 0}));
}

TEST_CASE("all_to_all_v with equal counts is all_to_all", "[model]") {
  const std::vector<std::int64_t> counts(16, 3);
  for (int rank = 0; rank < 4; ++rank) {
    for (std::int64_t i = 0; i < 12; ++i) {
      REQUIRE(same(contributions_v(counts, 4, rank, i),
                   contributions(Collective::all_to_all, 4, 3, rank, i)));
    }
  }
}

TEST_CASE("in place, the smaller buffer is the rank's block of the larger", "[model]") {
  REQUIRE(in_place_offset(Collective::all_reduce, 3, 10) == 0);
  REQUIRE(in_place_offset(Collective::reduce_scatter, 3, 10) == 30);
  REQUIRE(in_place_offset(Collective::all_gather, 3, 10) == 30);
  REQUIRE(in_place_offset(Collective::all_to_all, 3, 10) == 0);
}

TEST_CASE("all_to_all_v in place", "[.]") { in_place_offset(Collective::all_to_all_v, 0, 1); }
TEST_CASE("all_to_all_v without counts", "[.]") {
  contributions(Collective::all_to_all_v, 1, 1, 0, 0);
}
TEST_CASE("an element after the last block", "[.]") {
  contributions_v(std::vector<std::int64_t>{1, 1, 1, 1}, 2, 0, 2);
}

TEST_CASE("what all_to_all_v does not have stops the program", "[model]") {
  REQUIRE(test::aborts("all_to_all_v in place", "all_to_all_v is out of place only"));
  REQUIRE(
      test::aborts("all_to_all_v without counts", "contributions depend on more than the count"));
  REQUIRE(
      test::aborts("an element after the last block", "an output element after the last block"));
}

TEST_CASE("factors are rounded to the element type, once, ties to even", "[model]") {
  const auto factor = [](Format element, float x) {
    return premultiplier({element, kNoWire, Op::premul_sum, Accumulate::element, x}, 3);
  };
  REQUIRE(factor(Format::f32, 0.3f) == 0.3f);
  REQUIRE(factor(Format::f32, 0x1p-149f) == 0x1p-149f);
  REQUIRE(factor(Format::bf16, 0x1.01p0f) == 1);              // half way, down to even
  REQUIRE(factor(Format::bf16, 0x1.03p0f) == 0x1.04p0f);      // half way, up to even
  REQUIRE(factor(Format::bf16, 0x1.010002p0f) == 0x1.02p0f);  // above the half
  REQUIRE(factor(Format::bf16, -0x1.01p-133f) == -0x1p-133f);
  REQUIRE(factor(Format::bf16, 0x1p-134f) == 0);  // half the smallest, down to even
  REQUIRE(factor(Format::bf16, 0x1.fffffep127f) == INFINITY);
  REQUIRE(factor(Format::f16, 65519) == 65504);
  REQUIRE(factor(Format::f16, -65520) == -INFINITY);
  REQUIRE(factor(Format::f16, 0x1.8p-24f) == 0x1p-23f);
  REQUIRE(std::signbit(factor(Format::f16, -0.0f)));
  REQUIRE(std::isnan(factor(Format::f16, NAN)));
  REQUIRE(factor(Format::f16, -INFINITY) == -INFINITY);
}

TEST_CASE("avg_premul multiplies by 1 / ranks, and what does not premultiply by 1", "[model]") {
  const auto factor = [](Format element, Op op, int ranks) {
    return premultiplier({element, kNoWire, op, Accumulate::element, 7}, ranks);
  };
  REQUIRE(factor(Format::f32, Op::avg_premul, 3) == 1.0f / 3.0f);
  REQUIRE(factor(Format::bf16, Op::avg_premul, 3) == 0.333984375f);
  REQUIRE(factor(Format::f16, Op::avg_premul, 8) == 0.125f);
  for (const Op op : all_ops()) {
    CAPTURE(std::string(name(op)));
    const bool is_one = factor(Format::f32, op, 4) == 1;
    REQUIRE(is_one == !premultiplies(op));
    REQUIRE((premultiplies(op) || allows_wire(op)) == adds(op));
  }
}

TEST_CASE("names are the ones of flags and reports", "[model]") {
  REQUIRE(name(Collective::all_reduce) == "all_reduce");
  REQUIRE(name(Collective::reduce_scatter) == "reduce_scatter");
  REQUIRE(name(Collective::all_gather) == "all_gather");
  REQUIRE(name(Collective::all_to_all) == "all_to_all");
  REQUIRE(name(Collective::all_to_all_v) == "all_to_all_v");
  REQUIRE(name(Op::sum) == "sum");
  REQUIRE(name(Op::avg) == "avg");
  REQUIRE(name(Op::premul_sum) == "premul_sum");
  REQUIRE(name(Op::avg_premul) == "avg_premul");
  REQUIRE(name(Accumulate::element) == "element");
  REQUIRE(name(Accumulate::f32) == "f32");
}

TEST_CASE("a collective is parsed from its own name", "[model]") {
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
        Collective::all_to_all, Collective::all_to_all_v}) {
    const auto parsed = parse_collective(name(collective));
    REQUIRE(parsed);
    REQUIRE(*parsed == collective);
  }
  REQUIRE(parse_collective("allgather").error().hint == "did you mean 'all_gather'?");
}

}  // namespace tally::model
