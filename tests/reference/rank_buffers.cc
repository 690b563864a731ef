#include "tests/reference/rank_buffers.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "model/check.h"
#include "reference/convert_spec.h"

namespace tally::test {

using model::Format;
using model::NumberFormat;

std::uint64_t Random::bits() {
  std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
  return z ^ (z >> 31);
}

void append_code(Format id, std::uint32_t code, std::vector<std::byte>& codes) {
  for (int i = 0; i < model::format(id).bytes(); ++i) codes.push_back(std::byte(code >> (8 * i)));
}

std::uint32_t code_at(Format id, const std::vector<std::byte>& codes, std::int64_t index) {
  const int bytes = model::format(id).bytes();
  std::uint32_t code = 0;
  for (int i = 0; i < bytes; ++i) {
    code |= std::to_integer<std::uint32_t>(codes.at(index * bytes + i)) << (8 * i);
  }
  return code;
}

std::vector<std::byte> codes_of(Format id, const std::vector<double>& values) {
  std::vector<std::byte> codes;
  for (const double value : values) {
    const std::uint32_t code =
        reference::encode_spec(id, value, model::Rounding::nearest_even, model::kAsFormat);
    TALLY_CHECK(std::isnan(value) || reference::decode_spec(id, code) == value,
                "a test's value is not of the format");
    append_code(id, code, codes);
  }
  return codes;
}

std::uint32_t random_code(Format id, Random& random) {
  const NumberFormat& f = model::format(id);
  const auto any = static_cast<std::uint32_t>(random.bits() >> 32) & f.code_mask();
  const std::uint32_t sign = any & f.sign_mask();
  switch (random.below(3)) {
    case 0:
      return any;
    case 1: {
      const std::uint32_t edges[] = {0, 1u << f.fraction_bits, f.max_code(), f.infinity_code(),
                                     f.nan_code()};
      const std::uint32_t near = edges[random.below(std::size(edges))] + random.below(5) - 2;
      return (sign | near) & f.code_mask();
    }
    default: {
      const std::uint32_t exponent = static_cast<std::uint32_t>(f.bias) + random.below(24) - 12;
      return sign | exponent << f.fraction_bits | (any & f.fraction_mask());
    }
  }
}

reference::RankBuffers random_inputs(Format id, int ranks, std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  reference::RankBuffers inputs(ranks);
  for (auto& input : inputs) {
    for (std::int64_t i = 0; i < count; ++i) append_code(id, random_code(id, random), input);
  }
  return inputs;
}

bool same_code(Format id, std::uint32_t a, std::uint32_t b) {
  const NumberFormat& f = model::format(id);
  return a == b || (f.is_nan(a) && f.is_nan(b));
}

std::string first_difference(Format id, const reference::RankBuffers& got,
                             const reference::RankBuffers& want) {
  if (got.size() != want.size()) return "another number of ranks";
  for (std::size_t rank = 0; rank < got.size(); ++rank) {
    const std::string where = "rank " + std::to_string(rank);
    if (got[rank].size() != want[rank].size()) return where + ": another size";
    const std::int64_t count = std::ssize(got[rank]) / model::format(id).bytes();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t a = code_at(id, got[rank], i), b = code_at(id, want[rank], i);
      if (same_code(id, a, b)) continue;
      char text[64];
      std::snprintf(text, sizeof text, ", element %lld: got %#x want %#x",
                    static_cast<long long>(i), a, b);
      return where + text;
    }
  }
  return "";
}

}  // namespace tally::test
