#pragma once

// Finds the parameters with which the predictions are nearest to measured times.

#include <span>
#include <vector>

#include "sim/measured_table.h"
#include "sim/parameters.h"
#include "sim/validate.h"

namespace tally::sim {

/// Residuals beyond this, 3 %, are taken for outliers by degrees: what two sources of the same
/// configuration differ by (the in-place and out-of-place columns of rccl-tests: 1 to 3 %).
inline constexpr double kNoise = 0.03;
/// A fit ends where a round makes the loss smaller by less than this part of it.
inline constexpr double kLeastGain = 1e-7;

struct Calibration {
  Parameters parameters;  // with intervals of 95 % confidence; of those not met, the initial ones
  std::vector<bool> is_determined;  // by row: fitted, met by the tables, and not at a limit
  int rounds = 0;
};

/// Bounded least squares of log(predicted / measured) over all rows, by Levenberg and Marquardt in
/// the logarithms of the parameters, with the soft L1 loss, so that the outliers of published
/// tables do not decide. Begins at `start`. The intervals follow from the curvature at the end.
/// Every row of every table has the same weight. An error where a table cannot be predicted.
model::Result<Calibration> calibrate(std::span<const MeasuredTable> tables,
                                     const Parameters& start = Parameters());

/// For each table its errors with parameters that were fitted without it, beginning at `fitted`:
/// how well tables that nobody has seen are predicted.
model::Result<std::vector<RelativeErrors>> leave_one_out(std::span<const MeasuredTable> tables,
                                                         const Parameters& fitted);

}  // namespace tally::sim
