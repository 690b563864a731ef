// Whatever the block, the fast codec and its definition give the same codes, scales and values.
// The first byte chooses the wire; the rest is elements.

#include <cstring>
#include <vector>

#include "model/check.h"
#include "reference/block_codec.h"
#include "reference/block_codec_spec.h"
#include "reference/convert.h"
#include "reference/convert_spec.h"

namespace {

using namespace tally;

void compare_casts(const model::Wire& wire, const std::vector<float>& x) {
  std::vector<std::byte> codes(x.size());
  reference::encode_array(wire.format, wire.overflow, x, codes);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint32_t wanted = reference::encode_spec(
        wire.format, x[i], model::Rounding::nearest_even, wire.overflow);
    TALLY_CHECK(std::to_integer<std::uint32_t>(codes[i]) == wanted, "a cast differs");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 4097) return 0;
  const auto wires = model::all_wires();
  const model::Wire wire = wires[data[0] % wires.size()];
  std::vector<float> x((size - 1) / 4);
  if (x.empty() || wire.is_none()) return 0;
  std::memcpy(x.data(), data + 1, 4 * x.size());
  if (!wire.is_block()) {
    compare_casts(wire, x);
    return 0;
  }
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<std::byte> codes(count), scales(wire.scale_bytes(count)), wanted_codes(count),
      wanted_scales(scales.size());
  reference::encode_blocks(wire, x, codes, scales);
  reference::encode_blocks_spec(wire, x, wanted_codes, wanted_scales);
  TALLY_CHECK(codes == wanted_codes && scales == wanted_scales, "an encoding differs");
  std::vector<float> y(count), wanted(count);
  reference::decode_blocks(wire, codes, scales, y);
  reference::decode_blocks_spec(wire, codes, scales, wanted);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool both_nan = y[i] != y[i] && wanted[i] != wanted[i];
    TALLY_CHECK(both_nan || std::memcmp(&y[i], &wanted[i], 4) == 0, "a decoding differs");
  }
  return 0;
}
