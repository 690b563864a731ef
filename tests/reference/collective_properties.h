#pragma once

// What every all-reduce must do, whoever runs it: properties that follow from the definition, for
// a subject that is a parameter.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/builders.h"
#include "reference/run.h"
#include "tests/reference/rank_buffers.h"

namespace tally::test {

/// One call: what is to be computed, and on what. `seed` is for what a subject is free to choose.
struct PropertyCall {
  model::Schedule schedule;
  reference::RankBuffers inputs;
  std::uint64_t seed = 1;
};

/// Runs calls in a row, which differ in count and inputs only, on the same staging buffers if it
/// has such; the outputs of each call.
using PropertySubject =
    std::function<std::vector<reference::RankBuffers>(std::span<const PropertyCall>)>;

/// The subject that runs each call by itself.
PropertySubject subject_of(
    std::function<reference::RankBuffers(const model::Schedule&, const reference::RankBuffers&)>);

/// A case of a property: the all-reduce, and the seed of the inputs and of all other choices.
struct PropertyCase {
  std::string algorithm;
  model::Shape shape;
  std::uint64_t seed = 1;

  std::string text() const;
  model::Schedule schedule(std::int64_t count) const;
};

struct CollectiveProperty {
  std::string_view claim;
  /// What was wrong; "" where the property holds or has nothing to say about the case.
  std::string (*violation)(const PropertySubject&, const PropertyCase&);
};
std::span<const CollectiveProperty> collective_properties();

/// A case drawn by RapidCheck: algorithm, arithmetic and ranks from those given, a count next to a
/// multiple of ranks * 128 or small, and a seed.
PropertyCase any_property_case(const std::vector<std::string>& algorithms,
                               const std::vector<model::Arithmetic>& arithmetics, int most_ranks);

/// A code: half the time any bits, else within two of an edge of one of the formats in use.
std::uint32_t edge_code(const model::Arithmetic&, Random&);

}  // namespace tally::test
