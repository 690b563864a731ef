#include "reference/relative_bound.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/check.h"
#include "reference/spacing.h"
#include "reference/walk.h"

namespace tally::reference {
namespace {

using model::Copy;
using model::Format;
using model::Reduce;
using model::Slice;

double unit_roundoff(Format id) { return model::format(id).unit_roundoff(); }

/// Runs a schedule on 1 + E of every element.
class Carrier {
 public:
  explicit Carrier(const model::Schedule& schedule)
      : schedule_(schedule), wire_factor_(1 + wire_error(schedule.arithmetic.wire)) {
    factors_.resize(schedule.ranks);
    for (auto& buffers : factors_) {
      for (const model::Buffer& buffer : schedule.buffers) {
        buffers.emplace_back(static_cast<std::size_t>(buffer.elements), 1.0);
      }
    }
  }

  void step(const model::Step& step) {
    if (const auto* copy = std::get_if<Copy>(&step)) this->copy(*copy);
    if (const auto* reduce = std::get_if<Reduce>(&step)) this->reduce(*reduce);
  }

  double largest_output() const {
    const int output = buffer_with(schedule_, model::Role::output);
    double largest = 1;
    for (const auto& buffers : factors_) {
      for (const double factor : buffers[output]) largest = std::max(largest, factor);
    }
    return largest;
  }

 private:
  bool is_encoded(const Slice& slice) const {
    return schedule_.buffers[slice.buffer].encoded && !schedule_.arithmetic.wire.is_none();
  }
  double& at(const Slice& slice, std::int64_t i) {
    return factors_[slice.rank][slice.buffer][static_cast<std::size_t>(slice.range.begin + i)];
  }
  /// Codes stand for f32, or for values that the element may have to round.
  double rounded_to_element(double factor) const {
    if (schedule_.arithmetic.element == Format::f32) return factor;
    return up(factor * (1 + unit_roundoff(schedule_.arithmetic.element)));
  }

  void copy(const Copy& copy) {
    const bool from_codes = is_encoded(copy.source), to_codes = is_encoded(copy.destination);
    for (std::int64_t i = 0; i < copy.source.range.size(); ++i) {
      double factor = at(copy.source, i);
      if (!from_codes && to_codes) factor = up(factor * wire_factor_);
      if (from_codes && !to_codes) factor = rounded_to_element(factor);
      at(copy.destination, i) = factor;
    }
  }

  /// The first term is taken exactly, by a copy or by adding it to 0; for op sum nothing divides.
  void reduce(const Reduce& reduce) {
    const bool is_rounded = schedule_.arithmetic.accumulate == model::Accumulate::element;
    const double u =
        unit_roundoff(is_rounded ? schedule_.arithmetic.element.format() : Format::f32);
    for (std::int64_t i = 0; i < reduce.destination.range.size(); ++i) {
      double factor = 1;
      for (const Slice& source : reduce.sources) factor = std::max(factor, at(source, i));
      for (std::size_t k = 1; k < reduce.sources.size(); ++k) factor = up(factor * (1 + u));
      if (is_encoded(reduce.destination)) {
        factor = up(factor * wire_factor_);
      } else if (!is_rounded) {
        factor = rounded_to_element(factor);
      }
      at(reduce.destination, i) = factor;
    }
  }

  const model::Schedule& schedule_;
  const double wire_factor_;
  std::vector<std::vector<std::vector<double>>> factors_;  // [rank][buffer][element]
};

}  // namespace

double wire_error(const model::Wire& wire) {
  if (wire.is_none()) return 0;
  const model::NumberFormat& code = model::format(wire.format);
  const double u = code.unit_roundoff(), f32 = unit_roundoff(Format::f32);
  if (!wire.is_block()) return u;
  const double top = std::ldexp(1.0, code.max_exponent()), largest = code.max_finite();
  // By a power of two, which loses nothing, and then the block's largest quotient is at least
  // `top`: half a spacing is at most u of it. Below 2 top it may be cut off at `largest`.
  if (wire.rule == model::ScaleRule::rceil) return up(u + 2 * f32);
  if (wire.rule == model::ScaleRule::floor)
    return up(std::max(u, 1 - largest / (2 * top)) + 2 * f32);
  // The scale is amax / largest (1 + d). What its rounding down makes of the largest quotient is
  // cut off; half a spacing at the top is lost otherwise; and quotient and product are rounded to
  // f32.
  const double d = unit_roundoff(wire.scale);
  const double cut_off = largest * ((1 + f32) / (1 - d) - 1);
  const double lost = std::max(u * top, cut_off) + largest * (f32 / (1 - d) + f32);
  return up(up((1 + d) / largest) * up(lost));
}

double relative_error_bound(const model::Schedule& schedule) {
  const model::Arithmetic& arithmetic = schedule.arithmetic;
  TALLY_CHECK(arithmetic.op == model::Op::sum, "only sums and moves have such a bound");
  TALLY_CHECK(!schedule.in_place, "buffers that share memory hold the same sums out of place");
  Carrier carrier(schedule);
  const auto stuck = walk(schedule, [&](int, int, const model::Step& step) { carrier.step(step); });
  TALLY_CHECK(!stuck, "the schedule deadlocks");
  return up(carrier.largest_output() - 1);
}

double any_order_relative_bound(const model::Arithmetic& arithmetic, int ranks) {
  TALLY_CHECK(arithmetic.wire.is_none(), "sums in any order have no wire");
  const bool is_rounded = arithmetic.accumulate == model::Accumulate::element;
  const double element = unit_roundoff(arithmetic.element);
  const double sums = up((ranks - 1) * (is_rounded ? element : unit_roundoff(Format::f32)));
  if (is_rounded || arithmetic.element == Format::f32) return sums;
  return up(up((1 + sums) * (1 + element)) - 1);
}

}  // namespace tally::reference
