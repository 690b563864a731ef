#pragma once

// How far outputs are from the exact results, as the numbers that studies report.

#include <cstdint>
#include <span>
#include <vector>

#include "model/collective.h"
#include "model/number_format.h"
#include "reference/exact_sum.h"
#include "reference/run.h"

namespace tally::reference {

/// Over the outputs of one study. "Compared" are the elements whose output and exact result are
/// both finite; the others only count in the fractions. The error is output - exact; relative
/// errors are |error| / |exact|, over compared elements whose exact result is not 0. Of nothing,
/// every number is 0 and the SQNR is infinite.
struct ErrorStatistics {
  std::int64_t elements = 0, compared = 0;
  double max_abs_err = 0, mean_abs_err = 0, rms_err = 0;
  double max_rel_err = 0, mean_rel_err = 0, rms_rel_err = 0;
  /// 10 log10(sum of exact^2 / sum of error^2), over compared elements. Infinite where there is no
  /// error, minus infinite where all exact results are 0 and some outputs are not.
  double sqnr_db = 0;
  double bias = 0;  // the mean error
  // Fractions of `elements`. saturated: as the caller marked them. flushed: the output is 0 and
  // the exact result is not.
  double saturated = 0, flushed = 0, nan = 0, infinite = 0;
  /// The largest |error| / bound. Of an element with an infinite bound: 0. Infinite where an output
  /// is not finite in spite of a finite bound, and where an error has the bound 0.
  double max_err_over_bound = 0;
};

/// What is known of n outputs of one rank, in order; all [n]. `bounds` and `saturated` may be
/// empty: then their statistics stay 0.
struct ErrorSamples {
  std::span<const float> outputs;
  std::span<const double> exact;   // ExactResults::rounded
  std::span<const double> errors;  // ExactResults::errors
  std::span<const double> bounds;  // error_bound.h
  std::span<const std::uint8_t> saturated;
};

/// A sum of doubles that keeps what each addition loses (Neumaier, ZAMM 54, 1974), so that its
/// error does not grow with the number of terms: about 2^-52 of the sum of magnitudes.
struct CompensatedSum {
  double sum = 0, lost = 0;
  void add(double x);
  double value() const { return sum + lost; }
};

/// Collects samples. The same samples in the same order, divided among collectors at the same
/// places that are then merged in order, give the same bits, on however many threads.
class ErrorCollector {
 public:
  void add(const ErrorSamples& samples);
  /// As if `later`'s samples had been added after this one's, but for the rounding of the sums.
  void merge(const ErrorCollector& later);
  ErrorStatistics statistics() const;

 private:
  void add_compared(std::span<const double> exact, std::span<const double> errors);

  std::int64_t elements_ = 0, compared_ = 0, relative_ = 0;
  std::int64_t saturated_ = 0, flushed_ = 0, nan_ = 0, infinite_ = 0;
  double max_abs_ = 0, max_rel_ = 0, max_over_bound_ = 0;
  CompensatedSum abs_, squares_, rel_, rel_squares_, signal_squares_, signed_;
};

/// The exact results of one reduction: for each element the sum over the ranks, or its mean, or the
/// sum of products with the factor as it was rounded to the element type.
class ExactResults {
 public:
  /// inputs: [rank], codes of the element type. The op adds; another one stops the program. The
  /// wire and the accumulator do not matter.
  ExactResults(const model::Arithmetic& arithmetic, const RankBuffers& inputs);

  std::int64_t size() const { return static_cast<std::int64_t>(sums_.size()); }
  /// Each to the nearest double. NaN and infinities as ExactSum has them.
  std::vector<double> rounded() const;
  /// outputs - exact, each exact and then rounded to the nearest double. NaN where either is not
  /// finite and they are not both the same infinity.
  std::vector<double> errors(std::span<const float> outputs) const;

 private:
  std::vector<ExactSum> sums_;
  int divisor_;  // 1, or the ranks of a mean
};

}  // namespace tally::reference
