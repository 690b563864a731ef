#pragma once

// What is done with the ranks' elements, as policies of the kernels. Values are the element's.

#include "kernels/device.h"
#include "model/collective.h"

namespace tally::kernels {

/// What an accumulator of all ranks holds before the first one.
enum class Start : std::uint8_t { plus_zero, one, first_term };

struct Sum {
  static constexpr model::Op kOp = model::Op::sum;
  static constexpr Start kStart = Start::plus_zero;
  /// Whether elements become contributions by contribution().
  static constexpr bool kPremultiplies = false;
  template <class E>
  TALLY_DEVICE static typename E::Value combine(typename E::Value a, typename E::Value term) {
    return E::add(a, term);
  }
  /// What a complete accumulator becomes, in its own format, in a call with arguments `a`.
  template <class E, class Arguments>
  TALLY_DEVICE static typename E::Value complete(typename E::Value x, const Arguments&) {
    return x;
  }
};

/// A sum that is divided once.
struct Average : Sum {
  static constexpr model::Op kOp = model::Op::avg;
  template <class E, class Arguments>
  TALLY_DEVICE static typename E::Value complete(typename E::Value x, const Arguments& a) {
    return E::divide(x, a.ranks);
  }
};

/// A sum of products with the call's factor, each rounded to the element type. avg_premul is one,
/// with a factor of 1 / ranks.
struct PremultipliedSum : Sum {
  static constexpr model::Op kOp = model::Op::premul_sum;
  static constexpr bool kPremultiplies = true;
  template <class Gpu, class E, class Arguments>
  TALLY_DEVICE static typename E::Value contribution(typename E::Value x, const Arguments& a) {
    return E::template value<Gpu>(E::template storage<Gpu>(E::scale(x, a.factor)));
  }
};

struct Product : Sum {
  static constexpr model::Op kOp = model::Op::prod;
  static constexpr Start kStart = Start::one;
  template <class E>
  TALLY_DEVICE static typename E::Value combine(typename E::Value a, typename E::Value term) {
    return E::multiply(a, term);
  }
};

struct Minimum : Sum {
  static constexpr model::Op kOp = model::Op::min;
  static constexpr Start kStart = Start::first_term;
  template <class E>
  TALLY_DEVICE static typename E::Value combine(typename E::Value a, typename E::Value term) {
    return E::minimum(a, term);
  }
};

struct Maximum : Sum {
  static constexpr model::Op kOp = model::Op::max;
  static constexpr Start kStart = Start::first_term;
  template <class E>
  TALLY_DEVICE static typename E::Value combine(typename E::Value a, typename E::Value term) {
    return E::maximum(a, term);
  }
};

}  // namespace tally::kernels
