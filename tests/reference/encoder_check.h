#pragma once

// Comparing an encoder with the definition, and the inputs to do it on.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/conversion.h"

namespace tally::test {

inline constexpr model::Overflow kOverflows[] = {
    model::kAsFormat,
    model::kSaturate,
    {model::Beyond::max_finite, model::Beyond::special},
    {model::Beyond::special, model::Beyond::max_finite}};

/// As reference::encode.
using Encoder = std::function<std::uint32_t(model::Format, float, model::Rounding, model::Overflow,
                                            std::uint32_t random_bits)>;

/// The first of the inputs on which an encoder differs from the definition, under any of
/// kOverflows, as text to look at; empty where there is none.
std::string first_difference(const Encoder&, model::Format, const std::vector<float>& inputs,
                             model::Rounding, std::uint32_t random_bits = 0);

/// The values of all codes of a format of at most 16 bits, in the order of the codes.
std::vector<float> values_of(model::Format);

/// Every upper half, with lower halves around the middles of what they may be rounded to.
std::vector<float> systematic_f32();

std::string hex(std::uint32_t bits);

}  // namespace tally::test
