#pragma once

// What ranks compare when they make a communicator.

#include "kernels/comm/chooser.h"
#include "kernels/comm/rendezvous.h"

namespace tally::comm {

/// Nothing where all ranks have the same settings, which have the same names in the same order.
/// An error is the same on all: of the first rank that has one itself (`own`), or that differs from
/// rank 0, with the setting and both values.
std::optional<model::Error> agree(Rendezvous& rendezvous, const std::string& name,
                                  const Settings& settings, const std::optional<model::Error>& own);

}  // namespace tally::comm
