#pragma once

// How far an output may be from the exact sum: bounds that follow from the formats' spacing and
// the schedule's own arithmetic, with no tolerance chosen by hand.
//
// A bound is carried along with every value through the schedule, and each operation adds what it
// may have lost (running error analysis: Higham, Accuracy and Stability of Numerical Algorithms,
// 2nd ed., 3.3). No term has a higher order left out (Rump, BIT 52, 2012; Jeannerod & Rump, SIAM J.
// Matrix Anal. Appl. 34(2), 2013; Lange & Rump, BIT 57, 2017). The doubles that hold bounds are
// rounded up.

#include <cstdint>
#include <vector>

#include "model/schedule.h"
#include "reference/run.h"

namespace tally::reference {

/// What an operation may lose. u is a format's unit roundoff, ufp(x) the power of two at or below
/// |x|, eta the smallest positive value of a format.
enum class ErrorTerm : std::uint8_t {
  /// Nearest rounding to a cast's or a block's element format: half the spacing at x, which is
  /// max(u ufp(x), eta / 2) (Rump 2012). In a block, times its scale.
  wire_rounding,
  /// |x| - the largest finite value, where a saturating conversion cut x off. (A block likewise.)
  saturation,
  /// s * half the f32 spacing at the quotient x / s of a block with scale s.
  block_division,
  /// Half the f32 spacing at the product s * q of a block's scale and element.
  block_product,
  /// An addition a + b in the accumulator's format: min(u ufp(result), |a|, |b|), since the nearest
  /// value is as near as a and b are (Jeannerod & Rump 2013). None for underflow: such sums are
  /// exact. In f16 and bf16 too, where the sum is an f32 on the way: f32 has the 2 p + 2 bits that
  /// make the first of two roundings do no harm (Figueroa, SIGNUM Newsletter 30(3), 1995).
  addition,
  /// Division of a sum by the number of ranks: half the f32 spacing at the quotient.
  mean_division,
  /// Multiplication of a contribution by the factor of premul_sum or avg_premul: half the f32
  /// spacing
  /// at the product, where f32 does not hold it, and then half the element's spacing, where the
  /// element is not f32. f32 holds every product of two f16, and of two bf16 unless it underflows.
  premultiplication,
  /// Rounding the result to the element type, where that does not hold it for certain: half the
  /// spacing.
  output_rounding,
};
inline constexpr int kErrorTerms = 8;

/// Some of the terms, one bit each. Only all of them make a bound; leaving one out shows what it
/// contributes.
using ErrorTerms = std::uint32_t;
inline constexpr ErrorTerms kAllErrorTerms = (ErrorTerms{1} << kErrorTerms) - 1;
constexpr ErrorTerms all_but(ErrorTerm term) {
  return kAllErrorTerms & ~(ErrorTerms{1} << static_cast<unsigned>(term));
}

/// The outputs of one rank, [element].
struct BoundedOutputs {
  std::vector<float> values;  // as run() has them
  /// |value - S| <= bound, S being the exact sum or mean of the inputs, or the exact sum of their
  /// products with the factor that was rounded to the element type. Infinite where a NaN or an
  /// infinity came up on the way, which no bound covers: look at the bits there. (The value can
  /// be finite all the same, since saturating casts take infinities.)
  std::vector<double> bounds;
  /// 1 where a saturating conversion cut off anything that went into the value, else 0.
  std::vector<std::uint8_t> saturated;
};

/// The outputs of every rank, with their bounds. Schedules of number formats, and of sums and means
/// (adds()) whose op and wire run() takes; another op, a deadlock or inputs of another size stop
/// the program.
std::vector<BoundedOutputs> error_bounds(const model::Schedule& schedule, const RankBuffers& inputs,
                                         ErrorTerms terms = kAllErrorTerms);

/// A bound on |y - S|, [element], whatever the order of the additions: for libraries that do not
/// say theirs. The wire must be none and the op one that adds; avg is divided after the sum, and
/// contributions are premultiplied before it, which adds what all ranks' products may lose.
/// With n ranks, u of the accumulator's format and A the exact sum of magnitudes: (n - 1) u A
/// (Jeannerod & Rump 2013), then mean_division and output_rounding at the largest value that this
/// allows. Infinite where that or A may overflow, or an input is not finite.
std::vector<double> any_order_bounds(const model::Arithmetic& arithmetic,
                                     const RankBuffers& inputs);

}  // namespace tally::reference
