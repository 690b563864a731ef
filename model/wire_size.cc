#include "model/wire_size.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "model/suggestion.h"

namespace tally::model {
namespace {

struct Integer {
  std::string_view name;
  int bits;
};
constexpr Integer kIntegers[] = {{"int4", 4}, {"int6", 6}, {"int8", 8}};
constexpr Format kElements[] = {Format::e4m3fn, Format::e5m2, Format::e4m3fnuz, Format::e5m2fnuz,
                                Format::e3m2,   Format::e2m3, Format::e2m1};
constexpr Format kScales[] = {Format::f32, Format::f16, Format::e8m0, Format::e4m3fn};

struct Alias {
  std::string_view name, stands_for;
};
constexpr Alias kAliases[] = {{"mxfp8_e4m3", "e4m3fn:b32:e8m0"}, {"mxfp8_e5m2", "e5m2:b32:e8m0"},
                              {"mxfp6_e2m3", "e2m3:b32:e8m0"},   {"mxfp6_e3m2", "e3m2:b32:e8m0"},
                              {"mxfp4", "e2m1:b32:e8m0"},        {"nvfp4", "e2m1:b16:e4m3fn"}};

std::optional<int> element_bits(std::string_view name) {
  for (const Integer& integer : kIntegers) {
    if (integer.name == name) return integer.bits;
  }
  for (const Format id : kElements) {
    if (format(id).name == name) return format(id).width();
  }
  return std::nullopt;
}

std::optional<int> scale_bits(std::string_view name) {
  for (const Format id : kScales) {
    if (format(id).name == name) return format(id).width();
  }
  return std::nullopt;
}

std::optional<int> length_of(std::string_view text) {
  int length = 0;
  if (!text.starts_with('b')) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (length < 1 || length > 65536) return std::nullopt;
  return length;
}

// ELEMENT:bLENGTH:SCALE[:RULE]
std::optional<WireSize> block_size(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() < 3 || parts.size() > 4) return std::nullopt;
  const auto element = element_bits(parts[0]), length = length_of(parts[1]),
             scale = scale_bits(parts[2]);
  if (!element || !length || !scale) return std::nullopt;
  return WireSize{"", *element, *length, *scale};
}

std::string_view without_alias(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return alias.stands_for;
  }
  return name;
}

}  // namespace

std::int64_t WireSize::bytes(std::int64_t count, ElementType element) const {
  if (is_none()) return count * element.bytes();
  const std::int64_t codes = (count * element_bits + 7) / 8;
  const std::int64_t blocks = block == 0 ? 0 : (count + block - 1) / block;
  return codes + (blocks * scale_bits + 7) / 8;
}

WireSize size_of(const Wire& wire) {
  if (wire.is_none()) return {};
  const int element = format(wire.format).width();
  if (!wire.is_block()) return {wire.name(), element, 0, 0};
  return {wire.name(), element, wire.length, format(wire.scale).width()};
}

Result<WireSize> parse_wire_size(std::string_view name) {
  const auto known = parse_wire(name);
  if (known) return size_of(*known);
  auto size = block_size(without_alias(name));
  if (!size) return known.error();
  size->name = std::string(name);
  return *size;
}

}  // namespace tally::model
