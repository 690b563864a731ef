#pragma once

// Number conversions as definitions: slow, readable, exact. convert.h has the fast ones, which
// share nothing with these and are compared with them.

#include <cstdint>

#include "model/conversion.h"

namespace tally::reference {

/// The value that a code stands for; every value of every format here is exact in double.
/// Bits of `code` above the format's width are ignored. A NaN code gives a NaN of either sign, an
/// infinity an infinity, minus zero -0.
double decode_spec(model::Format, std::uint32_t code);

/// The code of x, rounded once from its exact value.
///
/// Rounding is to the values that the format would have with an unbounded exponent; a value that
/// comes out above the largest finite one overflows, in every rounding mode, to where
/// `overflow.finite` says. (IEEE 754-2019, 7.4 lets toward_zero stop at the largest finite value
/// instead: that is Beyond::max_finite here.) Infinity goes where `overflow.infinity` says.
///
/// NaN gives the format's nan_code() with the sign of x. A format whose only NaN is the
/// minus-zero code has no sign to keep; one without NaN gives its largest positive value, as
/// NVIDIA's conversions do (CCCL, overflow handling of the FP6 and FP4 types).
///
/// -0 keeps its sign where the format has a minus zero, and so does a negative value that rounds
/// to zero.
///
/// e8m0 has neither sign nor zero: +0, -0 and every positive value below 2^-127 give code 0, which
/// is 2^-127, in every rounding mode; a negative value or infinity gives NaN, in every overflow
/// mode.
///
/// stochastic: with f in [0, 1) the discarded fraction of the spacing at x, away from zero where
/// f * 2^32 > random_bits, else toward zero. Over all random bits the probability is f rounded up
/// to a multiple of 2^-32; it is f itself where f is such a multiple. Other modes ignore the bits.
std::uint32_t encode_spec(model::Format, double x, model::Rounding, model::Overflow,
                          std::uint32_t random_bits = 0);

/// A conversion between its two halves: rounded, and overflow not yet decided.
struct Rounded {
  enum class Kind : std::uint8_t { nan, infinity, overflow, finite };
  Kind kind;
  bool negative;
  std::uint32_t position;  // of a finite one: its place among the format's non-negative values

  bool operator==(const Rounded&) const = default;
};

/// encode_spec for many inputs. The search for x begins where the last one ended, so inputs in
/// order of magnitude cost a few comparisons each; results do not depend on the order.
/// Not for use by two threads at once.
class SpecEncoder {
 public:
  explicit SpecEncoder(model::Format);

  Rounded round(double x, model::Rounding, std::uint32_t random_bits = 0);
  std::uint32_t code(Rounded, model::Overflow) const;

 private:
  double value(std::uint32_t position) const;
  std::uint32_t position_at_or_below(double magnitude);

  const model::NumberFormat& format_;
  std::uint32_t largest_;  // the position of the largest finite value
  const double* values_;   // by position, or none where the format has too many
  std::uint32_t last_ = 0;
};

}  // namespace tally::reference
