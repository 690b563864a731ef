#include "model/builders.h"

namespace tally::model {
namespace {

constexpr Builder kBuilders[] = {
    {"ring", Collective::all_reduce, ring_all_reduce},
    {"flat", Collective::all_reduce, flat_all_reduce},
    {"flat_ll", Collective::all_reduce, flat_ll_all_reduce},
    {"tree", Collective::all_reduce, tree_all_reduce},
    {"flat", Collective::reduce_scatter, flat_reduce_scatter},
    {"flat", Collective::all_gather, flat_all_gather},
    {"flat", Collective::all_to_all, flat_all_to_all},
    {"flat", Collective::all_to_all_v, flat_all_to_all_v},
};

constexpr Builder kUnlaunched[] = {
    {"halving_doubling", Collective::all_reduce, halving_doubling_all_reduce},
    {"hierarchical", Collective::all_reduce, hierarchical_all_reduce},
};

/// What moving alone does not allow, of elements or of a collective.
std::optional<Error> disallowed_in_moving(Collective collective, const Arithmetic& arithmetic) {
  const std::string moving(name(collective));
  const ElementType element = arithmetic.element;
  if (element.moves_only() && !only_moves(collective)) {
    return Error{"--dtype", std::string(element.name()) + " does not go with " + moving,
                 "it only moves: all_gather, all_to_all or all_to_all_v"};
  }
  if (element.moves_only() && !arithmetic.wire.is_none()) {
    return Error{"--wire",
                 arithmetic.wire.name() + " does not go with " + std::string(element.name()),
                 "it travels as it is: --wire none"};
  }
  if (!only_moves(collective)) return std::nullopt;
  if (arithmetic.op != Op::sum) {
    return Error{"--op", std::string(name(arithmetic.op)) + " does not go with " + moving,
                 "it reduces nothing: leave --op out, or give sum"};
  }
  if (arithmetic.wire.is_none() && arithmetic.accumulate == Accumulate::f32) {
    return Error{"--accumulate", "f32 does not go with " + moving + " without a wire",
                 "it adds nothing: leave --accumulate out, or give element"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> disallowed(Collective collective, std::string_view algorithm,
                                const Arithmetic& arithmetic) {
  if (auto error = disallowed_in_moving(collective, arithmetic)) return error;
  const auto& [element, wire, op, accumulate, factor] = arithmetic;
  if (!wire.is_none() && !allows_wire(op)) {
    return Error{"--op", std::string(name(op)) + " does not go with wire " + wire.name(),
                 "wires carry sum and avg: --wire none"};
  }
  if (!wire.is_none() && accumulate == Accumulate::element) {
    return Error{"--accumulate", "element does not go with wire " + wire.name(),
                 "a wire accumulates in f32: leave --accumulate out, or give f32"};
  }
  const bool hands_sums_on =
      algorithm == "ring" || algorithm == "halving_doubling" || algorithm == "hierarchical";
  if (hands_sums_on && wire.is_none() && accumulate == Accumulate::f32) {
    return Error{"--accumulate",
                 "f32 does not go with " + std::string(algorithm == "ring" ? "the " : "") +
                     std::string(algorithm) + " without a wire",
                 "its hops carry elements: --algorithm flat,tree, or --accumulate element"};
  }
  if (algorithm == "flat_ll" && wire.is_block()) {
    return Error{"--wire", wire.name() + " does not go with flat_ll",
                 "its packets carry no scales: --wire none or a cast, or --algorithm flat"};
  }
  return std::nullopt;
}

std::span<const Builder> builders() { return kBuilders; }
std::span<const Builder> unlaunched_builders() { return kUnlaunched; }

const Builder* find_builder(Collective collective, std::string_view algorithm) {
  for (const Builder& builder : kBuilders) {
    if (builder.collective == collective && builder.algorithm == algorithm) return &builder;
  }
  return nullptr;
}

}  // namespace tally::model
