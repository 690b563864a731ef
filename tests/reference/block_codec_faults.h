#pragma once

// Block codecs with one fault each, which the comparison with the definition has to reject.

#include <span>

#include "tests/reference/block_codec_check.h"

namespace tally::test {

struct FaultyCodec {
  BlockCodec codec;
  bool (*applies)(const model::Wire&);  // whether the fault can show on that wire at all
};

std::span<const FaultyCodec> faulty_codecs();

/// The same program without a fault.
extern const BlockCodec kCodecWithoutFault;

}  // namespace tally::test
