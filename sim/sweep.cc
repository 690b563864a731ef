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

/// Of a subject that some size was predicted of.
Prediction must_predict(const Predict& predictor, const Subject& subject, std::int64_t bytes) {
  auto prediction = predictor(subject, bytes);
  TALLY_CHECK(prediction, "a subject is predicted at every size or at none");
  return *prediction;
}

std::string over(const Prediction& before, const Prediction& after) {
  return before.path == after.path ? "" : before.path + " -> " + after.path;
}

/// Whether two calls of `bytes` beat the best that there is for both together.
bool two_calls_beat(Picos one_call, Picos both_together) { return 2 * one_call < both_together; }

std::vector<Step> path_steps(const Predict& predictor, const Subject& subject,
                             std::span<const std::int64_t> sizes,
                             std::span<const Prediction> points) {
  const std::int64_t unit = unit_bytes(subject);
  const auto path = [&](std::int64_t bytes) {
    return must_predict(predictor, subject, bytes).path;
  };
  std::vector<Step> steps;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    find_changes<std::string>(
        sizes[i - 1], sizes[i], unit, points[i - 1].path, points[i].path, path,
        [&](std::int64_t bytes) {
          const Prediction before = must_predict(predictor, subject, bytes - unit);
          const Prediction after = must_predict(predictor, subject, bytes);
          const Prediction both = must_predict(predictor, subject, 2 * (bytes - unit));
          steps.push_back(
              {bytes, before, after, over(before, after), two_calls_beat(before.time, both.time)});
        });
  }
  return steps;
}

/// The best of the curves that are allowed; of equals the first. kNone where none is.
std::size_t best_of(const Sweep& sweep, const Allowed& allowed,
                    const std::function<Picos(std::size_t)>& time, std::int64_t bytes) {
  std::size_t best = kNone;
  std::optional<Picos> least;
  for (std::size_t c = 0; c < sweep.curves.size(); ++c) {
    if (!allowed(c, bytes)) continue;
    const Picos t = time(c);
    if (least && *least <= t) continue;
    least = t;
    best = c;
  }
  return best;
}

Step crossover(const Predict& predictor, const Subject& from, const Subject& to,
               std::int64_t bytes, std::int64_t unit) {
  Step step{bytes, must_predict(predictor, from, bytes - unit), must_predict(predictor, to, bytes),
            "", false};
  // Two curves meet, unless one of them jumps there.
  for (const Subject* subject : {&to, &from}) {
    if (!step.threshold.empty()) break;
    step.threshold = over(must_predict(predictor, *subject, bytes - unit),
                          must_predict(predictor, *subject, bytes));
  }
  const Picos both = std::min(must_predict(predictor, from, 2 * (bytes - unit)).time,
                              must_predict(predictor, to, 2 * (bytes - unit)).time);
  step.two_calls_win = two_calls_beat(step.before.time, both);
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

std::int64_t unit_bytes(const Subject& subject) {
  const bool has_blocks = subject.collective != model::Collective::all_reduce;
  return subject.dtype.bytes() * (has_blocks ? std::int64_t{subject.ranks} : 1);
}

Sweep sweep(std::span<const Subject> choices, std::span<const std::int64_t> sizes,
            const Predict& predictor) {
  TALLY_CHECK(!choices.empty() && !sizes.empty(), "a sweep over something");
  Sweep result;
  const std::int64_t unit = unit_bytes(choices[0]);
  for (const std::int64_t bytes : sizes) {
    result.sizes.push_back(std::max<std::int64_t>(1, bytes / unit) * unit);
  }
  std::sort(result.sizes.begin(), result.sizes.end());
  result.sizes.erase(std::unique(result.sizes.begin(), result.sizes.end()), result.sizes.end());
  for (const Subject& subject : choices) {
    Curve curve{subject, {}, {}};
    std::optional<model::Error> error;
    for (const std::int64_t bytes : result.sizes) {
      const auto prediction = predictor(subject, bytes);
      if (!prediction) error = prediction.error();
      if (error) break;
      curve.points.push_back(*prediction);
    }
    if (error) {
      result.refused.push_back({subject, *error});
      continue;
    }
    curve.steps = path_steps(predictor, subject, result.sizes, curve.points);
    result.curves.push_back(std::move(curve));
  }
  choose_best(result, [](std::size_t, std::int64_t) { return true; }, predictor);
  return result;
}

const Step* find_crossover(const Sweep& sweep, std::int64_t first_bytes) {
  for (const Step& step : sweep.crossovers) {
    if (step.bytes == first_bytes) return &step;
  }
  return nullptr;
}

void choose_best(Sweep& sweep, const Allowed& allowed, const Predict& predictor) {
  sweep.best.clear();
  sweep.crossovers.clear();
  if (sweep.curves.empty()) return;
  const std::int64_t unit = unit_bytes(sweep.curves[0].subject);
  const auto best_at = [&](std::int64_t bytes) {
    return best_of(
        sweep, allowed,
        [&](std::size_t c) { return must_predict(predictor, sweep.curves[c].subject, bytes).time; },
        bytes);
  };
  const auto begin_range = [&](std::int64_t bytes, std::size_t curve) {
    if (curve != kNone) sweep.best.push_back({bytes, bytes, curve});
  };
  std::size_t current = best_at(sweep.sizes[0]);
  begin_range(sweep.sizes[0], current);
  for (std::size_t i = 1; i < sweep.sizes.size(); ++i) {
    const std::int64_t low = sweep.sizes[i - 1], high = sweep.sizes[i];
    const std::size_t at_low = current, at_high = best_at(high);
    find_changes<std::size_t>(low, high, unit, at_low, at_high, best_at, [&](std::int64_t bytes) {
      const std::size_t next = best_at(bytes);
      if (current != kNone) sweep.best.back().last_bytes = bytes - unit;
      if (current != kNone && next != kNone) {
        sweep.crossovers.push_back(crossover(predictor, sweep.curves[current].subject,
                                             sweep.curves[next].subject, bytes, unit));
      }
      begin_range(bytes, next);
      current = next;
    });
    if (current != kNone) sweep.best.back().last_bytes = high;
  }
}

}  // namespace tally::sim
