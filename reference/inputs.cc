#include "reference/inputs.h"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "model/check.h"
#include "model/conversion.h"
#include "model/suggestion.h"
#include "model/wire.h"
#include "reference/convert.h"

namespace tally::reference {
namespace {

using model::Format;

constexpr std::pair<std::string_view, InputKind> kKinds[] = {
    {"order_free", InputKind::order_free}, {"uniform", InputKind::uniform},
    {"normal", InputKind::normal},         {"laplace", InputKind::laplace},
    {"lognormal", InputKind::lognormal},   {"outliers", InputKind::outliers},
    {"cancel", InputKind::cancel},         {"corner", InputKind::corner},
};

/// Two words of random bits for element `i`: Philox4x32-10 (Salmon et al., SC 2011), keyed by the
/// seed and counted by what the number is for, so that no number depends on another.
std::array<std::uint64_t, 2> random_words(const Draw& draw, std::int64_t i) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto index = static_cast<std::uint64_t>(i);
  const r123::Philox4x32::ctr_type counter = {{low(index), high(index),
                                               static_cast<std::uint32_t>(draw.rank),
                                               static_cast<std::uint32_t>(draw.call)}};
  const r123::Philox4x32::key_type key = {{low(draw.seed), high(draw.seed)}};
  const auto r = r123::Philox4x32()(counter, key);
  return {std::uint64_t{r[1]} << 32 | r[0], std::uint64_t{r[3]} << 32 | r[2]};
}

/// In (0, 1], a multiple of 2^-53.
double unit_interval(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 1.0) * 0x1p-53;
}

float order_free(const Draw& draw, std::int64_t i) {
  // One power of two for all ranks of an element, so that partial sums of 16 ranks need at most
  // 8 bits, and every wire has the terms exactly.
  Draw shared = draw;
  shared.rank = -1;
  const int exponent = static_cast<int>(random_words(shared, i)[0] % 6) - 4;
  const auto words = random_words(draw, i);
  const int magnitude = 1 + static_cast<int>(words[0] % 8);
  const bool negative = words[1] % 4 == 0;  // mostly of one sign: few sums vanish
  return static_cast<float>((negative ? -magnitude : magnitude) * model::power_of_two(exponent));
}

float uniform(const Draw& draw, std::int64_t i) {
  return static_cast<float>(static_cast<double>(random_words(draw, i)[0] >> 40) * 0x1p-23 - 1.0);
}

/// Box-Muller.
double normal(const std::array<std::uint64_t, 2>& words) {
  const double radius = std::sqrt(-2.0 * std::log(unit_interval(words[0])));
  return radius * std::cos(2.0 * std::numbers::pi * unit_interval(words[1]));
}

float normal(const Draw& draw, std::int64_t i) {
  return static_cast<float>(normal(random_words(draw, i)));
}

float laplace(const Draw& draw, std::int64_t i) {
  const auto words = random_words(draw, i);
  const double magnitude = -std::log(unit_interval(words[0]));
  return static_cast<float>(words[1] >> 63 != 0 ? -magnitude : magnitude);
}

float lognormal(const Draw& draw, std::int64_t i) {
  return static_cast<float>(std::exp(normal(random_words(draw, i))));
}

float outliers(const Draw& draw, std::int64_t i) {
  const auto words = random_words(draw, i);
  // The bits that unit_interval leaves.
  const std::uint64_t lot = (words[0] & 0x7FF) << 11 | (words[1] & 0x7FF);
  return static_cast<float>(normal(words) * (lot < 4194 ? 50.0 : 1.0));
}

float cancel(const Draw& draw, std::int64_t i) {
  if (draw.rank % 2 == 0) return normal(draw, i);
  Draw partner = draw;
  --partner.rank;
  return static_cast<float>(normal(random_words(draw, i)) / 64 - normal(random_words(partner, i)));
}

/// The values at which something changes: for every format, its extremes, the ties beside them,
/// and their neighbours.
std::vector<float> edges() {
  std::vector<float> all = {0.0f, 1.0f, 1.5f, HUGE_VALF, NAN};
  for (const model::NumberFormat& f : model::kNumberFormats) {
    if (f.id == Format::f32 || f.id == Format::e8m0) continue;
    const double spacing_at_top = model::power_of_two(f.max_exponent() - f.fraction_bits);
    for (const double x :
         {f.max_finite(), f.max_finite() + spacing_at_top / 2, f.max_finite() + spacing_at_top,
          f.min_normal(), f.min_normal() - f.min_positive() / 2, f.min_positive(),
          f.min_positive() / 2, f.min_positive() * 1.5}) {
      const float edge = static_cast<float>(x);
      all.insert(all.end(), {edge, std::nextafter(edge, 0.0f), std::nextafter(edge, HUGE_VALF)});
    }
  }
  all.insert(all.end(), {0x1p-149f, 0x1p-126f, 0x1.fffffep127f, 31.0f, 248.0f / 8});
  return all;
}

