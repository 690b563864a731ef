#pragma once

// The healthy recipes. Every GPU's kernels and the emulator's are made from this one list.

#include "kernels/all_reduce.h"
#include "model/collective.h"

namespace tally::kernels {

/// Calls visit<Operation, Accumulator, Codec>(wire) for every wire that carries sums.
template <class Operation, class Visit>
void for_each_wire(Visit visit) {
  using model::Beyond, model::Format;
  const auto with_format = [&]<Format format>() {
    visit.template operator()<Operation, AccumulateF32, CastCodec<format, Beyond::special>>(
        model::cast_wire(format));
    visit.template operator()<Operation, AccumulateF32, CastCodec<format, Beyond::max_finite>>(
        model::cast_wire(format, model::kSaturate));
    // One for all lengths, scales and rules, which are arguments.
    visit.template operator()<Operation, AccumulateF32, BlockCodec<ScaledBlocks<format>>>(
        model::block_wire(format, 32, Format::f32, model::ScaleRule::amax));
  };
  with_format.template operator()<Format::e4m3fn>();
  with_format.template operator()<Format::e5m2>();
  with_format.template operator()<Format::e4m3fnuz>();
  with_format.template operator()<Format::e5m2fnuz>();
}

/// Calls visit<R>(arithmetic) for every recipe R of element E; `visit` is a generic lambda. Of
/// block wires the arithmetic names one for each element format.
template <class E, class Visit>
void for_each_recipe_of(Visit visit) {
  const auto add = [&]<class O, class A, class C>(const model::Wire& wire) {
    visit.template operator()<Recipe<E, O, A, C, FaithfulPlan>>(
        model::Arithmetic{E::kFormat, wire, O::kOp, A::kAccumulate});
  };
  const auto add_without_wire = [&]<class O>() {
    add.template operator()<O, AccumulateElement, PlainCodec<E>>(model::kNoWire);
    add.template operator()<O, AccumulateF32, PlainCodec<E>>(model::kNoWire);
  };
  add_without_wire.template operator()<Sum>();
  add_without_wire.template operator()<Product>();
  add_without_wire.template operator()<Minimum>();
  add_without_wire.template operator()<Maximum>();
  add_without_wire.template operator()<Average>();
  for_each_wire<Sum>(add);
  for_each_wire<Average>(add);
}

/// The same for every element.
template <class Visit>
void for_each_recipe(Visit visit) {
  for_each_recipe_of<Element<model::Format::f32>>(visit);
  for_each_recipe_of<Element<model::Format::f16>>(visit);
  for_each_recipe_of<Element<model::Format::bf16>>(visit);
}

/// What a recipe's arithmetic is called: all block wires of one element format alike.
inline std::string recipe_name(const model::Arithmetic& arithmetic) {
  const auto& [element, wire, op, accumulate, factor] = arithmetic;
  std::string text(element.name());
  text += '/';
  text += wire.is_block() ? std::string(model::format(wire.format).name) + ":blocks" : wire.name();
  for (const std::string_view part : {model::name(op), model::name(accumulate)}) {
    text += '/';
    text += part;
  }
  return text;
}

/// Whether blocks of `threads` threads in waves of `wave` can run a wire: each of its codec's
/// groups has to be whole, and in one wave.
inline bool can_launch(const model::Wire& wire, int threads, int wave) {
  const int group = wire.is_block() ? wire.length / 16 : 1;
  return threads % group == 0 && wave % group == 0;
}

}  // namespace tally::kernels
