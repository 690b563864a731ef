#pragma once

// Names that users type, to values.

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/emulator/emulator.h"
#include "model/collective.h"
#include "model/result.h"

namespace tally::verify {

/// All of `text` as an integer; nothing where it is not one or does not fit.
template <class Integer>
std::optional<Integer> parse_integer(std::string_view text) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

/// The pieces between separators; one empty piece for an empty text.
std::vector<std::string> split(std::string_view text, char separator);

/// f32, bf16, f16 and their aliases float, bfloat16, half; types that only move.
model::Result<model::ElementType> parse_element(std::string_view name);
/// The same without types that only move.
model::Result<model::Format> parse_dtype(std::string_view name);
model::Result<model::Op> parse_op(std::string_view name);
/// A finite number; nothing where the text is none.
std::optional<float> parse_factor(std::string_view text);
model::Result<model::Accumulate> parse_accumulate(std::string_view name);
/// The built-in algorithms of any collective, and auto: what a library chooses.
model::Result<std::string> parse_algorithm(std::string_view name);

/// strong, gfx942.
std::string_view memory_name(kernels::emulator::MemoryKind memory);
/// An error for ptx, too, which is not modelled yet.
model::Result<kernels::emulator::MemoryKind> parse_memory(std::string_view name);

}  // namespace tally::verify
