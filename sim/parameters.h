#pragma once

// What the libraries' closed forms need beside the machines' own numbers: a table, of which
// `tally sim --calibrate` fits most from measured times.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"
#include "model/result.h"

namespace tally::sim {

/// A row says where a value may lie, and where it comes from. The name is
/// LIBRARY/PATH/TERM, or that and @ the machine, arch or fabric for which alone it holds. A term's
/// unit is its suffix; without one it is a ratio.
struct ParameterRow {
  std::string_view name;
  double initial, least, most;  // least == most: taken from the source, and not fitted
  std::string_view source;

  bool is_fitted() const { return least < most; }
};
std::span<const ParameterRow> parameter_rows();

/// A value, and the interval that holds the true one with 95 % confidence if the model is right.
struct Parameter {
  double value, low, high;
};

class Parameters {
 public:
  /// Those that the last calibration found (sim/fitted_parameters.json).
  static const Parameters& fitted();
  /// The table's initial values.
  Parameters();

  const Parameter& operator[](std::size_t row) const { return values_[row]; }
  void set(std::size_t row, const Parameter& parameter) { values_[row] = parameter; }

  /// The value of `prefix`/`term` for the first of these machines, archs or fabrics that has one of
  /// its own, or else for all; then of the prefix a level up. Nothing where the table has none.
  std::optional<double> find(std::string_view prefix, std::string_view term,
                             std::initializer_list<std::string_view> of) const;

  /// {"made_by": command, "parameters": [{name, value, low, high, unit, evidence, source}]}.
  std::string to_json(std::string_view made_by) const;
  /// What to_json wrote. Rows that the text does not name keep their initial value.
  static model::Result<Parameters> from_json(const std::string& where, std::string_view text);

 private:
  std::vector<Parameter> values_;  // in the order of parameter_rows()
};

}  // namespace tally::sim
