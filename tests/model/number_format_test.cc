// Goal: the table of formats says what the standards say, beyond the extremes that its own
// static_asserts hold.
// Method: count the codes of each class, all of them up to 16 bits, and compare with numbers
// worked out by hand from the field widths; look at the borders of f32.

#include "model/number_format.h"

#include <array>
#include <set>

#include "model/conversion.h"
#include "tests/support/catch.h"

namespace tally::model {
namespace {

/// How many codes are zero, subnormal, normal, infinity, NaN.
using Counts = std::array<std::uint64_t, 5>;

Counts count_classes(const NumberFormat& format) {
  Counts counts{};
  for (std::uint32_t code = 0; code < format.code_count(); ++code) {
    ++counts[static_cast<std::size_t>(format.classify(code))];
  }
  return counts;
}

}  // namespace

TEST_CASE("every format is found by its name, and by nothing else", "[model]") {
  std::set<std::string_view> names;
  for (const NumberFormat& row : kNumberFormats) {
    CAPTURE(std::string(row.name));
    REQUIRE(names.insert(row.name).second);
    REQUIRE(find_format(row.name) == row.id);
    REQUIRE(format(row.id).name == row.name);
    REQUIRE(!find_format(std::string(row.name) + " "));
  }
  REQUIRE(names.size() == 11);
  for (const char* other : {"", "none", "F32", "fp16", "float16", "e4m3", "e4m3fn:sat"}) {
    CAPTURE(other);
    REQUIRE(!find_format(other));
  }
}

TEST_CASE("every format has as many codes of each class as its fields say", "[model]") {
  struct Row {
    Format id;
    Counts counts;
  };
  // zero, subnormal, normal, infinity, NaN
  const Row rows[] = {
      {Format::f16, {2, 2 * 1023, 2 * 30 * 1024, 2, 2 * 1023}},
      {Format::bf16, {2, 2 * 127, 2 * 254 * 128, 2, 2 * 127}},
      {Format::e4m3fn, {2, 2 * 7, 2 * (14 * 8 + 7), 0, 2}},
      {Format::e5m2, {2, 2 * 3, 2 * 30 * 4, 2, 2 * 3}},
      {Format::e4m3fnuz, {1, 2 * 7, 2 * 15 * 8, 0, 1}},
      {Format::e5m2fnuz, {1, 2 * 3, 2 * 31 * 4, 0, 1}},
      {Format::e3m2, {2, 2 * 3, 2 * 7 * 4, 0, 0}},
      {Format::e2m3, {2, 2 * 7, 2 * 3 * 8, 0, 0}},
      {Format::e2m1, {2, 2 * 1, 2 * 3 * 2, 0, 0}},
      {Format::e8m0, {0, 0, 255, 0, 1}},
  };
  REQUIRE(std::size(rows) == std::size(kNumberFormats) - 1);  // all but f32
  for (const Row& row : rows) {
    CAPTURE(std::string(format(row.id).name));
    REQUIRE(count_classes(format(row.id)) == row.counts);
  }
}

TEST_CASE("the classes of f32 change where IEEE 754 has it", "[model]") {
  const NumberFormat& f32 = format(Format::f32);
  for (const std::uint32_t sign : {0u, 0x8000'0000u}) {
    CAPTURE(sign);
    REQUIRE(f32.classify(sign | 0) == CodeClass::zero);
    REQUIRE(f32.classify(sign | 1) == CodeClass::subnormal);
    REQUIRE(f32.classify(sign | 0x007F'FFFF) == CodeClass::subnormal);
    REQUIRE(f32.classify(sign | 0x0080'0000) == CodeClass::normal);
    REQUIRE(f32.classify(sign | 0x7F7F'FFFF) == CodeClass::normal);
    REQUIRE(f32.classify(sign | 0x7F80'0000) == CodeClass::infinity);
    REQUIRE(f32.classify(sign | 0x7F80'0001) == CodeClass::nan);
    REQUIRE(f32.classify(sign | 0x7FFF'FFFF) == CodeClass::nan);
  }
}

TEST_CASE("the count of classes sees every field of a row", "[model]") {
  const NumberFormat row = format(Format::e4m3fn);
  const Counts counts = count_classes(row);
  NumberFormat top = row, zero = row, bottom = row, fraction = row;
  top.top = TopCodes::ieee;
  zero.minus_zero = MinusZero::nan;
  bottom.bottom = BottomCodes::normal;
  fraction.fraction_bits = 2;
  for (const NumberFormat& wrong : {top, zero, bottom, fraction}) {
    REQUIRE(count_classes(wrong) != counts);
  }
}

TEST_CASE("the three fields put together are the code", "[model]") {
  for (const NumberFormat& f : kNumberFormats) {
    CAPTURE(std::string(f.name));
    const std::uint32_t step = f.width() > 16 ? 65'537 : 1;
    for (std::uint64_t code = 0; code < f.code_count(); code += step) {
      const auto c = static_cast<std::uint32_t>(code);
      const std::uint32_t together = f.sign_field(c) << (f.exponent_bits + f.fraction_bits) |
                                     f.exponent_field(c) << f.fraction_bits | f.fraction_field(c);
      if (together != c) REQUIRE(together == c);
    }
  }
}

TEST_CASE("the derived codes are of the class that they name", "[model]") {
  for (const NumberFormat& f : kNumberFormats) {
    CAPTURE(std::string(f.name));
    REQUIRE(f.classify(f.max_code()) == CodeClass::normal);
    if (f.has_nan()) REQUIRE(f.is_nan(f.nan_code()));
    if (f.has_infinity()) REQUIRE(f.classify(f.infinity_code()) == CodeClass::infinity);
    // What follows the largest finite code is special, or there is nothing left but the sign.
    const CodeClass next = f.classify(f.max_code() + 1);
    const bool is_last = f.max_code() + 1 == f.sign_mask();
    REQUIRE((next == CodeClass::nan || next == CodeClass::infinity || is_last));
  }
}

TEST_CASE("the unit roundoff is half the spacing at 1", "[model]") {
  REQUIRE(format(Format::f32).unit_roundoff() == 0x1p-24);
  REQUIRE(format(Format::f16).unit_roundoff() == 0x1p-11);
  REQUIRE(format(Format::bf16).unit_roundoff() == 0x1p-8);
  REQUIRE(format(Format::e4m3fnuz).unit_roundoff() == 0x1p-4);
  REQUIRE(format(Format::e5m2).unit_roundoff() == 0x1p-3);
}

TEST_CASE("codes of less than a byte take a byte of memory", "[model]") {
  REQUIRE(format(Format::f32).bytes() == 4);
  REQUIRE(format(Format::bf16).bytes() == 2);
  REQUIRE(format(Format::e5m2fnuz).bytes() == 1);
  REQUIRE(format(Format::e3m2).bytes() == 1);
  REQUIRE(format(Format::e2m1).bytes() == 1);
}

TEST_CASE("every rounding has a name of its own", "[model]") {
  std::set<std::string_view> names;
  for (const RoundingName& row : kRoundings) {
    REQUIRE(names.insert(row.name).second);
    REQUIRE(name_of(row.id) == row.name);
  }
}

}  // namespace tally::model
