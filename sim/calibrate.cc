#include "sim/calibrate.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/predict.h"

namespace tally::sim {
namespace {

using model::Error;
using model::Result;

constexpr double kStep = 1e-4;                   // of a logarithm, for a derivative
constexpr double kNormal95 = 1.959963984540054;  // the normal distribution's 97.5th percentile
constexpr double kFlat = 1e-6;                   // a curvature that no row makes
constexpr int kMostRounds = 100;
constexpr int kRoundsFromNearby = 8;  // where a fit begins at one of nearly the same tables

double soft_l1(double r) {
  return 2 * kNoise * kNoise * (std::sqrt(1 + (r / kNoise) * (r / kNoise)) - 1);
}
double weight(double r) { return 1 / std::sqrt(1 + (r / kNoise) * (r / kNoise)); }

/// The residuals of all rows, and where those of each table begin.
class Problem {
 public:
  Problem(std::span<const MeasuredTable> tables, const Parameters& start)
      : tables_(tables), at_(start) {
    for (const MeasuredTable& table : tables) {
      begins_.push_back(rows_);
      rows_ += table.rows.size();
    }
    for (std::size_t i = 0; i < parameter_rows().size(); ++i) {
      if (parameter_rows()[i].is_fitted()) find_tables(i);
    }
  }

  const std::vector<std::size_t>& unknowns() const { return unknowns_; }
  const Parameters& at() const { return at_; }

  Eigen::VectorXd start() const {
    Eigen::VectorXd z(size());
    for (Eigen::Index k = 0; k < z.size(); ++k) {
      z[k] = std::log(at_[unknowns_[static_cast<std::size_t>(k)]].value);
    }
    return z;
  }

  void move_to(const Eigen::VectorXd& z) {
    for (Eigen::Index k = 0; k < z.size(); ++k) set(static_cast<std::size_t>(k), z[k]);
  }

  Eigen::VectorXd residuals() const {
    Eigen::VectorXd r(static_cast<Eigen::Index>(rows_));
    for (std::size_t t = 0; t < tables_.size(); ++t) fill(t, at_, r);
    return r;
  }

  /// Only the tables that an unknown touches are predicted again.
  Eigen::MatrixXd jacobian(const Eigen::VectorXd& z, const Eigen::VectorXd& r) {
    Eigen::MatrixXd j = Eigen::MatrixXd::Zero(r.size(), size());
    for (std::size_t k = 0; k < unknowns_.size(); ++k) {
      const auto column = static_cast<Eigen::Index>(k);
      set(k, z[column] + kStep);
      Eigen::VectorXd moved = r;
      for (const std::size_t t : touched_[k]) fill(t, at_, moved);
      j.col(column) = (moved - r) / kStep;
      set(k, z[column]);
    }
    return j;
  }

  /// Whether an unknown lies at a limit and would leave it: the others then step without it.
  bool is_held(Eigen::Index k, double z, double gradient) const {
    const ParameterRow& row = parameter_rows()[unknowns_[static_cast<std::size_t>(k)]];
    return gradient < 0 ? z >= std::log(row.most) : z <= std::log(row.least);
  }

  Eigen::VectorXd clamped(Eigen::VectorXd z) const {
    for (Eigen::Index k = 0; k < z.size(); ++k) {
      const ParameterRow& row = parameter_rows()[unknowns_[static_cast<std::size_t>(k)]];
      z[k] = std::clamp(z[k], std::log(row.least), std::log(row.most));
    }
    return z;
  }

 private:
  Eigen::Index size() const { return static_cast<Eigen::Index>(unknowns_.size()); }

  void set(std::size_t k, double z) {
    const double value = std::exp(z);
    at_.set(unknowns_[k], {value, value, value});
  }

  // A row is an unknown where another value of it changes a path of some table's library.
  void find_tables(std::size_t row) {
    Parameters other = at_;
    const double value = at_[row].value * 1.7;
    other.set(row, {value, value, value});
    std::vector<std::size_t> touched;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (!is_path_touched(tables_[t].scenario, other)) continue;
      touched.push_back(t);
    }
    if (touched.empty()) return;
    unknowns_.push_back(row);
    touched_.push_back(touched);
  }

  bool is_path_touched(const Scenario& scenario, const Parameters& other) const {
    const auto a = Predictor::of(scenario, at_), b = Predictor::of(scenario, other);
    return a->paths() != b->paths();
  }

  void fill(std::size_t t, const Parameters& parameters, Eigen::VectorXd& r) const {
    const auto predictor = Predictor::of(tables_[t].scenario, parameters);
    auto at = static_cast<Eigen::Index>(begins_[t]);
    for (const auto& row : tables_[t].rows) {
      r[at++] = std::log(predictor->micros(row.bytes) / row.time_us);
    }
  }

