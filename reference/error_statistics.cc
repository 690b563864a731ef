#include "reference/error_statistics.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/check.h"
#include "reference/convert.h"

namespace tally::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Elements whose terms are worked out together; sums take them in order all the same.
constexpr std::size_t kTile = 512;
using Tile = Eigen::Array<double, Eigen::Dynamic, 1, Eigen::ColMajor, kTile, 1>;

void add_all(CompensatedSum& sum, const Tile& terms) {
  for (const double term : terms) sum.add(term);
}

double largest(const Tile& terms, double so_far) {
  return terms.size() == 0 ? so_far : std::max(so_far, terms.maxCoeff());
}

double largest_over_bound(float output, double error, double bound) {
  if (bound == kInfinity) return 0;
  if (!std::isfinite(output) || !std::isfinite(error)) return kInfinity;
  return error == 0 ? 0 : std::fabs(error) / bound;
}

}  // namespace

void CompensatedSum::add(double x) {
  const double next = sum + x;
  if (std::isfinite(next)) lost += std::fabs(sum) >= std::fabs(x) ? sum - next + x : x - next + sum;
  sum = next;
}

void ErrorCollector::add(const ErrorSamples& samples) {
  const std::size_t n = samples.outputs.size();
  TALLY_CHECK(samples.exact.size() == n && samples.errors.size() == n, "samples of one size");
  TALLY_CHECK(samples.bounds.empty() || samples.bounds.size() == n, "samples of one size");
  TALLY_CHECK(samples.saturated.empty() || samples.saturated.size() == n, "samples of one size");
  for (std::size_t begin = 0; begin < n; begin += kTile) {
    const std::size_t length = std::min(kTile, n - begin);
    std::array<double, kTile> exact, errors;
    std::size_t compared = 0;
    for (std::size_t i = begin; i < begin + length; ++i) {
      const float output = samples.outputs[i];
      nan_ += std::isnan(output);
      infinite_ += std::isinf(output);
      flushed_ += output == 0 && samples.exact[i] != 0;
      if (!samples.saturated.empty()) saturated_ += samples.saturated[i] != 0;
      if (!samples.bounds.empty()) {
        const double ratio = largest_over_bound(output, samples.errors[i], samples.bounds[i]);
        max_over_bound_ = std::max(max_over_bound_, ratio);
      }
      if (!std::isfinite(output) || !std::isfinite(samples.exact[i])) continue;
      exact[compared] = samples.exact[i];
      errors[compared++] = samples.errors[i];
    }
    add_compared(std::span(exact).first(compared), std::span(errors).first(compared));
  }
  elements_ += static_cast<std::int64_t>(n);
}

void ErrorCollector::add_compared(std::span<const double> exact_values,
                                  std::span<const double> error_values) {
  const auto n = static_cast<Eigen::Index>(exact_values.size());
  const Eigen::Map<const Tile> exact(exact_values.data(), n), errors(error_values.data(), n);
  const Tile magnitudes = errors.abs();
  add_all(abs_, magnitudes);
  add_all(squares_, errors.square());
  add_all(signal_squares_, exact.square());
  add_all(signed_, errors);
  max_abs_ = largest(magnitudes, max_abs_);

  // Where the exact result is 0 there is no relative error: a 0 adds nothing.
  const Tile relative = (exact == 0).select(Tile::Zero(n), magnitudes / exact.abs());
  add_all(rel_, relative);
  add_all(rel_squares_, relative.square());
  max_rel_ = largest(relative, max_rel_);
  compared_ += n;
  relative_ += (exact != 0).count();
}

void ErrorCollector::merge(const ErrorCollector& later) {
  elements_ += later.elements_;
  compared_ += later.compared_;
  relative_ += later.relative_;
  saturated_ += later.saturated_;
  flushed_ += later.flushed_;
  nan_ += later.nan_;
  infinite_ += later.infinite_;
  max_abs_ = std::max(max_abs_, later.max_abs_);
  max_rel_ = std::max(max_rel_, later.max_rel_);
  max_over_bound_ = std::max(max_over_bound_, later.max_over_bound_);
  for (const auto sum : {&ErrorCollector::abs_, &ErrorCollector::squares_, &ErrorCollector::rel_,
                         &ErrorCollector::rel_squares_, &ErrorCollector::signal_squares_,
                         &ErrorCollector::signed_}) {
    (this->*sum).add((later.*sum).sum);
    (this->*sum).lost += (later.*sum).lost;
  }
}

ErrorStatistics ErrorCollector::statistics() const {
  const auto over = [](double sum, std::int64_t n) {
    return n == 0 ? 0 : sum / static_cast<double>(n);
  };
  const auto fraction = [&](std::int64_t n) { return over(static_cast<double>(n), elements_); };
  ErrorStatistics s;
  s.elements = elements_;
  s.compared = compared_;
  s.max_abs_err = max_abs_;
  s.mean_abs_err = over(abs_.value(), compared_);
  s.rms_err = std::sqrt(over(squares_.value(), compared_));
  s.max_rel_err = max_rel_;
  s.mean_rel_err = over(rel_.value(), relative_);
  s.rms_rel_err = std::sqrt(over(rel_squares_.value(), relative_));
  const double noise = squares_.value();
  s.sqnr_db = noise == 0 ? kInfinity : 10 * std::log10(signal_squares_.value() / noise);
  s.bias = over(signed_.value(), compared_);
  s.saturated = fraction(saturated_);
  s.flushed = fraction(flushed_);
  s.nan = fraction(nan_);
  s.infinite = fraction(infinite_);
  s.max_err_over_bound = max_over_bound_;
  return s;
}

ExactResults::ExactResults(const model::Arithmetic& arithmetic, const RankBuffers& inputs)
    : divisor_(arithmetic.op == model::Op::avg ? static_cast<int>(inputs.size()) : 1) {
  TALLY_CHECK(adds(arithmetic.op), "only sums and means have an error");
  TALLY_CHECK(!inputs.empty(), "one input for each rank");
  const auto bytes = static_cast<std::size_t>(arithmetic.element.bytes());
  const double factor = premultiplier(arithmetic, static_cast<int>(inputs.size()));
  sums_.resize(inputs[0].size() / bytes);
  std::vector<float> values(sums_.size());
  for (const auto& input : inputs) {
    decode_array(arithmetic.element, input, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (premultiplies(arithmetic.op)) {
        sums_[i].add(static_cast<double>(values[i]) * factor);  // exact
      } else {
        sums_[i].add(values[i]);
      }
    }
  }
}

std::vector<double> ExactResults::rounded() const {
  std::vector<double> all;
  all.reserve(sums_.size());
  for (const ExactSum& sum : sums_) all.push_back(sum.rounded(divisor_));
  return all;
}

std::vector<double> ExactResults::errors(std::span<const float> outputs) const {
  TALLY_CHECK(outputs.size() == sums_.size(), "an output for each exact result");
  std::vector<double> all;
  all.reserve(sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    all.push_back(sums_[i].difference_from(outputs[i], divisor_));
  }
  return all;
}

}  // namespace tally::reference
