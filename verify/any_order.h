#pragma once

// What the results of a reduction may be where nobody says in which order its terms are combined:
// the judge of libraries that are not ours.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/collective.h"
#include "reference/exact_sum.h"
#include "reference/run.h"

namespace tally::verify {

/// What NCCL's interface leaves open about an operation. A mean of floats is the sum of
/// premultiplied terms in NCCL and RCCL (FuncPreMulSum), and the divided sum in others; a
/// premultiplied term is rounded before it is added, or a compiler fuses the two and it is not; a
/// minimum or maximum keeps a NaN, or takes the other value as C's fmin does. A library may do
/// either, but not both in one call.
enum class Reading : std::uint8_t { only, premultiplied, divided, fused, nan_kept, nan_dropped };
std::string_view name(Reading reading);
std::vector<Reading> readings(model::Op op);

/// What one result may be.
struct Allowance {
  /// The only code, but that a zero may have either sign where `either_zero` says so. Without it
  /// what follows decides.
  std::optional<std::uint32_t> code;
  bool either_zero = false;
  bool nan = false, plus_infinity = false, minus_infinity = false;
  bool finite = false;  // if within `bound` of the exact result
  double bound = 0;

  // The exact result: a sum divided by `divisor`, or a product (to 64 bits).
  reference::ExactSum sum;
  int divisor = 1;
  std::optional<long double> product;

  bool allows(model::Format format, std::uint32_t code) const;
  /// |x - the exact result|; NaN where either is not finite.
  double error(float x) const;
  double exact() const;
};

/// All results of one reduction: of terms[rank][element], each an element of the arithmetic.
///
/// A sum has only one result where each partial sum of it is a number of the format, whatever the
/// order: where the terms are multiples of 2^g and their magnitudes add up to at most 2^(g + p), p
/// being the bits of a significand. So has a sum of two terms, since addition commutes; that it may
/// be an f32 on the way does no harm (Figueroa, SIGNUM Newsletter 30(3), 1995). A product has,
/// where the significands' bits together fit one and nothing leaves the normal range. Other sums
/// are within reference::any_order_bounds. Other products are within what their roundings lose:
/// gamma(n - 1) |P|, and half the smallest positive value at each, times what is multiplied later
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1).
///
/// Of NaN, infinities and overflow: what every order gives must come; what some order gives may.
class AnyOrder {
 public:
  /// The wire must be none, and results are rounded to elements after each operation, or less
  /// often.
  AnyOrder(const model::Arithmetic& arithmetic, Reading reading, reference::RankBuffers terms);

  Allowance at(std::int64_t element) const;
  std::int64_t size() const { return size_; }
  /// What is combined, and by which operation: premultiplied terms are those multiplied, and sums.
  const reference::RankBuffers& terms() const { return terms_; }
  const model::Arithmetic& arithmetic() const { return arithmetic_; }

 private:
  Allowance sum_of(std::span<const float> x, double any_order_bound) const;
  Allowance fused_sum_of(std::span<const float> x, double any_order_bound) const;
  Allowance product_of(std::span<const float> x) const;
  Allowance extreme_of(std::span<const float> x) const;

  model::Arithmetic arithmetic_;
  Reading reading_;
  float factor_ = 1;  // of fused terms, which are kept as they are
  reference::RankBuffers terms_;
  std::int64_t size_;
  std::vector<double> bounds_;  // of sums
};

}  // namespace tally::verify