  std::span<const MeasuredTable> tables_;
  Parameters at_;
  std::size_t rows_ = 0;
  std::vector<std::size_t> begins_, unknowns_;
  std::vector<std::vector<std::size_t>> touched_;  // by unknown: numbers of tables
};

double loss(const Eigen::VectorXd& r) { return r.unaryExpr(&soft_l1).sum(); }

/// One round of Levenberg and Marquardt: a smaller loss and the way there, or nothing where no step
/// is better.
bool improve(Problem& problem, Eigen::VectorXd& z, double& damping) {
  const Eigen::VectorXd r = problem.residuals();
  const Eigen::MatrixXd j = problem.jacobian(z, r);
  const Eigen::VectorXd w = r.unaryExpr(&weight);
  Eigen::MatrixXd normal = j.transpose() * w.asDiagonal() * j;
  Eigen::VectorXd gradient = j.transpose() * w.asDiagonal() * r;
  for (Eigen::Index k = 0; k < z.size(); ++k) {
    if (!problem.is_held(k, z[k], gradient[k])) continue;
    normal.row(k).setZero();
    normal.col(k).setZero();
    gradient[k] = 0;
  }
  const double before = loss(r);
  for (; damping < 1e8; damping *= 4) {
    Eigen::MatrixXd damped = normal;
    damped.diagonal() += damping * (normal.diagonal().array() + 1e-9).matrix();
    const Eigen::VectorXd next = problem.clamped(z - damped.ldlt().solve(gradient));
    problem.move_to(next);
    const double after = loss(problem.residuals());
    if (after < before * (1 - kLeastGain)) {
      z = next;
      damping = std::max(damping / 8, 1e-9);
      return true;
    }
  }
  problem.move_to(z);
  return false;
}

/// Intervals from the curvature; a parameter at a limit, or that nothing tells from others, is not
/// determined, and has its limits for an interval.
void add_intervals(Problem& problem, const Eigen::VectorXd& z, const Parameters& start,
                   Calibration& result) {
  const Eigen::VectorXd r = problem.residuals();
  const Eigen::MatrixXd j = problem.jacobian(z, r);
  const Eigen::VectorXd w = r.unaryExpr(&weight);
  const Eigen::MatrixXd normal = j.transpose() * w.asDiagonal() * j;
  const Eigen::MatrixXd covariance = normal.completeOrthogonalDecomposition().pseudoInverse();
  const double freedom = std::max(w.sum() - static_cast<double>(z.size()), 1.0);
  const double variance = (w.array() * r.array().square()).sum() / freedom;
  for (Eigen::Index k = 0; k < z.size(); ++k) {
    const std::size_t row = problem.unknowns()[static_cast<std::size_t>(k)];
    const ParameterRow& limits = parameter_rows()[row];
    if (!(normal(k, k) > kFlat)) {  // no row of a table takes its path
      result.parameters.set(row, {start[row].value, limits.least, limits.most});
      continue;
    }
    const double value = std::clamp(std::exp(z[k]), limits.least, limits.most);
    const double spread =
        std::exp(kNormal95 * std::sqrt(std::max(variance * covariance(k, k), 0.0)));
    const bool is_inside = value > limits.least * 1.001 && value < limits.most * 0.999;
    result.is_determined[row] =
        is_inside && value / spread > limits.least && value * spread < limits.most;
    result.parameters.set(row, {value, std::max(value / spread, limits.least),
                                std::min(value * spread, limits.most)});
  }
}

std::optional<Error> first_error(std::span<const MeasuredTable> tables,
                                 const Parameters& parameters) {
  for (const MeasuredTable& table : tables) {
    const auto predictor = Predictor::of(table.scenario, parameters);
    if (predictor) continue;
    Error error = predictor.error();
    error.where = table.file + ": " + error.where;
    return error;
  }
  return std::nullopt;
}

Result<Calibration> calibrate_in(int most_rounds, std::span<const MeasuredTable> tables,
                                 const Parameters& start) {
  if (const auto error = first_error(tables, start)) return *error;
  Problem problem(tables, start);
  Eigen::VectorXd z = problem.clamped(problem.start());
  problem.move_to(z);
  Calibration result{start, std::vector<bool>(parameter_rows().size(), false), 0};
  double damping = 1e-2;
  while (result.rounds < most_rounds && improve(problem, z, damping)) ++result.rounds;
  add_intervals(problem, z, start, result);
  return result;
}

}  // namespace

Result<Calibration> calibrate(std::span<const MeasuredTable> tables, const Parameters& start) {
  return calibrate_in(kMostRounds, tables, start);
}

Result<std::vector<RelativeErrors>> leave_one_out(std::span<const MeasuredTable> tables,
                                                  const Parameters& fitted) {
  std::vector<RelativeErrors> errors;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    std::vector<MeasuredTable> others(tables.begin(), tables.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const auto without = calibrate_in(kRoundsFromNearby, others, fitted);
    if (!without) return without.error();
    const auto left_out = validate(tables.subspan(i, 1), without->parameters);
    if (!left_out) return left_out.error();
    errors.push_back(left_out->all);
    errors.back().file = tables[i].file;
  }
  return errors;
}

}  // namespace tally::sim
