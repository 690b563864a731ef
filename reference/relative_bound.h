#pragma once

// How far a collective's output may be from the exact sum, for every input at once: what an
// algorithm and a wire cost before anything is known of the data.

#include "model/schedule.h"

namespace tally::reference {

/// What encoding and decoding may lose of an element, over its magnitude; of a block wire, over the
/// largest magnitude of its block.
double wire_error(const model::Wire& wire);

/// E with |y - S| <= E A for every output y of a schedule of sums (op sum) or moves, where S is the
/// exact sum of the contributions and A the sum of their magnitudes; of a block wire, of the
/// largest magnitudes of their blocks. It holds where every contribution is 0 or normal in the
/// wire's and the element's format, A (1 + E) is finite in both, no scale is clamped, and f32 does
/// not underflow.
///
/// A partial sum of some ranks is off by at most E' times their part of A. Encoding it, adding to
/// it and rounding it lose at most u of what it is then, so each multiplies 1 + E' by 1 + u
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1 and 4.2). Sums that are
/// subnormal are exact, and a cast that meets one loses at most u times the smallest normal value,
/// thus of A.
double relative_error_bound(const model::Schedule& schedule);

/// The same for a library whose order of additions is not known, without a wire: (n - 1) u, u of
/// the format that sums are rounded to (Jeannerod & Rump, SIAM J. Matrix Anal. Appl. 34(2), 2013),
/// and the rounding of the result.
double any_order_relative_bound(const model::Arithmetic& arithmetic, int ranks);

}  // namespace tally::reference
