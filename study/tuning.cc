#include "study/tuning.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "model/builders.h"
#include "reference/relative_bound.h"

namespace tally::study {
namespace {

using model::Arithmetic;
using model::Builder;
using sim::Scenario;

/// As many as model::Shape allows.
constexpr int kMaxRanks = 64;
constexpr std::string_view kDda = "dda/";

/// The builder of what a path runs: "tree" of tree, dda/tree and, in an all-reduce, low_precision.
/// Of a protocol ("ring/ll") the packets are another library's.
const Builder* builder_of(const Scenario& scenario, std::string_view path) {
  if (path.starts_with(kDda)) path.remove_prefix(kDda.size());
  const bool is_reduced = scenario.collective == model::Collective::all_reduce;
  if (path == "low_precision") path = is_reduced ? "tree" : "flat";
  return model::find_builder(scenario.collective, path);
}

/// The schedule of a path for `count` elements of the collective's own count; nothing where there
/// is none, or where it does not allow the wire.
std::optional<model::Schedule> schedule_of(const Scenario& scenario, std::string_view path,
                                           std::int64_t count) {
  const auto wire = model::parse_wire(scenario.wire.name);
  const Builder* builder = builder_of(scenario, path);
  if (!wire || builder == nullptr || scenario.ranks > kMaxRanks) return std::nullopt;
  const Arithmetic arithmetic = model::arithmetic_of_sums(scenario.dtype, *wire);
  if (model::disallowed(scenario.collective, builder->algorithm, arithmetic)) return std::nullopt;
  return builder->build({.ranks = scenario.ranks, .count = count, .arithmetic = arithmetic});
}

/// The collective's own count for messages of `bytes`.
std::int64_t count_of(const Scenario& scenario, std::int64_t bytes) {
  return bytes / sim::unit_bytes(scenario);
}

template <class T>
T or_worst(const std::optional<T>& value) {
  return value.value_or(std::numeric_limits<T>::max());
}

auto merits(const Candidate& c) {
  return std::tuple(c.prediction.time, or_worst(c.error), or_worst(c.memory));
}

/// Predicts candidates, and proves each path of a curve once.
class Candidates {
 public:
  explicit Candidates(const Limits& limits) : limits_(limits) {}

  Candidate at(const Scenario& scenario, std::int64_t bytes, const sim::Prediction& prediction) {
    Candidate c{scenario, bytes, prediction, {}, {}};
    c.error = error(scenario, prediction.path);
    c.memory = buffer_bytes(scenario, prediction.path, bytes);
    return c;
  }
  bool allow(const sim::Curve& curve, std::int64_t bytes) {
    if (!limits_.max_error && !limits_.max_memory) return true;
    return limits_.allow(at(curve.scenario, bytes, curve.at(bytes)));
  }

 private:
  std::optional<double> error(const Scenario& scenario, const std::string& path) {
    const auto key = std::tuple(scenario.collective, scenario.ranks, scenario.dtype.name(),
                                scenario.wire.name, path);
    const auto known = errors_.find(key);
    if (known != errors_.end()) return known->second;
    return errors_[key] = proven_error(scenario, path);
  }

  const Limits& limits_;
  std::map<std::tuple<model::Collective, int, std::string_view, std::string, std::string>,
           std::optional<double>>
      errors_;
};

/// The rows of a range: its curve goes over to another path at each of its steps.
void add_rows(const sim::Curve& curve, const sim::BestRange& range, Candidates& candidates,
              std::vector<TableRow>& rows) {
  const Scenario& scenario = curve.scenario;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    rows.push_back({scenario, first, last, candidates.at(scenario, last, curve.at(last))});
  };
  std::int64_t first = range.first_bytes;
  for (const sim::Step& step : curve.steps) {
    if (step.bytes <= first || step.bytes > range.last_bytes) continue;
    add(first, step.bytes - sim::unit_bytes(scenario));
    first = step.bytes;
  }
  add(first, range.last_bytes);
}

}  // namespace

std::optional<double> proven_error(const Scenario& scenario, std::string_view path) {
  // Every chunk takes the steps that the first one takes, so one element stands for all.
  if (const auto schedule = schedule_of(scenario, path, 1)) {
    return reference::relative_error_bound(*schedule);
  }
  if (!scenario.wire.is_none() || scenario.dtype.moves_only()) return std::nullopt;
  if (model::only_moves(scenario.collective)) return 0;
  return reference::any_order_relative_bound(
      model::arithmetic_of_sums(scenario.dtype, model::kNoWire), scenario.ranks);
}

std::optional<std::int64_t> buffer_bytes(const Scenario& scenario, std::string_view path,
                                         std::int64_t bytes) {
  if (scenario.library != "tally" && !path.starts_with(kDda)) return std::nullopt;
  const auto schedule = schedule_of(scenario, path, count_of(scenario, bytes));
  if (!schedule) return std::nullopt;
  const model::Wire& wire = schedule->arithmetic.wire;
  std::int64_t total = 0;
  for (const model::Buffer& buffer : schedule->buffers) {
    if (buffer.role != model::Role::scratch) continue;
    const auto words = [](std::int64_t n) { return model::ceil_divide(n, model::kWordBytes); };
    total += words(wire.code_bytes(buffer.elements, scenario.dtype)) * buffer.bytes_per_word +
             words(wire.scale_bytes(buffer.elements)) * model::kWordBytes;
  }
  // Packets have no barrier after them, so two calls take turns with two buffers.
  return schedule->algorithm == "flat_ll" ? 2 * total : total;
}

bool dominates(const Candidate& a, const Candidate& b) {
  const auto [time, error, memory] = merits(a);
  const auto [other_time, other_error, other_memory] = merits(b);
  return time <= other_time && error <= other_error && memory <= other_memory &&
         merits(a) != merits(b);
}

std::vector<Candidate> pareto_front(std::span<const Candidate> candidates) {
  std::vector<Candidate> front;
  for (const Candidate& c : candidates) {
    const auto beats_c = [&](const Candidate& other) { return dominates(other, c); };
    if (std::any_of(candidates.begin(), candidates.end(), beats_c)) continue;
    const auto is_before = [](const Candidate& a, const Candidate& b) {
      return merits(a) < merits(b);
    };
    front.insert(std::upper_bound(front.begin(), front.end(), c, is_before), c);
  }
  return front;
}

bool Limits::allow(const Candidate& c) const {
  return (!max_error || (c.error && *c.error <= *max_error)) &&
         (!max_memory || (c.memory && *c.memory <= *max_memory));
}

Tuning tune(std::span<const Scenario> choices, std::span<const std::int64_t> sizes,
            const Limits& limits) {
  Candidates candidates(limits);
  Tuning tuning{sim::sweep(choices, sizes), {}, {}};
  const auto& curves = tuning.sweep.curves;
  sim::choose_best(tuning.sweep, [&](std::size_t curve, std::int64_t bytes) {
    return candidates.allow(curves[curve], bytes);
  });
  for (const sim::BestRange& range : tuning.sweep.best) {
    add_rows(curves[range.curve], range, candidates, tuning.table);
  }
  for (std::size_t i = 0; i < tuning.sweep.sizes.size(); ++i) {
    std::vector<Candidate> allowed;
    for (const sim::Curve& curve : curves) {
      Candidate c = candidates.at(curve.scenario, tuning.sweep.sizes[i], curve.points[i]);
      if (limits.allow(c)) allowed.push_back(std::move(c));
    }
    tuning.fronts.push_back(pareto_front(allowed));
  }
  return tuning;
}

}  // namespace tally::study
