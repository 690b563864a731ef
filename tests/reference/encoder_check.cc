#include "tests/reference/encoder_check.h"

#include <bit>
#include <cstdio>

#include "reference/convert.h"
#include "reference/convert_spec.h"
#include "tests/reference/cases_file.h"

namespace tally::test {

std::string first_difference(const Encoder& encoder, model::Format id,
                             const std::vector<float>& inputs, model::Rounding rounding,
                             std::uint32_t random_bits) {
  reference::SpecEncoder spec(id);
  for (const float x : inputs) {
    const reference::Rounded rounded = spec.round(x, rounding, random_bits);
    for (const model::Overflow overflow : kOverflows) {
      const std::uint32_t want = spec.code(rounded, overflow);
      const std::uint32_t got = encoder(id, x, rounding, overflow, random_bits);
      if (got == want) continue;
      return std::string(model::name_of(rounding)) + ", random bits " + hex(random_bits) + ", " +
             difference(id, hex(std::bit_cast<std::uint32_t>(x)), got, want);
    }
  }
  return "";
}

std::vector<float> values_of(model::Format id) {
  std::vector<float> values;
  for (std::uint32_t code = 0; code < model::format(id).code_count(); ++code) {
    values.push_back(reference::decode(id, code));
  }
  return values;
}

std::vector<float> systematic_f32() {
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      values.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  return values;
}

std::string hex(std::uint32_t bits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08X", bits);
  return text;
}

}  // namespace tally::test
