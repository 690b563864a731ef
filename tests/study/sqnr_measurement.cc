#include "tests/study/sqnr_measurement.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "study/measure.h"

namespace tally::test {
namespace {

struct Powers {
  std::vector<double> signal, noise;  // one of each sample
};

Sqnr sqnr_of(const Powers& powers) {
  double signal = 0, noise = 0, squares = 0;
  const auto samples = static_cast<double>(powers.signal.size());
  for (const double s : powers.signal) signal += s;
  for (const double n : powers.noise) noise += n;
  // The standard error of a ratio of means, to first order (Cochran, Sampling Techniques, 2.11).
  for (std::size_t i = 0; i < powers.signal.size(); ++i) {
    squares += std::pow(powers.signal[i] - signal / noise * powers.noise[i], 2);
  }
  const double relative = std::sqrt(squares * samples / (samples - 1)) / signal;
  return {10 * std::log10(signal / noise), 10 / std::numbers::ln10 * relative};
}

/// The integral of (x - q)^2 over [low, high] against N(0, 1).
double square_error(double low, double high, double q) {
  const auto density = [](double x) {
    return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  };
  const double mass =
      (std::erfc(low / std::numbers::sqrt2) - std::erfc(high / std::numbers::sqrt2)) / 2;
  const double first = density(low) - density(high);
  const double second = mass + low * density(low) - high * density(high);
  return second - 2 * q * first + q * q * mass;
}

}  // namespace

std::vector<Sqnr> measure_sqnr(const std::vector<std::string>& wires, const char* input,
                               int samples, std::int64_t elements) {
  std::vector<study::Cell> cells;
  for (const std::string& wire : wires) {
    cells.push_back(
        {*reference::open_input(input),
         "flat",
         {model::Format::f32, *model::parse_wire(wire), model::Op::sum, model::Accumulate::f32},
         1,
         elements});
  }
  std::vector<Powers> powers(wires.size());
  for (int seed = 1; seed <= samples; ++seed) {
    study::measure(cells, static_cast<std::uint64_t>(seed), 2, [&](const auto& measurement) {
      const reference::ErrorStatistics& errors = measurement.errors;
      Powers& mine = powers[&measurement.cell - cells.data()];
      mine.noise.push_back(errors.rms_err * errors.rms_err);
      mine.signal.push_back(mine.noise.back() * std::pow(10.0, errors.sqnr_db / 10));
    });
  }
  std::vector<Sqnr> all;
  for (const Powers& p : powers) all.push_back(sqnr_of(p));
  return all;
}

double rounding_noise(double sigma, int fraction_bits, double top) {
  double noise = 0;
  const int steps = 1 << fraction_bits;
  for (int exponent = -40; exponent < 14; ++exponent) {
    const double low = std::ldexp(1.0, exponent) / sigma;
    double below = low;  // where the nearest value begins to be q
    for (int k = 0; k <= steps; ++k) {
      const double q = low * std::min(top, 1 + double(k) / steps);
      const bool is_last = k == steps || q == low * top;
      const double above = is_last ? 2 * low : low * (1 + (k + 0.5) / steps);
      noise += 2 * sigma * sigma * square_error(below, above, q);
      below = above;
      if (is_last) break;
    }
  }
  return noise;
}

}  // namespace tally::test
