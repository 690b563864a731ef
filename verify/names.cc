#include "verify/names.h"

#include <cmath>

#include "model/builders.h"
#include "model/suggestion.h"

namespace tally::verify {
namespace {

using model::Error;

/// The value whose name `text` is; `entries` are pairs of name and value.
template <class T>
model::Result<T> choose(const char* where, std::string_view text,
                        const std::vector<std::pair<std::string, T>>& entries) {
  std::vector<std::string> names;
  for (const auto& [name, value] : entries) {
    if (name == text) return value;
    names.push_back(name);
  }
  return Error{where, "unknown name '" + std::string(text) + "'", model::suggestion(text, names)};
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

model::Result<model::ElementType> parse_element(std::string_view text) {
  const auto moved = model::find_element_type(text);
  if (moved && moved->moves_only()) return *moved;
  const auto format = parse_dtype(text);
  if (format) return model::ElementType(*format);
  return Error{format.error().where, format.error().what,
               format.error().hint + "; where nothing is computed also int8, int32, int64, f64"};
}

std::optional<float> parse_factor(std::string_view text) {
  float value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

model::Result<model::Format> parse_dtype(std::string_view text) {
  using model::Format;
  return choose<Format>("--dtype", text,
                        {{"f32", Format::f32},
                         {"bf16", Format::bf16},
                         {"f16", Format::f16},
                         {"float", Format::f32},
                         {"bfloat16", Format::bf16},
                         {"half", Format::f16}});
}

model::Result<model::Op> parse_op(std::string_view text) {
  std::vector<std::pair<std::string, model::Op>> entries;
  for (const model::Op op : model::all_ops()) entries.emplace_back(model::name(op), op);
  return choose("--op", text, entries);
}

model::Result<model::Accumulate> parse_accumulate(std::string_view text) {
  using model::Accumulate;
  return choose<Accumulate>("--accumulate", text,
                            {{"element", Accumulate::element}, {"f32", Accumulate::f32}});
}

std::string_view memory_name(kernels::emulator::MemoryKind memory) {
  constexpr std::string_view kNames[] = {"strong", "gfx942"};
  return kNames[static_cast<std::size_t>(memory)];
}

model::Result<kernels::emulator::MemoryKind> parse_memory(std::string_view text) {
  using kernels::emulator::MemoryKind;
  if (text == "ptx") {
    return Error{"--memory", "'ptx' is not modelled yet", "one of: strong, gfx942"};
  }
  std::vector<std::pair<std::string, MemoryKind>> entries;
  for (const MemoryKind memory : {MemoryKind::strong, MemoryKind::gfx942}) {
    entries.emplace_back(memory_name(memory), memory);
  }
  return choose("--memory", text, entries);
}

model::Result<std::string> parse_algorithm(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const model::Builder& builder : model::builders()) {
    entries.emplace_back(builder.algorithm, builder.algorithm);
  }
  entries.emplace_back("auto", "auto");
  return choose("--algorithm", text, entries);
}

}  // namespace tally::verify
