#pragma once

// How far predictions are from measured times.

#include <span>
#include <string>
#include <vector>

#include "sim/measured_table.h"
#include "sim/parameters.h"

namespace tally::sim {

/// Over rows, of predicted / measured - 1: the median and the 90th percentile of its magnitude
/// (between neighbours by linear interpolation), and the median with its sign.
struct RelativeErrors {
  std::string file;
  std::size_t rows = 0;
  double median_rel_err = 0, p90_rel_err = 0, bias = 0;
};

struct Comparison {
  std::string file;
  std::int64_t bytes;
  double measured_us, predicted_us;
  std::string path;
};

struct Validation {
  std::vector<RelativeErrors> files;  // in the order of the tables; of those with rows
  RelativeErrors all;                 // of all rows, each with the same weight
  std::vector<Comparison> points;
};

/// An error where a table's scenario cannot be predicted; it names the file.
model::Result<Validation> validate(std::span<const MeasuredTable> tables,
                                   const Parameters& parameters = Parameters::fitted());

/// Of predicted / measured - 1 of some rows. No rows: zeros.
RelativeErrors relative_errors(const std::string& file, const std::vector<double>& errors);

}  // namespace tally::sim