std::uint32_t corner(const Draw& draw, std::int64_t i, Format element) {
  static const std::vector<float> kEdges = edges();
  const auto words = random_words(draw, i);
  if (words[0] % 2 == 0) {
    return static_cast<std::uint32_t>(words[1]) & model::format(element).code_mask();
  }
  const float edge = kEdges[words[1] % kEdges.size()];
  const bool negative = (words[1] >> 60) % 2 == 0;
  return encode(element, negative ? -edge : edge, model::Rounding::nearest_even, model::kAsFormat);
}

/// The number of element `i`.
using Generator = float (*)(const Draw&, std::int64_t i);

Generator generator(InputKind kind) {
  switch (kind) {
    case InputKind::order_free:
      return order_free;
    case InputKind::uniform:
      return uniform;
    case InputKind::normal:
      return normal;
    case InputKind::laplace:
      return laplace;
    case InputKind::lognormal:
      return lognormal;
    case InputKind::outliers:
      return outliers;
    case InputKind::cancel:
      return cancel;
    case InputKind::corner:
    case InputKind::file:
      break;
  }
  TALLY_CHECK(false, "corner and files have no generator");
}

void put(std::vector<std::byte>& codes, std::int64_t i, int bytes, std::uint64_t code) {
  for (int b = 0; b < bytes; ++b) {
    codes[i * bytes + b] = static_cast<std::byte>(code >> (8 * b));
  }
}

}  // namespace

std::vector<std::string_view> input_kinds() {
  std::vector<std::string_view> names;
  for (const auto& [name, kind] : kKinds) names.push_back(name);
  return names;
}

model::Result<Input> open_input(const std::string& name) {
  for (const auto& [kind_name, kind] : kKinds) {
    if (kind_name == name) return Input{kind, name, nullptr};
  }
  if (!name.ends_with(".npy")) {
    std::vector<std::string> known = {"a file that ends in .npy"};
    for (const std::string_view kind : input_kinds()) known.emplace_back(kind);
    return model::Error{"--input", "unknown input '" + name + "'", model::suggestion(name, known)};
  }
  const auto below_source = std::filesystem::path(TALLY_SOURCE_DIR) / name;
  const bool is_here = std::filesystem::exists(name);
  const auto tensor =
      read_npy(is_here || !std::filesystem::exists(below_source) ? name : below_source.string());
  if (!tensor) return tensor.error();
  return Input{InputKind::file, name, std::make_shared<const Tensor>(*tensor)};
}

model::Result<std::vector<Input>> bundled_tensors() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(TALLY_SOURCE_DIR) / "tests/data";
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path file = entry.path().filename();
    if (file.extension() == ".npy") names.push_back("tests/data/" + file.string());
  }
  if (names.empty()) {
    return model::Error{"tests/data", "holds no .npy file",
                        "the source folder that Tally was built from is incomplete"};
  }
  std::sort(names.begin(), names.end());
  std::vector<Input> inputs;
  for (const std::string& name : names) {
    const auto input = open_input(name);
    if (!input) return input.error();
    inputs.push_back(*input);
  }
  return inputs;
}

std::optional<model::Error> too_small(const Input& input, int ranks, std::int64_t count) {
  if (input.kind != InputKind::file) return std::nullopt;
  const Tensor& tensor = *input.tensor;
  if (ranks > tensor.rows) {
    return model::Error{input.name,
                        "has " + std::to_string(tensor.rows) + " rows, but --ranks asks for " +
                            std::to_string(ranks),
                        "one row for each rank"};
  }
  if (count > tensor.columns) {
    return model::Error{input.name,
                        "has " + std::to_string(tensor.columns) +
                            " elements in a row, but --count asks for " + std::to_string(count),
                        "a smaller --count, or none"};
  }
  return std::nullopt;
}

std::vector<std::byte> draw(const Input& input, model::ElementType element, const Draw& draw) {
  const int bytes = element.bytes();
  std::vector<std::byte> codes(draw.count * bytes);
  if (element.moves_only()) {
    for (std::int64_t i = 0; i < draw.count; ++i) put(codes, i, bytes, random_words(draw, i)[0]);
    return codes;
  }
  if (input.kind == InputKind::corner) {
    for (std::int64_t i = 0; i < draw.count; ++i) put(codes, i, bytes, corner(draw, i, element));
    return codes;
  }
  if (input.kind == InputKind::file) {
    const Tensor& tensor = *input.tensor;
    TALLY_CHECK(draw.count <= tensor.columns, "a file has fewer elements than were asked for");
    const auto row = tensor.row((draw.rank + draw.call) % tensor.rows);
    encode_array(element, model::kAsFormat, row.first(draw.count), codes);
    return codes;
  }
  std::vector<float> values(draw.count);
  const auto number = generator(input.kind);
  for (std::int64_t i = 0; i < draw.count; ++i) values[i] = number(draw, i);
  encode_array(element, model::kAsFormat, values, codes);
  return codes;
}

}  // namespace tally::reference
