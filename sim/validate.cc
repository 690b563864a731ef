#include "sim/validate.h"

#include <algorithm>
#include <cmath>

#include "sim/predict.h"

namespace tally::sim {
namespace {

// Between the two sorted values around it, linearly.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

}  // namespace

RelativeErrors relative_errors(const std::string& file, const std::vector<double>& errors) {
  if (errors.empty()) return {file};
  std::vector<double> magnitudes;
  for (const double error : errors) magnitudes.push_back(std::fabs(error));
  return {file, errors.size(), quantile(magnitudes, 0.5), quantile(magnitudes, 0.9),
          quantile(errors, 0.5)};
}

model::Result<Validation> validate(std::span<const MeasuredTable> tables,
                                   const Parameters& parameters) {
  Validation validation;
  std::vector<double> all;
  for (const MeasuredTable& table : tables) {
    const auto predictor = Predictor::of(table.scenario, parameters);
    if (!predictor) {
      model::Error error = predictor.error();
      error.where = table.file + ": " + error.where;
      return error;
    }
    std::vector<double> errors;
    for (const auto& row : table.rows) {
      const Prediction prediction = (*predictor)(row.bytes);
      const double micros = prediction.time.micros();
      errors.push_back(micros / row.time_us - 1);
      validation.points.push_back({table.file, row.bytes, row.time_us, micros, prediction.path});
    }
    if (errors.empty()) continue;
    validation.files.push_back(relative_errors(table.file, errors));
    all.insert(all.end(), errors.begin(), errors.end());
  }
  validation.all = relative_errors("all", all);
  return validation;
}

}  // namespace tally::sim
