#include "model/wire.h"

#include "model/suggestion.h"

namespace tally::model {
namespace {

constexpr Format kCastFormats[] = {Format::e4m3fn, Format::e5m2, Format::e4m3fnuz,
                                   Format::e5m2fnuz};

}  // namespace

std::string Wire::name() const {
  if (is_none()) return "none";
  std::string name(model::format(format).name);
  if (overflow.finite == Beyond::max_finite) name += ":sat";
  return name;
}

std::vector<Wire> all_wires() {
  std::vector<Wire> wires = {kNoWire};
  for (const Format format : kCastFormats) {
    wires.push_back(cast_wire(format));
    wires.push_back(cast_wire(format, kSaturate));
  }
  return wires;
}

Result<Wire> parse_wire(std::string_view name) {
  std::vector<std::string> known;
  for (const Wire& wire : all_wires()) {
    if (wire.name() == name) return wire;
    known.push_back(wire.name());
  }
  return Error{"--wire", "unknown wire '" + std::string(name) + "'", suggestion(name, known)};
}

}  // namespace tally::model
