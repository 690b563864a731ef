#pragma once

// Block codecs as definitions: slow, readable, exact. block_codec.h has the fast ones, which share
// nothing with these and are compared with them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/wire.h"

namespace tally::reference {

/// The code of the scale of one block, of 1 to wire.length values.
std::uint32_t block_scale_spec(const model::Wire& wire, std::span<const float> block);

/// The code of x in a block with that scale: x / scale, rounded to f32 and then to the element
/// format, where it saturates. 0 where the scale is NaN.
std::uint32_t block_element_spec(const model::Wire& wire, float x, std::uint32_t scale);

/// The value of a code in a block with that scale: their product, rounded to f32 once. The quiet
/// NaN where the scale is NaN.
float block_value_spec(const model::Wire& wire, std::uint32_t code, std::uint32_t scale);

/// As encode_blocks and decode_blocks. Sizes are not checked.
void encode_blocks_spec(const model::Wire& wire, std::span<const float> x,
                        std::span<std::byte> codes, std::span<std::byte> scales);
void decode_blocks_spec(const model::Wire& wire, std::span<const std::byte> codes,
                        std::span<const std::byte> scales, std::span<float> x);

}  // namespace tally::reference
