#pragma once

// The SQNR of wires' quantisers, with how far a sample's may be from it; and closed forms.

#include <cstdint>
#include <string>
#include <vector>

namespace tally::test {

/// sqnr_db: 10 log10(summed squares of the values / of the errors), over all samples.
/// standard_error_db: of sqnr_db, from the spread among the samples.
struct Sqnr {
  double sqnr_db, standard_error_db;
};

/// One quantisation: one rank, flat, f32. `samples` draws with the seeds 1, 2, ..., of `elements`
/// each, the same for every wire.
std::vector<Sqnr> measure_sqnr(const std::vector<std::string>& wires, const char* input,
                               int samples, std::int64_t elements);

/// The mean square error of rounding N(0, sigma^2) to nearest, significands having `fraction_bits`
/// after the point and exponents no limit. In each binade what is above `top` times its power of
/// two becomes that; with top 2 nothing does. (top 1.75 is a block that is scaled by the MX floor
/// rule, as its own largest value sees it.) Integrated piece by piece, exactly.
double rounding_noise(double sigma, int fraction_bits, double top = 2);

}  // namespace tally::test
