// Goal: the numbers of a study are right, the same however it is run, and within their bounds.
// Method: cells whose numbers can be counted or derived; the same cells on several threads and in
// other company, compared bit for bit; all wires, algorithms and inputs against their bounds.

#include "study/measure.h"

#include <bit>
#include <cmath>
#include <limits>

#include "model/builders.h"
#include "tests/support/catch.h"

namespace {

using namespace tally;
using reference::ErrorStatistics;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A cell with one row of everything.
study::Cell cell(const char* input, const char* wire, const char* algorithm, int ranks,
                 std::int64_t count, model::Format element = model::Format::f32) {
  const model::Wire parsed = *model::parse_wire(wire);
  const auto accumulate = parsed.is_none() ? model::Accumulate::element : model::Accumulate::f32;
  return {*reference::open_input(input),
          algorithm,
          {element, parsed, model::Op::sum, accumulate},
          ranks,
          count};
}

std::vector<ErrorStatistics> measure(const std::vector<study::Cell>& cells, int threads = 2,
                                     std::uint64_t seed = 1) {
  std::vector<ErrorStatistics> all;
  study::measure(cells, seed, threads, [&](const study::Measurement& measurement) {
    REQUIRE(&measurement.cell == &cells[all.size()]);  // in order
    all.push_back(measurement.errors);
  });
  REQUIRE(all.size() == cells.size());
  return all;
}

/// Every number, so that NaN and the sign of zero count.
std::vector<std::uint64_t> bits(const std::vector<ErrorStatistics>& all) {
  std::vector<std::uint64_t> result;
  for (const ErrorStatistics& e : all) {
    result.push_back(e.elements);
    result.push_back(e.compared);
    for (const double x :
         {e.max_abs_err, e.mean_abs_err, e.rms_err, e.max_rel_err, e.mean_rel_err, e.rms_rel_err,
          e.sqnr_db, e.bias, e.saturated, e.flushed, e.nan, e.infinite, e.max_err_over_bound}) {
      result.push_back(std::bit_cast<std::uint64_t>(x));
    }
  }
  return result;
}

/// Cells of several operands, some of many calls, some of one and of none.
std::vector<study::Cell> mixed_cells() {
  const std::int64_t calls = study::kCallElements;
  return {
      cell("normal", "e4m3fn", "ring", 4, 3 * calls + 17),
      cell("normal", "none", "flat", 4, 3 * calls + 17),
      cell("normal", "e4m3fn:b128:f32", "tree", 4, 3 * calls + 17),
      cell("outliers", "e5m2", "tree", 3, 1000),
      cell("corner", "e4m3fnuz:sat", "flat", 2, 0),
      cell("corner", "e4m3fnuz:sat", "flat", 2, 5000, model::Format::bf16),
      cell("tests/data/smollm2_135m_layer02_mlp_down.npy", "e4m3fn", "tree", 8, 6912),
  };
}

const char* const kMassive = "tests/data/smollm2_135m_layer11_mlp_down.npy";

}  // namespace

TEST_CASE("sums that are exact have no error", "[study]") {
  for (const model::Builder& builder : model::builders()) {
    if (builder.collective != model::Collective::all_reduce) continue;
    const std::string algorithm(builder.algorithm);
    const auto errors = measure({cell("order_free", "none", algorithm.c_str(), 8, 10000)});
    CHECK(errors[0].elements == 10000);
    CHECK(errors[0].compared == 10000);
    CHECK(errors[0].max_abs_err == 0);
    CHECK(errors[0].rms_err == 0);
    CHECK(errors[0].sqnr_db == kInfinity);
    CHECK(errors[0].max_err_over_bound == 0);
  }
}

TEST_CASE("the numbers do not depend on the threads", "[study]") {
  const auto one = bits(measure(mixed_cells(), 1));
  for (const int threads : {2, 3, 7, 64}) CHECK(bits(measure(mixed_cells(), threads)) == one);
}

