// The conversions of arrays, compiled for each instruction set that Highway knows and chosen when
// they run.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "model/check.h"
#include "reference/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/convert_array.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "reference/convert_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::reference::HWY_NAMESPACE {

template <Format kId>
void encode_all(BeyondCodes beyond, const float* x, std::size_t n, std::byte* codes) {
  using Code = typename Constants<kId>::Code;
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    store_codes(encode_lanes<kId>(hn::LoadU(d, x + i), beyond),
                reinterpret_cast<Code*>(codes + i * sizeof(Code)));
  }
  if (i == n) return;
  float rest[hn::MaxLanes(d)] = {};
  Code rest_codes[hn::MaxLanes(d)];
  std::memcpy(rest, x + i, (n - i) * sizeof(float));
  store_codes(encode_lanes<kId>(hn::LoadU(d, rest), beyond), rest_codes);
  std::memcpy(codes + i * sizeof(Code), rest_codes, (n - i) * sizeof(Code));
}

template <Format kId>
void decode_all(const std::byte* codes, std::size_t n, float* x) {
  using Code = typename Constants<kId>::Code;
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto code = load_codes(reinterpret_cast<const Code*>(codes + i * sizeof(Code)));
    hn::StoreU(decode_lanes<kId>(code), d, x + i);
  }
  if (i == n) return;
  Code rest_codes[hn::MaxLanes(d)] = {};
  float rest[hn::MaxLanes(d)];
  std::memcpy(rest_codes, codes + i * sizeof(Code), (n - i) * sizeof(Code));
  hn::StoreU(decode_lanes<kId>(load_codes(rest_codes)), d, rest);
  std::memcpy(x + i, rest, (n - i) * sizeof(float));
}

template <Format kId>
void round_all(BeyondCodes beyond, float* x, std::size_t n) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(decode_lanes<kId>(encode_lanes<kId>(hn::LoadU(d, x + i), beyond)), d, x + i);
  }
  if (i == n) return;
  float rest[hn::MaxLanes(d)] = {};
  std::memcpy(rest, x + i, (n - i) * sizeof(float));
  hn::StoreU(decode_lanes<kId>(encode_lanes<kId>(hn::LoadU(d, rest), beyond)), d, rest);
  std::memcpy(x + i, rest, (n - i) * sizeof(float));
}

// The functions of each format, by its row in the table of formats.
using Rows = std::make_index_sequence<std::size(model::kNumberFormats)>;

template <std::size_t... kRows>
void encode_row(Format id, BeyondCodes beyond, const float* x, std::size_t n, std::byte* codes,
                std::index_sequence<kRows...>) {
  static constexpr decltype(&encode_all<Format::f32>) kByRow[] = {
      encode_all<static_cast<Format>(kRows)>...};
  kByRow[static_cast<std::size_t>(id)](beyond, x, n, codes);
}

template <std::size_t... kRows>
void decode_row(Format id, const std::byte* codes, std::size_t n, float* x,
                std::index_sequence<kRows...>) {
  static constexpr decltype(&decode_all<Format::f32>) kByRow[] = {
      decode_all<static_cast<Format>(kRows)>...};
  kByRow[static_cast<std::size_t>(id)](codes, n, x);
}

template <std::size_t... kRows>
void round_row(Format id, BeyondCodes beyond, float* x, std::size_t n,
               std::index_sequence<kRows...>) {
  static constexpr decltype(&round_all<Format::f32>) kByRow[] = {
      round_all<static_cast<Format>(kRows)>...};
  kByRow[static_cast<std::size_t>(id)](beyond, x, n);
}

void encode_any(Format id, std::uint32_t finite, std::uint32_t infinity, const float* x,
                std::size_t n, std::byte* codes) {
  encode_row(id, {finite, infinity}, x, n, codes, Rows());
}
void decode_any(Format id, const std::byte* codes, std::size_t n, float* x) {
  decode_row(id, codes, n, x, Rows());
}
void round_any(Format id, std::uint32_t finite, std::uint32_t infinity, float* x, std::size_t n) {
  round_row(id, {finite, infinity}, x, n, Rows());
}

}  // namespace tally::reference::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::reference {

static_assert(std::endian::native == std::endian::little, "codes are stored as the host has them");

namespace {

HWY_EXPORT(encode_any);
HWY_EXPORT(decode_any);
HWY_EXPORT(round_any);

std::uint32_t beyond_code(const model::NumberFormat& f, model::Beyond beyond) {
  if (beyond == model::Beyond::max_finite || !(f.has_infinity() || f.has_nan())) {
    return f.max_code();
  }
  return f.has_infinity() ? f.infinity_code() : f.nan_code();
}

}  // namespace

void encode_array(model::Format id, model::Overflow overflow, std::span<const float> x,
                  std::span<std::byte> codes) {
  const model::NumberFormat& f = model::format(id);
  TALLY_CHECK(codes.size() == x.size() * static_cast<std::size_t>(f.bytes()), "size of codes");
  HWY_DYNAMIC_DISPATCH(encode_any)
  (id, beyond_code(f, overflow.finite), beyond_code(f, overflow.infinity), x.data(), x.size(),
   codes.data());
}

void decode_array(model::Format id, std::span<const std::byte> codes, std::span<float> x) {
  TALLY_CHECK(codes.size() == x.size() * static_cast<std::size_t>(model::format(id).bytes()),
              "size of codes");
  HWY_DYNAMIC_DISPATCH(decode_any)(id, codes.data(), x.size(), x.data());
}

void round_array(model::Format id, std::span<float> x) {
  if (id == model::Format::f32) return;
  const model::NumberFormat& f = model::format(id);
  const std::uint32_t beyond = beyond_code(f, model::Beyond::special);
  HWY_DYNAMIC_DISPATCH(round_any)(id, beyond, beyond, x.data(), x.size());
}

}  // namespace tally::reference
#endif  // HWY_ONCE
