#pragma once

// The healthy kernels. Every GPU's and the emulator's are made from this one list.

#include <string>

#include "kernels/algorithms.h"
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

/// Calls visit<R>(arithmetic) for every recipe R that reduces elements E; `visit` is a generic
/// lambda. Of block wires the arithmetic names one for each element format.
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
  add_without_wire.template operator()<PremultipliedSum>();
  add_without_wire.template operator()<Product>();
  add_without_wire.template operator()<Minimum>();
  add_without_wire.template operator()<Maximum>();
  add_without_wire.template operator()<Average>();
  for_each_wire<Sum>(add);
  for_each_wire<Average>(add);
}

/// Calls visit<Algorithm, R>(arithmetic) for every kernel that works on elements E.
template <class E, class Visit>
void for_each_kernel_of(Visit visit) {
  for_each_recipe_of<E>([&]<class R>(const model::Arithmetic& arithmetic) {
    for_each_reduction<R>([&]<class A>() { visit.template operator()<A, R>(arithmetic); });
  });
  for_each_wire<Sum>([&]<class O, class A, class C>(const model::Wire& wire) {
    for_each_movement([&]<class Movement>() {
      visit.template operator()<Movement, Recipe<E, O, A, C, FaithfulPlan>>(
          model::Arithmetic{E::kFormat, wire, O::kOp, A::kAccumulate});
    });
  });
}

/// The same for every kernel that moves bits as they are: of int8, of f16 for all of 2 bytes, of
/// int32 and of int64.
template <class Visit>
void for_each_raw_kernel(Visit visit) {
  const auto add = [&]<class Bits>(model::ElementType element) {
    using E = RawElement<Bits>;
    for_each_movement([&]<class Movement>() {
      visit.template
      operator()<Movement, Recipe<E, Sum, AccumulateElement, PlainCodec<E>, FaithfulPlan>>(
          model::Arithmetic{element});
    });
  };
  add.template operator()<std::uint8_t>(model::Moved::int8);
  add.template operator()<std::uint16_t>(model::Format::f16);
  add.template operator()<std::uint32_t>(model::Moved::int32);
  add.template operator()<std::uint64_t>(model::Moved::int64);
}

/// The same for all.
template <class Visit>
void for_each_kernel(Visit visit) {
  for_each_kernel_of<Element<model::Format::f32>>(visit);
  for_each_kernel_of<Element<model::Format::f16>>(visit);
  for_each_kernel_of<Element<model::Format::bf16>>(visit);
  for_each_raw_kernel(visit);
}

/// What the kernel for an arithmetic is called. One kernel serves all block wires of an element
/// format, both sums of products, and all elements of a size that move as they are.
inline std::string kernel_name(model::Collective collective, std::string_view algorithm,
                               const model::Arithmetic& arithmetic) {
  const model::Wire& wire = arithmetic.wire;
  const bool is_raw = model::only_moves(collective) && wire.is_none();
  std::string text(model::name(collective));
  const auto add = [&](std::string_view part) { (text += '/') += part; };
  add(algorithm);
  add(is_raw ? std::to_string(arithmetic.element.bytes()) + "_bytes"
             : std::string(arithmetic.element.name()));
  add(wire.is_block() ? std::string(model::format(wire.format).name) + ":blocks" : wire.name());
  if (model::only_moves(collective)) return text;
  add(model::name(model::premultiplies(arithmetic.op) ? model::Op::premul_sum : arithmetic.op));
  add(model::name(arithmetic.accumulate));
  return text;
}

/// Whether blocks of `threads` threads in waves of `wave` can run a wire: each of its codec's
/// groups has to be whole, and in one wave.
inline bool can_launch(const model::Wire& wire, int threads, int wave) {
  const int group = wire.is_block() ? wire.length / 16 : 1;
  return threads % group == 0 && wave % group == 0;
}

}  // namespace tally::kernels
