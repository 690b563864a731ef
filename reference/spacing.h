#pragma once

// What error bounds are made of: the spacing of a format's values, and doubles rounded up.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "model/collective.h"
#include "reference/convert.h"

namespace tally::reference {

/// Not below x, if x is a double operation's result that may have been rounded down.
inline double up(double x) { return x * (1 + 0x1p-51); }

/// Half the spacing of a format's values, had it no largest one, around values of f32.
class Spacing {
 public:
  explicit Spacing(model::Format id) {
    const model::NumberFormat& f = model::format(id);
    least_field_ = static_cast<std::uint32_t>(f.min_exponent() + 127);
    shift_ = static_cast<std::uint64_t>(1023 - 127 - f.fraction_bits - 1);
    largest_ = f.max_finite();
    is_largest_odd_ = f.max_code() % 2 == 1;
  }
  /// max(u ufp(x), eta / 2). Not of NaN and infinities.
  double half(float x) const {
    const std::uint32_t field = (std::bit_cast<std::uint32_t>(x) >> 23) & 0xFF;
    return std::bit_cast<double>((std::max(field, least_field_) + shift_) << 52);
  }
  /// The error of rounding x to nearest is at most this: 0 has none.
  double rounding(float x) const { return x == 0 ? 0 : half(x); }
  double excess(float x) const { return std::fabs(static_cast<double>(x)) - largest_; }
  /// Whether the value that x rounds to is beyond the largest one.
  bool overflows(float x) const {
    const double beyond = excess(x), half_step = half(x);
    return beyond > half_step || (beyond == half_step && is_largest_odd_);
  }

 private:
  std::uint32_t least_field_;
  std::uint64_t shift_;
  double largest_;
  bool is_largest_odd_;
};

/// Whether every finite value of `narrow` is one of `wide`.
inline bool holds(model::Format wide, model::Format narrow) {
  const model::NumberFormat &w = model::format(wide), &n = model::format(narrow);
  return w.fraction_bits >= n.fraction_bits && w.min_positive() <= n.min_positive() &&
         w.max_finite() >= n.max_finite();
}

/// The multiplication of contributions by model::premultiplier.
class Premultiplication {
 public:
  Premultiplication(const model::Arithmetic& arithmetic, int ranks)
      : is_done_(model::premultiplies(arithmetic.op)),
        factor_(model::premultiplier(arithmetic, ranks)),
        format_(is_done_ ? arithmetic.element.format() : model::Format::f32),
        element_(format_) {}

  bool is_done() const { return is_done_; }
  double factor() const { return factor_; }
  /// ErrorTerm::premultiplication. Exact products are told from others in double, which holds every
  /// product of two f32.
  double error(float x) const {
    const float product = x * factor_;
    if (!std::isfinite(product)) return 0;
    const bool is_exact = static_cast<double>(product) == static_cast<double>(x) * factor_;
    const double lost = is_exact ? 0 : f32_.half(product);
    return format_ == model::Format::f32 ? lost : up(lost + element_.rounding(product));
  }
  void apply(std::span<float> x) const {
    for (float& value : x) value *= factor_;
    round_array(format_, x);
  }

 private:
  bool is_done_;
  float factor_;
  model::Format format_;
  Spacing element_, f32_{model::Format::f32};
};

}  // namespace tally::reference