TEST_CASE("a cell's numbers do not depend on the cells beside it", "[study]") {
  const auto cells = mixed_cells();
  const auto together = measure(cells);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CHECK(bits(measure({cells[i]})) == bits({together[i]}));
  }
}

TEST_CASE("another seed gives other numbers, but for a file", "[study]") {
  const auto normal = cell("normal", "e4m3fn", "flat", 2, 1000);
  CHECK(bits(measure({normal}, 2, 1)) != bits(measure({normal}, 2, 2)));
  const auto file = cell(kMassive, "e4m3fn", "flat", 2, 1000);
  CHECK(bits(measure({file}, 2, 1)) == bits(measure({file}, 2, 2)));
}

TEST_CASE("each call of a cell has a draw of its own", "[study]") {
  const std::int64_t call = study::kCallElements;
  const auto errors = measure(
      {cell("normal", "e4m3fn", "flat", 1, call), cell("normal", "e4m3fn", "flat", 1, 2 * call)});
  CHECK(errors[1].elements == 2 * call);
  CHECK(errors[1].rms_err != errors[0].rms_err);
}

TEST_CASE("outputs that a raw cast loses are those with a contribution beyond it", "[study]") {
  // e4m3fnuz overflows from 248 on, the tie above its largest value (AMD CDNA3 ISA).
  const auto input = *reference::open_input(kMassive);
  std::int64_t lost = 0;
  for (std::int64_t i = 0; i < input.tensor->columns; ++i) {
    bool is_beyond = false;
    for (int rank = 0; rank < 8; ++rank) is_beyond |= std::abs(input.tensor->row(rank)[i]) >= 248;
    lost += is_beyond;
  }
  REQUIRE(lost > 0);
  const double fraction = static_cast<double>(lost) / static_cast<double>(input.tensor->columns);
  const auto errors = measure({cell(kMassive, "e4m3fnuz", "flat", 8, 6912),
                               cell(kMassive, "e4m3fnuz:sat", "flat", 8, 6912),
                               cell(kMassive, "e4m3fn:b128:f32", "flat", 8, 6912)});
  CHECK(errors[0].nan == fraction);
  CHECK(errors[0].saturated == 0);
  CHECK(errors[0].compared == 6912 - lost);
  CHECK(errors[1].nan == 0);
  CHECK(errors[1].saturated == fraction);
  CHECK(errors[2].nan == 0);
  CHECK(errors[2].saturated == 0);
}

TEST_CASE("no error is beyond its bound", "[study]") {
  std::vector<study::Cell> cells;
  for (const std::string_view input : reference::input_kinds()) {
    for (const model::Format element :
         {model::Format::f32, model::Format::bf16, model::Format::f16}) {
      for (const model::Wire& wire : model::all_wires()) {
        for (const char* algorithm : {"flat", "tree", "ring"}) {
          for (const int ranks : {1, 3, 8}) {
            cells.push_back(cell(std::string(input).c_str(), wire.name().c_str(), algorithm, ranks,
                                 700, element));
          }
        }
      }
    }
  }
  const auto errors = measure(cells);
  int nearly_reached = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    INFO(cells[i].input.name << " " << cells[i].arithmetic.wire.name() << " " << cells[i].algorithm
                             << " " << cells[i].ranks);
    CHECK(study::is_within_bounds(errors[i]));
    nearly_reached += errors[i].max_err_over_bound > 0.5;
  }
  CHECK(nearly_reached > std::ssize(cells) / 2);  // a bound that is far away tests nothing
}

TEST_CASE("an error beyond its bound is noticed, and so is one that is not a number", "[study]") {
  ErrorStatistics errors;
  for (const double held : {0.0, 0.5, 1.0}) {
    errors.max_err_over_bound = held;
    CHECK(study::is_within_bounds(errors));
  }
  for (const double broken : {1.0000001, kInfinity, std::nan("")}) {
    errors.max_err_over_bound = broken;
    CHECK_FALSE(study::is_within_bounds(errors));
  }
}
