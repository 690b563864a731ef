#include <cmath>
#include <limits>

#include "model/check.h"
#include "reference/convert.h"
#include "reference/error_bound.h"
#include "reference/exact_sum.h"
#include "reference/spacing.h"

namespace tally::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

using model::Format;
using model::NumberFormat;

std::vector<double> any_order_bounds(const model::Arithmetic& arithmetic,
                                     const RankBuffers& inputs) {
  TALLY_CHECK(arithmetic.wire.is_none(), "sums in any order have no wire");
  TALLY_CHECK(adds(arithmetic.op), "only sums and means have an error");
  const bool is_rounded = arithmetic.accumulate == model::Accumulate::element;
  const NumberFormat& accumulator =
      model::format(is_rounded ? arithmetic.element.format() : Format::f32);
  const NumberFormat& element = model::format(arithmetic.element);
  const auto ranks = static_cast<double>(inputs.size());
  const bool is_mean = arithmetic.op == model::Op::avg;

  std::vector<ExactSum> magnitudes(inputs[0].size() / static_cast<std::size_t>(element.bytes()));
  std::vector<float> values(magnitudes.size());
  std::vector<double> products_lost(magnitudes.size());
  const Premultiplication premultiplication(arithmetic, static_cast<int>(inputs.size()));
  for (const auto& input : inputs) {
    decode_array(arithmetic.element, input, values);
    if (premultiplication.is_done()) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        products_lost[i] = up(products_lost[i] + premultiplication.error(values[i]));
      }
      premultiplication.apply(values);
    }
    for (std::size_t i = 0; i < values.size(); ++i) magnitudes[i].add(std::fabs(values[i]));
  }
  std::vector<double> bounds;
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    const double a = up(magnitudes[i].rounded());
    double bound = up(up((ranks - 1) * accumulator.unit_roundoff()) * a);
    double largest = up(a + bound);
    const bool overflows = !(largest <= accumulator.max_finite());
    // Relative, and half of the smallest value for what is subnormal.
    const auto round_to = [&](const NumberFormat& f) {
      const double lost = up(largest * f.unit_roundoff()) + f.min_positive() / 2;
      bound = up(bound + lost);
      largest = up(largest + lost);
    };
    if (is_mean) {
      bound = up(bound / ranks);
      largest = up(largest / ranks);
      round_to(model::format(Format::f32));
    }
    if ((!is_rounded || is_mean) && element.id != Format::f32) round_to(element);
    bounds.push_back(
        overflows || !(largest <= element.max_finite()) ? kInfinity : up(bound + products_lost[i]));
  }
  return bounds;
}

}  // namespace tally::reference
