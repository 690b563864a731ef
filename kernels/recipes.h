#pragma once

// The healthy recipes. Every GPU's kernels and the emulator's are made from this one list.

#include "kernels/all_reduce.h"
#include "model/collective.h"

namespace tally::kernels {

/// Calls visit<R>(arithmetic) for every recipe R of element E; `visit` is a generic lambda.
template <class E, class Visit>
void for_each_recipe_of(Visit visit) {
  using model::Accumulate, model::Beyond, model::Format;
  const auto add = [&]<class A, class C>(Accumulate accumulate, const model::Wire& wire) {
    visit.template operator()<Recipe<E, A, C, FaithfulPlan>>(
        model::Arithmetic{E::kFormat, wire, model::Op::sum, accumulate});
  };
  const auto add_cast = [&]<Format format>() {
    add.template operator()<AccumulateF32, CastCodec<format, Beyond::special>>(
        Accumulate::f32, model::cast_wire(format));
    add.template operator()<AccumulateF32, CastCodec<format, Beyond::max_finite>>(
        Accumulate::f32, model::cast_wire(format, model::kSaturate));
  };
  add.template operator()<AccumulateElement, PlainCodec<E>>(Accumulate::element, model::kNoWire);
  add.template operator()<AccumulateF32, PlainCodec<E>>(Accumulate::f32, model::kNoWire);
  add_cast.template operator()<Format::e4m3fn>();
  add_cast.template operator()<Format::e5m2>();
  add_cast.template operator()<Format::e4m3fnuz>();
  add_cast.template operator()<Format::e5m2fnuz>();
}

/// The same for every element.
template <class Visit>
void for_each_recipe(Visit visit) {
  for_each_recipe_of<Element<model::Format::f32>>(visit);
  for_each_recipe_of<Element<model::Format::f16>>(visit);
  for_each_recipe_of<Element<model::Format::bf16>>(visit);
}

}  // namespace tally::kernels
