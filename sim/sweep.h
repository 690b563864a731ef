#pragma once

// What a user may choose for one task, each choice with its curve of time against size, and which
// of them is best where.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/predict.h"

namespace tally::sim {

/// What happens to a time between two sizes that differ by one unit. A threshold belongs where the
/// times of both paths meet, so that the time is continuous (meta-pytorch/torchcomms#3825).
struct Step {
  std::int64_t bytes = 0;      // the first size after it
  Prediction before, after;    // one unit before `bytes`, and there
  std::string threshold;       // whose: "ring/ll -> ring/simple"; empty where two curves cross
  bool two_calls_win = false;  // two calls of the size before take less than one of both together

  /// continuous: the step is at most kNoise. too_early: the path after it is slower there, so the
  /// threshold should be higher. too_late: it is faster there already, so that a message gains by
  /// being padded. mistuned: two calls win, or it is a step by a factor of 2 either way.
  enum class Verdict : std::uint8_t { continuous, too_early, too_late, mistuned };
  double ratio() const;
  Verdict verdict() const;
  std::string why() const;  // in words
};
std::string_view name(Step::Verdict verdict);

/// A step that no measurement would show: by so much (median over the sizes) differ two nodes of
/// MI300X with the same RCCL 2.22.3 in rccl-tests.
inline constexpr double kNoise = 0.032;

/// The time of one scenario for any size.
using TimeOfSize = std::function<Prediction(std::int64_t bytes)>;

struct Curve {
  Scenario scenario;
  TimeOfSize at;
  std::vector<Prediction> points;  // one for each size of the sweep
  std::vector<Step> steps;         // where the path changes, in the order of sizes
};

/// The sizes first_bytes .. last_bytes, of which one choice is the best.
struct BestRange {
  std::int64_t first_bytes, last_bytes;
  std::size_t curve;
};

struct Refusal {
  Scenario scenario;
  model::Error error;
};

struct Sweep {
  std::vector<std::int64_t> sizes;  // those that the collective allows, ascending, each once
  std::vector<Curve> curves;
  std::vector<BestRange> best;   // without gaps where something is allowed everywhere
  std::vector<Step> crossovers;  // of the best time, where one range meets the next
  std::vector<Refusal> refused;  // choices that nothing is predicted of
};

/// The smallest size of which all sizes are multiples: an element, or one for every rank where a
/// collective has a block for each.
std::int64_t unit_bytes(const Scenario& scenario);

/// The curve of a scenario; an error where nothing is predicted of it.
using CurveOf = std::function<model::Result<TimeOfSize>(const Scenario& scenario)>;
/// As predict() has it.
model::Result<TimeOfSize> predicted_curve(const Scenario& scenario);

/// The choices differ in library, version, algorithm, wire and launch only. Sizes are rounded down
/// to multiples of the unit, and the smallest is one unit. Paths and ranges are looked for by
/// bisection between neighbouring sizes: what changes and changes back between two is not seen.
Sweep sweep(std::span<const Scenario> choices, std::span<const std::int64_t> sizes,
            const CurveOf& curve_of = predicted_curve);

/// The crossover at which the range that begins with that size takes over; null where none does.
const Step* find_crossover(const Sweep& sweep, std::int64_t first_bytes);

/// Whether a curve may be chosen for a size.
using Allowed = std::function<bool(std::size_t curve, std::int64_t bytes)>;

/// Finds `best` and `crossovers` among what is allowed, which sweep() did among all.
void choose_best(Sweep& sweep, const Allowed& allowed);

}  // namespace tally::sim
