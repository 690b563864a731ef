#include "model/wire.h"

#include "model/suggestion.h"

namespace tally::model {
namespace {

constexpr Format kCastFormats[] = {Format::e4m3fn, Format::e5m2, Format::e4m3fnuz,
                                   Format::e5m2fnuz};
constexpr int kLengths[] = {16, 32, 64, 128, 256};

/// A scale's format with a rule that it allows.
struct Scale {
  Format format;
  ScaleRule rule;
  std::string_view name;
};
constexpr Scale kScales[] = {
    {Format::f32, ScaleRule::amax, "f32"},
    {Format::f16, ScaleRule::amax, "f16"},
    {Format::e8m0, ScaleRule::floor, "e8m0:floor"},
    {Format::e8m0, ScaleRule::rceil, "e8m0:rceil"},
};

/// Other spellings, and what they stand for: a default that is left out or said, and the names of
/// OCP MX 1.0, table 1.
struct Alias {
  std::string_view text, stands_for;
};
constexpr Alias kSuffixAliases[] = {
    {":e8m0", ":e8m0:floor"}, {":f32:amax", ":f32"}, {":f16:amax", ":f16"}};
constexpr Alias kAliases[] = {{"mxfp8_e4m3", "e4m3fn:b32:e8m0:floor"},
                              {"mxfp8_e5m2", "e5m2:b32:e8m0:floor"}};

std::string canonical(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (name == alias.text) return std::string(alias.stands_for);
  }
  for (const Alias& alias : kSuffixAliases) {
    if (name.ends_with(alias.text)) {
      return std::string(name.substr(0, name.size() - alias.text.size())) +
             std::string(alias.stands_for);
    }
  }
  return std::string(name);
}

std::vector<Wire> wires_of_lengths(bool all_lengths) {
  std::vector<Wire> wires = {kNoWire};
  for (const Format format : kCastFormats) {
    wires.push_back(cast_wire(format));
    wires.push_back(cast_wire(format, kSaturate));
    for (const Scale& scale : kScales) {
      for (const int length : kLengths) {
        const int usual = scale.format == Format::f32 ? 128 : 32;
        if (!all_lengths && length != usual) continue;
        wires.push_back(block_wire(format, length, scale.format, scale.rule));
      }
    }
  }
  return wires;
}

}  // namespace

std::string Wire::name() const {
  if (is_none()) return "none";
  std::string name(model::format(format).name);
  if (is_block()) {
    for (const Scale& s : kScales) {
      if (s.format == scale && s.rule == rule) {
        return name + ":b" + std::to_string(length) + ":" + std::string(s.name);
      }
    }
  }
  if (overflow.finite == Beyond::max_finite) name += ":sat";
  return name;
}

std::vector<Wire> all_wires() { return wires_of_lengths(false); }

Result<Wire> parse_wire(std::string_view name) {
  static const std::vector<Wire> kKnown = wires_of_lengths(true);
  const std::string wanted = canonical(name);
  std::vector<std::string> known;
  for (const Wire& wire : kKnown) {
    if (wire.name() == wanted) return wire;
    known.push_back(wire.name());
  }
  std::string hint = near_miss(name, known);
  if (hint.empty()) {
    hint =
        "none; e4m3fn, e5m2, e4m3fnuz or e5m2fnuz, each with or without :sat; or "
        "ELEMENT:bLENGTH:SCALE[:RULE], as in e4m3fn:b128:f32 or e4m3fn:b32:e8m0:floor";
  }
  return Error{"--wire", "unknown wire '" + std::string(name) + "'", hint};
}

}  // namespace tally::model
