#include "sim/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "model/check.h"

namespace tally::sim {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Tells `found` every size in (low, high] at which `value` differs from the size one unit before,
/// as far as halving finds them; `at_low` and `at_high` are the values at the ends.
template <class Value>
void find_changes(std::int64_t low, std::int64_t high, std::int64_t unit, const Value& at_low,
                  const Value& at_high, const std::function<Value(std::int64_t)>& value,
                  const std::function<void(std::int64_t)>& found) {
  if (at_low == at_high) return;
  if (high - low == unit) return found(high);
  const std::int64_t middle = low + (high - low) / unit / 2 * unit;
  const Value at_middle = value(middle);
  find_changes(low, middle, unit, at_low, at_middle, value, found);
  find_changes(middle, high, unit, at_middle, at_high, value, found);
}

std::string over(const Prediction& before, const Prediction& after) {
  return before.path == after.path ? "" : before.path + " -> " + after.path;
}

/// Whether two calls of `bytes` beat the best that there is for both together.
bool two_calls_beat(Picos one_call, Picos both_together) { return 2 * one_call < both_together; }

std::vector<Step> path_steps(const Curve& curve, std::span<const std::int64_t> sizes) {
  const std::int64_t unit = unit_bytes(curve.scenario);
  const auto path = [&](std::int64_t bytes) { return curve.at(bytes).path; };
  std::vector<Step> steps;
  const auto add = [&](std::int64_t bytes) {
    const Prediction before = curve.at(bytes - unit), after = curve.at(bytes);
    const Picos both = curve.at(2 * (bytes - unit)).time;
    steps.push_back({bytes, before, after, over(before, after), two_calls_beat(before.time, both)});
  };
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    find_changes<std::string>(sizes[i - 1], sizes[i], unit, curve.points[i - 1].path,
                              curve.points[i].path, path, add);
  }
  return steps;
}

/// The best of the curves that are allowed; of equals the first. kNone where none is.
std::size_t best_of(const Sweep& sweep, const Allowed& allowed, std::int64_t bytes) {
  std::size_t best = kNone;
  std::optional<Picos> least;
  for (std::size_t c = 0; c < sweep.curves.size(); ++c) {
    if (!allowed(c, bytes)) continue;
    const Picos time = sweep.curves[c].at(bytes).time;
    if (least && *least <= time) continue;
    least = time;
    best = c;
  }
  return best;
}

Step crossover(const Curve& from, const Curve& to, std::int64_t bytes, std::int64_t unit) {
  Step step{bytes, from.at(bytes - unit), to.at(bytes), "", false};
  // Two curves meet, unless one of them jumps there.
  step.threshold = over(to.at(bytes - unit), step.after);
  if (step.threshold.empty()) step.threshold = over(step.before, from.at(bytes));
  const std::int64_t twice = 2 * (bytes - unit);
  step.two_calls_win =
      two_calls_beat(step.before.time, std::min(from.at(twice).time, to.at(twice).time));
  return step;
}

}  // namespace

double Step::ratio() const {
  return static_cast<double>(after.time.n) / static_cast<double>(before.time.n);
}

Step::Verdict Step::verdict() const {
  const double r = ratio();
  if (std::fabs(r - 1) <= kNoise) return Verdict::continuous;
  if (two_calls_win || r >= 2 || r <= 0.5) return Verdict::mistuned;
  return r > 1 ? Verdict::too_early : Verdict::too_late;
}

std::string_view name(Step::Verdict verdict) {
  constexpr std::string_view kNames[] = {"continuous", "too_early", "too_late", "mistuned"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string Step::why() const {
  if (verdict() == Verdict::continuous) return "continuous";
  const double r = ratio();
  const long percent = std::lround(100 * std::fabs(r - 1));
  std::string text = threshold.empty() ? "the curves do not meet" : "the threshold " + threshold;
  text += r > 1 ? " comes too early: " : " comes too late: ";
  text += after.path + " is " + std::to_string(percent) + " % " + (r > 1 ? "slower" : "faster");
  if (two_calls_win) text += "; two calls of half the size are faster";
  if (r < 1) text += "; a message gains by being padded";
  return text;
}

std::int64_t unit_bytes(const Scenario& scenario) {
  const bool has_blocks = scenario.collective != model::Collective::all_reduce;
  return scenario.dtype.bytes() * (has_blocks ? std::int64_t{scenario.ranks} : 1);
}

model::Result<TimeOfSize> predicted_curve(const Scenario& scenario) {
  const auto predictor = Predictor::of(scenario);
  if (!predictor) return predictor.error();
  return TimeOfSize(*predictor);
}

Sweep sweep(std::span<const Scenario> choices, std::span<const std::int64_t> sizes,
            const CurveOf& curve_of) {
  TALLY_CHECK(!choices.empty() && !sizes.empty(), "a sweep over something");
  Sweep result;
  const std::int64_t unit = unit_bytes(choices[0]);
  for (const std::int64_t bytes : sizes) {
    result.sizes.push_back(std::max<std::int64_t>(1, bytes / unit) * unit);
  }
  std::sort(result.sizes.begin(), result.sizes.end());
  result.sizes.erase(std::unique(result.sizes.begin(), result.sizes.end()), result.sizes.end());
  for (const Scenario& scenario : choices) {
    const auto time = curve_of(scenario);
    if (!time) {
      result.refused.push_back({scenario, time.error()});
      continue;
    }
    Curve curve{scenario, *time, {}, {}};
    for (const std::int64_t bytes : result.sizes) curve.points.push_back(curve.at(bytes));
    curve.steps = path_steps(curve, result.sizes);
    result.curves.push_back(std::move(curve));
  }
  choose_best(result, [](std::size_t, std::int64_t) { return true; });
  return result;
}

const Step* find_crossover(const Sweep& sweep, std::int64_t first_bytes) {
  for (const Step& step : sweep.crossovers) {
    if (step.bytes == first_bytes) return &step;
  }
  return nullptr;
}

void choose_best(Sweep& sweep, const Allowed& allowed) {
  sweep.best.clear();
  sweep.crossovers.clear();
  if (sweep.curves.empty()) return;
  const std::int64_t unit = unit_bytes(sweep.curves[0].scenario);
  const std::function<std::size_t(std::int64_t)> best_at = [&](std::int64_t bytes) {
    return best_of(sweep, allowed, bytes);
  };
  std::size_t current = kNone;
  const auto take_over = [&](std::int64_t bytes) {
    const std::size_t next = best_at(bytes);
    if (current != kNone) sweep.best.back().last_bytes = bytes - unit;
    if (current != kNone && next != kNone) {
      sweep.crossovers.push_back(crossover(sweep.curves[current], sweep.curves[next], bytes, unit));
    }
    if (next != kNone) sweep.best.push_back({bytes, bytes, next});
    current = next;
  };
  take_over(sweep.sizes[0]);
  for (std::size_t i = 1; i < sweep.sizes.size(); ++i) {
    const std::int64_t low = sweep.sizes[i - 1], high = sweep.sizes[i];
    find_changes<std::size_t>(low, high, unit, current, best_at(high), best_at, take_over);
    if (current != kNone) sweep.best.back().last_bytes = high;
  }
}

}  // namespace tally::sim
