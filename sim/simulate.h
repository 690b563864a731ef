#pragma once

// Tally's own algorithms on a machine whose numbers are all that is known: closed forms and the
// simulation, which agree where no links are shared. (sim/predict.h has the fitted parameters.)

#include <cstdint>
#include <optional>

#include "sim/closed_forms.h"
#include "sim/scenario.h"
#include "sim/time.h"

namespace tally::sim {

/// The formula's terms for a message of `bytes` (as in sim/predict.h). Links are those of the
/// routes from the first GPU; where a node's GPUs share one port each, a peer has its equal share.
Terms terms_of(const Scenario& scenario, const model::Machine& machine, std::int64_t bytes);

/// The same terms for another message.
Terms with_bytes(Terms terms, const Scenario& scenario, std::int64_t bytes);

/// Simulates a path of a prediction: one of our algorithms, RCCLX's flat or tree, which begins
/// with a copy by the host, or a library's ring with its protocol's bytes and hop latency, one
/// of those that a mesh has room for; large
/// rings and hierarchies without their schedules. Nothing for paths that no schedule stands for,
/// and for rings of more than 2048 ranks, which would take minutes. An error names what cannot be
/// built or reached.
model::Result<std::optional<Timing>> simulate(const Scenario& scenario,
                                              const model::Machine& machine, std::string_view path,
                                              std::int64_t bytes);

}  // namespace tally::sim
