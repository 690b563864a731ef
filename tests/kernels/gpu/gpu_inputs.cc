#include "tests/kernels/gpu/gpu_inputs.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/convert.h"

namespace tally::kernels::test {
namespace {

using model::Format;

/// splitmix64 (Steele, Lea, Flood, OOPSLA 2014), as a hash.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::vector<float> make_limit_values() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values{0.0f, kInfinity, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::denorm_min(),
                            std::numeric_limits<float>::max()};
  for (const Format id : {Format::f16, Format::bf16, Format::e4m3fn, Format::e5m2, Format::e4m3fnuz,
                          Format::e5m2fnuz}) {
    const model::NumberFormat& f = model::format(id);
    const double last_place = model::power_of_two(f.max_exponent() - f.fraction_bits);
    for (const double at : {f.max_finite(), f.max_finite() + last_place / 2, f.min_normal(),
                            f.min_normal() - f.min_positive() / 2, f.min_positive(),
                            1.5 * f.min_positive(), f.min_positive() / 2}) {
      const float x = static_cast<float>(at);
      for (const float y : {std::nextafter(x, 0.0f), x, std::nextafter(x, kInfinity)}) {
        values.push_back(y);
      }
    }
  }
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  return values;
}

/// A number of either sign between 2^-12 and 2^6.
float ordinary(std::uint64_t random) {
  const std::uint32_t exponent = 127 - 12 + static_cast<std::uint32_t>(random >> 32) % 18;
  const std::uint32_t bits = static_cast<std::uint32_t>(random);
  return std::bit_cast<float>((bits & 0x807F'FFFFu) | exponent << 23);
}

}  // namespace

const std::vector<float>& limit_values() {
  static const std::vector<float> values = make_limit_values();
  return values;
}

RankBuffers make_inputs(Format element, int ranks, std::int64_t count, std::uint64_t seed) {
  const int bytes = model::format(element).bytes();
  const std::vector<float>& limits = limit_values();
  RankBuffers inputs(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    inputs[rank].resize(count * bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t place = mix(seed ^ mix(i)), random = mix(place + rank);
      float x = ordinary(random);
      const int kind = place % 4;
      if (kind == 0 && random % 3 == 0) x = limits[(random >> 8) % limits.size()];
      std::uint32_t code =
          reference::encode(element, x, model::Rounding::nearest_even, model::kAsFormat);
      if (kind == 1 && static_cast<int>((place >> 8) % ranks) == rank) {
        code = static_cast<std::uint32_t>(random >> 16);
      }
      std::memcpy(&inputs[rank][i * bytes], &code, bytes);
    }
  }
  return inputs;
}

}  // namespace tally::kernels::test
