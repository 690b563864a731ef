// Goal: the fast conversions give what their definitions say, in every format and mode.
// Method: all codes of all formats of up to 16 bits; all 2^16 f16 and bf16 values as inputs, and
// f32 values with every upper half and chosen lower halves; public faults as cases. That the
// comparison can fail is seen in convert_properties_test.cc; all 2^32 f32 inputs are compared in
// convert_exhaustive_test.cc.

#include "reference/convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "reference/convert_spec.h"
#include "tests/reference/cases_file.h"
#include "tests/reference/encoder_check.h"
#include "tests/reference/instruction_sets.h"
#include "tests/support/catch.h"

namespace tally::reference {
namespace {

using model::Format;
using model::Overflow;
using model::Rounding;
using test::hex;
using test::kOverflows;
using test::systematic_f32;
using test::values_of;

constexpr std::uint32_t kRandomWords[] = {0,          1,          0x7FFFFFFF, 0x80000000,
                                          0x80000001, 0xDEADBEEF, 0xFFFFFFFF};

std::string first_difference(Format id, const std::vector<float>& inputs) {
  for (const model::RoundingName& rounding : model::kRoundings) {
    for (const std::uint32_t random_bits : kRandomWords) {
      if (rounding.id != Rounding::stochastic && random_bits != 0) continue;
      std::string found = test::first_difference(encode, id, inputs, rounding.id, random_bits);
      if (!found.empty()) return found;
    }
  }
  return "";
}

bool same_value(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

std::uint32_t code_at(const std::vector<std::byte>& codes, std::size_t i, int bytes) {
  std::uint32_t code = 0;
  std::memcpy(&code, codes.data() + i * static_cast<std::size_t>(bytes),
              static_cast<std::size_t>(bytes));
  return code;
}

}  // namespace

TEST_CASE("decode gives the value that the definition gives, for every code", "[reference]") {
  for (const model::NumberFormat& f : model::kNumberFormats) {
    if (f.width() > 16) continue;
    for (std::uint32_t code = 0; code < f.code_count(); ++code) {
      if (same_value(decode(f.id, code), decode_spec(f.id, code))) continue;
      FAIL_CHECK(f.name << " " << test::describe(f.id, code) << ": got " << decode(f.id, code)
                        << ", want " << decode_spec(f.id, code));
    }
  }
  for (const float x : systematic_f32()) {
    const auto code = std::bit_cast<std::uint32_t>(x);
    if (!same_value(decode(Format::f32, code), x) || !same_value(decode_spec(Format::f32, code), x))
      FAIL_CHECK("f32 " << test::describe(Format::f32, code));
  }
}

TEST_CASE("a decoded NaN is the canonical one and keeps the code's sign", "[reference]") {
  for (const model::NumberFormat& f : model::kNumberFormats) {
    if (f.width() > 16) continue;
    for (std::uint32_t code = 0; code < f.code_count(); ++code) {
      if (!f.is_nan(code)) continue;
      const bool has_sign = f.minus_zero != model::MinusZero::nan && f.sign_field(code) == 1;
      CHECK(std::bit_cast<std::uint32_t>(decode(f.id, code)) ==
            (has_sign ? 0xFFC00000 : 0x7FC00000));
    }
  }
}

TEST_CASE("encode undoes decode", "[reference]") {
  for (const model::NumberFormat& f : model::kNumberFormats) {
    if (f.width() > 16) continue;
    for (std::uint32_t code = 0; code < f.code_count(); ++code) {
      const std::uint32_t sign = f.minus_zero == model::MinusZero::nan ? 0 : code & f.sign_mask();
      const std::uint32_t want = f.is_nan(code) ? f.nan_code() | sign : code;
      for (const model::RoundingName& rounding : model::kRoundings) {
        const float x = decode(f.id, code);
        const std::uint32_t got = encode(f.id, x, rounding.id, model::kAsFormat, 0);
        if (got != want) FAIL_CHECK(test::difference(f.id, test::describe(f.id, code), got, want));
        const std::uint32_t spec = encode_spec(f.id, x, rounding.id, model::kAsFormat, 0);
        if (spec != want) FAIL_CHECK(test::difference(f.id, "the same", spec, want));
      }
    }
  }
}

TEST_CASE("encode agrees with the definition on every f16 and bf16 value, in every mode",
          "[reference]") {
  for (const Format from : {Format::f16, Format::bf16}) {
    const std::vector<float> inputs = values_of(from);
    for (const model::NumberFormat& to : model::kNumberFormats) {
      if (to.width() <= 16) CHECK(first_difference(to.id, inputs) == "");
    }
  }
}

TEST_CASE("encode agrees with the definition on f32 values with every upper half, in every mode",
          "[reference]") {
  const std::vector<float> inputs = systematic_f32();
  for (const model::NumberFormat& to : model::kNumberFormats) {
    CHECK(first_difference(to.id, inputs) == "");
  }
}

TEST_CASE("the array conversions give what the scalar ones give, on each instruction set",
          "[reference]") {
  const std::vector<float> x = systematic_f32();
  test::for_each_instruction_set([&] {
    for (const model::NumberFormat& f : model::kNumberFormats) {
      INFO(f.name);
      std::vector<std::byte> codes(x.size() * static_cast<std::size_t>(f.bytes()));
      std::vector<float> decoded(x.size()), rounded = x;
      for (const Overflow overflow : kOverflows) {
        encode_array(f.id, overflow, x, codes);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::uint32_t want = encode(f.id, x[i], Rounding::nearest_even, overflow);
          const std::uint32_t got = code_at(codes, i, f.bytes());
          if (got == want) continue;
          const auto bits = std::bit_cast<std::uint32_t>(x[i]);
          FAIL_CHECK(test::difference(f.id, hex(bits), got, want));
          break;
        }
      }
      encode_array(f.id, model::kAsFormat, x, codes);
      decode_array(f.id, codes, decoded);
      round_array(f.id, rounded);
      const bool is_identity = f.id == Format::f32;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float want = decode(f.id, code_at(codes, i, f.bytes()));
        const float want_rounded = is_identity ? x[i] : want;
        wrong += std::memcmp(&decoded[i], &want, sizeof want) != 0;
        wrong += std::memcmp(&rounded[i], &want_rounded, sizeof want) != 0;
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("the array decoder gives what the scalar one gives for every code", "[reference]") {
  test::for_each_instruction_set([] {
    for (const model::NumberFormat& f : model::kNumberFormats) {
      if (f.width() > 16) continue;
      const auto bytes = static_cast<std::size_t>(f.bytes());
      std::vector<std::byte> codes(f.code_count() * bytes);
      for (std::uint32_t c = 0; c < f.code_count(); ++c) {
        std::memcpy(codes.data() + c * bytes, &c, bytes);
      }
      std::vector<float> x(f.code_count());
      decode_array(f.id, codes, x);
      const std::vector<float> want = values_of(f.id);
      INFO(f.name);
      CHECK(std::memcmp(x.data(), want.data(), x.size() * sizeof(float)) == 0);
    }
  });
}

TEST_CASE("the array conversions write nothing but their own elements, at any length and alignment",
          "[reference]") {
  constexpr std::byte kGuard{0xA5};
  test::for_each_instruction_set([&] {
    for (const model::NumberFormat& f : model::kNumberFormats) {
      const auto bytes = static_cast<std::size_t>(f.bytes());
      for (std::size_t n = 0; n <= 70; ++n) {
        const std::size_t shift = n % 5;
        const std::vector<float> x(n + shift, 1.5f);
        std::vector<std::byte> codes(n * bytes + 2 * shift + 64, kGuard);
        encode_array(f.id, model::kAsFormat, std::span(x).subspan(shift),
                     std::span(codes).subspan(shift, n * bytes));
        const std::uint32_t want = encode(f.id, 1.5f, Rounding::nearest_even, model::kAsFormat);
        std::vector<std::byte> expected(codes.size(), kGuard);
        for (std::size_t i = 0; i < n; ++i) {
          std::memcpy(expected.data() + shift + i * bytes, &want, bytes);
        }
        std::vector<float> back(n + shift + 16, -7.0f), rounded = back;
        decode_array(f.id, std::span(codes).subspan(shift, n * bytes),
                     std::span(back).subspan(shift, n));
        round_array(f.id, std::span(rounded).subspan(shift, n));
        bool ok = codes == expected;
        for (std::size_t i = 0; i < back.size(); ++i) {
          const bool inside = i >= shift && i < shift + n;
          ok = ok && back[i] == (inside ? decode(f.id, want) : -7.0f);
          ok = ok && (inside || rounded[i] == -7.0f);
        }
        INFO(f.name << ", " << n << " elements");
        CHECK(ok);
      }
    }
  });
}

TEST_CASE("the cases of public faults come out right", "[reference]") {
  for (const test::CaseLine& line : test::read_cases("convert.cases")) {
    INFO("convert.cases:" << line.number << ": " << line.words.at(0));
    REQUIRE(line.words.size() == 6);
    const std::string& input = line.words[1];
    const std::size_t colon = input.find(':');
    const std::uint64_t bits = test::from_hex(input.substr(colon + 1));
    const Format to = model::find_format(line.words[2]).value();
    Rounding rounding{};
    for (const model::RoundingName& r : model::kRoundings) {
      if (r.name == line.words[3]) rounding = r.id;
    }
    REQUIRE(model::name_of(rounding) == line.words[3]);
    const Overflow overflow = line.words[4] == "saturate" ? model::kSaturate : model::kAsFormat;
    const auto want = static_cast<std::uint32_t>(test::from_hex(line.words[5]));

    if (input.substr(0, colon) == "f64") {
      const std::uint32_t got = encode_spec(to, std::bit_cast<double>(bits), rounding, overflow);
      INFO(test::difference(to, input, got, want));
      CHECK(got == want);
      continue;
    }
    const Format from = model::find_format(input.substr(0, colon)).value();
    const float x = decode(from, static_cast<std::uint32_t>(bits));
    const std::uint32_t got = encode(to, x, rounding, overflow);
    INFO(test::difference(to, input, got, want));
    CHECK(got == want);
    CHECK(encode_spec(to, x, rounding, overflow) == want);
  }
}

}  // namespace tally::reference
