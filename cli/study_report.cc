#include "cli/study_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "verify/csv_field.h"

namespace tally::cli {
namespace {

using study::Cell;
using study::Measurement;
using Json = nlohmann::ordered_json;

/// Scales count: of a row of the cell's length.
double wire_bytes_per_element(const Cell& cell) {
  const std::int64_t count = std::max<std::int64_t>(1, cell.count);
  return static_cast<double>(cell.arithmetic.wire.bytes(count, cell.arithmetic.element)) /
         static_cast<double>(count);
}

class Table : public StudyReport {
 public:
  explicit Table(std::ostream& out) : out_(out) {
    out_ << fmt::format(
        "# {:>5} {:<24} {:>8} {:>5} {:>5} {:>7} {:>9} {:>9} {:>9} {:>8} {:>9}"
        " {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n",
        "dtype", "wire", "bytes/el", "algo", "ranks", "acc", "elements", "max err", "rms err",
        "SQNR dB", "bias", "saturated", "flushed", "nan", "infinite", "err/bound", "input");
  }

  void add(const Measurement& measurement) override {
    const auto& [cell, errors] = measurement;
    const model::Arithmetic& a = cell.arithmetic;
    out_ << fmt::format(
        "  {:>5} {:<24} {:>8.4g} {:>5} {:>5} {:>7} {:>9} {:>9.3g} {:>9.3g}"
        " {:>8.2f} {:>9.2g} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3f}  {}\n",
        model::format(a.element).name, a.wire.name(), wire_bytes_per_element(cell), cell.algorithm,
        cell.ranks, model::name(a.accumulate), errors.elements, errors.max_abs_err, errors.rms_err,
        errors.sqnr_db, errors.bias, errors.saturated, errors.flushed, errors.nan, errors.infinite,
        errors.max_err_over_bound, cell.input.name);
  }

 private:
  std::ostream& out_;
};

Json finite_or_null(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json fields(const Measurement& measurement) {
  const auto& [cell, errors] = measurement;
  const model::Arithmetic& a = cell.arithmetic;
  return {
      {"input", cell.input.name},
      {"dtype", model::format(a.element).name},
      {"wire", a.wire.name()},
      {"algorithm", cell.algorithm},
      {"ranks", cell.ranks},
      {"accumulate", model::name(a.accumulate)},
      {"elements", errors.elements},
      {"max_abs_err", finite_or_null(errors.max_abs_err)},
      {"mean_abs_err", finite_or_null(errors.mean_abs_err)},
      {"rms_err", finite_or_null(errors.rms_err)},
      {"max_rel_err", finite_or_null(errors.max_rel_err)},
      {"mean_rel_err", finite_or_null(errors.mean_rel_err)},
      {"rms_rel_err", finite_or_null(errors.rms_rel_err)},
      {"sqnr_db", finite_or_null(errors.sqnr_db)},
      {"bias", finite_or_null(errors.bias)},
      {"saturated", errors.saturated},
      {"flushed", errors.flushed},
      {"nan", errors.nan},
      {"infinite", errors.infinite},
      {"max_err_over_bound", finite_or_null(errors.max_err_over_bound)},
      {"wire_bytes_per_element", wire_bytes_per_element(cell)},
  };
}

class JsonLines : public StudyReport {
 public:
  explicit JsonLines(std::ostream& out) : out_(out) {}
  void add(const Measurement& measurement) override {
    // A path on a command line need not be UTF-8; what is not is replaced, not thrown.
    out_ << fields(measurement).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }

 private:
  std::ostream& out_;
};

class Csv : public StudyReport {
 public:
  explicit Csv(std::ostream& out) : out_(out) {}
  void add(const Measurement& measurement) override {
    const Json object = fields(measurement);
    std::string header, row;
    for (const auto& [key, value] : object.items()) {
      header += (header.empty() ? "" : ",") + key;
      if (!row.empty()) row += ',';
      if (value.is_null()) continue;
      row += verify::csv_field(value.is_string() ? value.get<std::string>() : value.dump());
    }
    if (!has_header_) out_ << header << '\n';
    has_header_ = true;
    out_ << row << '\n';
  }

 private:
  std::ostream& out_;
  bool has_header_ = false;
};

}  // namespace

std::unique_ptr<StudyReport> study_table(std::ostream& out) { return std::make_unique<Table>(out); }
std::unique_ptr<StudyReport> study_json(std::ostream& out) {
  return std::make_unique<JsonLines>(out);
}
std::unique_ptr<StudyReport> study_csv(std::ostream& out) { return std::make_unique<Csv>(out); }

}  // namespace tally::cli
