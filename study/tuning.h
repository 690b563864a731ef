#pragma once

// What to choose for each size: the fastest within limits, and what is not beaten in time, proven
// error and memory together.

#include <optional>
#include <span>
#include <vector>

#include "sim/sweep.h"

namespace tally::study {

/// The proven error of a scenario on a path, over the sum of magnitudes
/// (reference/relative_bound.h). A path that is an algorithm of model/builders.h, or RCCLX's form
/// of one, has its schedule's bound; another library's sums without a wire have that of any order,
/// rounded to the element after every addition; nothing is proven of the rest, nor beyond 64 ranks
/// with a wire.
std::optional<double> proven_error(const sim::Scenario& scenario, std::string_view path);

/// The bytes of scratch that a path needs on every rank for messages of `bytes`; nothing where they
/// are not known: of other libraries.
std::optional<std::int64_t> buffer_bytes(const sim::Scenario& scenario, std::string_view path,
                                         std::int64_t bytes);

/// One choice for one size. What is not known is worse than anything known.
struct Candidate {
  sim::Scenario scenario;
  std::int64_t bytes = 0;
  sim::Prediction prediction;
  std::optional<double> error;
  std::optional<std::int64_t> memory;
};

/// Whether `a` is at least as good in time, error and memory, and better in one.
bool dominates(const Candidate& a, const Candidate& b);

/// The Pareto front: the candidates that none dominates, fastest first.
std::vector<Candidate> pareto_front(std::span<const Candidate> candidates);

struct Limits {
  std::optional<double> max_error;
  std::optional<std::int64_t> max_memory;
  /// What is not known is beyond every limit.
  bool allow(const Candidate& candidate) const;
};

/// A line of a selection table: the best choice for sizes first_bytes .. last_bytes, which all take
/// the same path.
struct TableRow {
  sim::Scenario scenario;
  std::int64_t first_bytes, last_bytes;
  Candidate at_last;  // for the largest of these sizes
};

struct Tuning {
  sim::Sweep sweep;                            // best and crossovers are within the limits
  std::vector<std::vector<Candidate>> fronts;  // for each size of the sweep, within the limits
  std::vector<TableRow> table;                 // by size
};

Tuning tune(std::span<const sim::Scenario> choices, std::span<const std::int64_t> sizes,
            const Limits& limits);

}  // namespace tally::study
