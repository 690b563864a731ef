#pragma once

// Block codecs: elements that share a scale. model::Wire says what is encoded how;
// docs/arithmetic.md what zero, tiny, NaN and infinity blocks become.

#include <cstddef>
#include <span>

#include "model/wire.h"

namespace tally::reference {

/// The codes and scales of x [n], which begins a block; the last block may be short and then uses
/// only its own elements. codes [n], scales [ceil(n / wire.length) * bytes of the scale format],
/// little-endian. A NaN or infinity in a block makes its scale NaN and its codes 0. The division by
/// the scale is IEEE's; elements saturate. Other sizes stop the program.
void encode_blocks(const model::Wire& wire, std::span<const float> x, std::span<std::byte> codes,
                   std::span<std::byte> scales);

/// x [n] = scale * element, in f32, of codes and scales laid out as above. A NaN scale gives the
/// quiet NaN for the whole block.
void decode_blocks(const model::Wire& wire, std::span<const std::byte> codes,
                   std::span<const std::byte> scales, std::span<float> x);

}  // namespace tally::reference
