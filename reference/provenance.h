#pragma once

// Runs a schedule on symbols: what every output is made of, in which order, exactly once.

#include <optional>
#include <string>
#include <vector>

#include "model/expression.h"
#include "model/schedule.h"

namespace tally::reference {

/// The expression of every output element of every rank, [rank][element].
using OutputExpressions = std::vector<std::vector<model::Expressions::Id>>;

/// What the schedule computes, in symbols of `expressions`. An element that nothing wrote is
/// missing from the provenance: it is reported by prove(), and is zero() here.
OutputExpressions provenance(const model::Schedule& schedule, model::Expressions& expressions);

/// Why a schedule is not its collective.
struct Counterexample {
  std::string what;
};

/// Nothing where the schedule fulfils its collective's contract: it does not deadlock, stays in
/// bounds, every output holds each contribution exactly once and nothing else, nothing lies after
/// the last block of all_to_all_v, and all ranks have the same expression where the collective says
/// so.
std::optional<Counterexample> prove(const model::Schedule& schedule);

}  // namespace tally::reference
