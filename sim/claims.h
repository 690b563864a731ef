#pragma once

// What others published of collectives in inference, beside what is computed here. A claim is a
// question put to the same functions that answer users; no number is kept for any of them but what
// was published.

#include <functional>
#include <string>
#include <vector>

#include "model/machine.h"
#include "sim/predict.h"

namespace tally::sim {

/// at_most: "up to". within: a range, or "about", whose two ends are one.
enum class Claimed : std::uint8_t { at_most, within };

/// What one setting gives, in the claim's unit.
struct Sample {
  double value;
  std::string setting;  // "llama3-70b, batch 8"
  std::string detail;   // what it was computed from
};

struct Claim {
  std::string what, source;
  std::string settings;  // over which it was computed
  std::string unit;      // %, x, MiB
  Claimed kind;
  double claimed_low, claimed_high;  // at_most: the first is 0
  std::vector<Sample> samples;       // at least one, by value
  std::string why;                   // what in the model makes the difference

  double least() const { return samples.front().value; }
  double median() const { return samples[(samples.size() - 1) / 2].value; }
  double most() const { return samples.back().value; }
  /// The sample that is nearest to what is claimed.
  const Sample& nearest() const;
  /// at_most: of the largest sample from what is claimed. within: of the median from the nearest
  /// end; 0 inside.
  double differs_by() const;
};

/// Where the answers come from.
struct World {
  std::function<model::Result<model::Machine>(const std::string& machine)> machine;
  std::function<model::Result<Prediction>(const Scenario&, std::int64_t bytes)> predict;
};

/// The claims in the order of docs/inference.md. An error is one of the world's.
model::Result<std::vector<Claim>> claims(const World& world);
/// With the presets and sim::predict().
model::Result<std::vector<Claim>> claims();

}  // namespace tally::sim
