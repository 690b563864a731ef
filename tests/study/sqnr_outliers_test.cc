// Goal: the SQNR of the wires' quantisers is the known one where a few values carry the power.
// Method: as in sqnr_test.cc. Of this input 0.1 % of the values hold 71 % of the power, so that of
// n elements the SQNR has a standard error of up to 0.04 dB * sqrt(64 million / n). 64 million
// bring it below half a decimal, and cost a minute; hence the closed forms wherever there is one.

#include <cmath>

#include "tests/study/sqnr_measurement.h"
#include "tests/support/catch.h"

namespace {

using tally::test::measure_sqnr;
using tally::test::rounding_noise;
using tally::test::Sqnr;

constexpr double kOutliers = 4194.0 / (1 << 22);
constexpr double kPower = 1 + kOutliers * (50.0 * 50 - 1);

/// With elements of so many fraction bits, each with the relative error of a raw cast.
double raw_db(int fraction_bits) {
  const double noise = (1 - kOutliers) * rounding_noise(1, fraction_bits) +
                       kOutliers * rounding_noise(50, fraction_bits);
  return 10 * std::log10(kPower / noise);
}

/// In blocks of 32 with the MX floor rule, an outlier being the largest of its block and its
/// neighbours having the error of a raw cast; normal_db is the SQNR of a block without outliers.
/// Blocks of two outliers (0.05 %) make this 0.01 dB too low.
double floor_db(int fraction_bits, double normal_db) {
  const double clean = std::pow(1 - kOutliers, 32);
  const double noise = clean * std::pow(10, -normal_db / 10) +
                       (1 - clean - kOutliers) * rounding_noise(1, fraction_bits) +
                       kOutliers * rounding_noise(50, fraction_bits, 1.75);
  return 10 * std::log10(kPower / noise);
}

}  // namespace

TEST_CASE("the SQNR of normal values with outliers is the known one", "[study][slow]") {
  const std::vector<std::string> wires = {
      "e4m3fn",           "e4m3fnuz",        "e4m3fn:b32:e8m0:rceil", "e4m3fn:b32:f32",
      "e4m3fnuz:b32:f16", "e4m3fn:b128:f32", "e4m3fn:b32:e8m0:floor", "e5m2:b32:e8m0:floor"};
  const std::vector<Sqnr> clean = measure_sqnr({wires[6], wires[7]}, "normal", 16, 1 << 18);
  // A decimal where that is all that is known: half of it is the figure's own error.
  const std::pair<double, double> known[] = {{raw_db(3), 0},
                                             {raw_db(3), 0},
                                             {raw_db(3), 0},
                                             {37.7, 0.05},
                                             {37.9, 0.05},
                                             {37.0, 0.05},
                                             {floor_db(3, clean[0].sqnr_db), 0.02},
                                             {floor_db(2, clean[1].sqnr_db), 0.02}};
  const std::vector<Sqnr> all = measure_sqnr(wires, "outliers", 16, 1 << 22);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [figure, its_error] = known[i];
    INFO(wires[i] << ": " << all[i].sqnr_db << " +- " << all[i].standard_error_db << ", known "
                  << figure);
    CHECK(all[i].standard_error_db < 0.05);
    CHECK(std::abs(all[i].sqnr_db - figure) <= its_error + 3 * all[i].standard_error_db);
  }
}
