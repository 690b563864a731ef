#pragma once

// Symbolic values: what an output is made of, in which order, and where it was rounded. The
// schedule's provenance and the kernels' symbolic run both write them; equal ids are equal
// expressions.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/collective.h"

namespace tally::model {

/// A pool of hash-consed expressions. Rounding is idempotent here: round(round(x)) is round(x),
/// and zero, inputs and premultiplied ones are their own roundings: they have the element type.
class Expressions {
 public:
  enum class Id : std::uint32_t {};
  enum class Kind : std::uint8_t {
    zero,
    one,
    input,
    add,
    multiply,
    minimum,
    maximum,
    divide,
    premultiply,
    round,
    members,
    encode,
    decode,
  };
  /// input: rank, element. add to maximum: accumulator, term. divide: operand, divisor.
  /// premultiply, round, decode: operand, 0. members: number of a set, 0. encode: operand, members
  /// or kAlone.
  struct Node {
    Kind kind;
    std::int64_t first, second;
    friend bool operator==(const Node&, const Node&) = default;
  };

  Id zero() { return make({Kind::zero, 0, 0}); }
  Id one() { return make({Kind::one, 0, 0}); }
  Id input(int rank, std::int64_t element) { return make({Kind::input, rank, element}); }
  /// accumulator op term, in the accumulator's format. An average adds.
  Id combine(Op op, Id accumulator, Id term);
  Id add(Id accumulator, Id term) { return combine(Op::sum, accumulator, term); }
  /// x / divisor; x itself where the divisor is 1.
  Id divide(Id x, int divisor);
  /// x times the factor of an operation that premultiplies, rounded to the element type.
  Id premultiply(Id x) { return make({Kind::premultiply, number(x), 0}); }
  /// Rounded to the element type.
  Id round(Id x);
  /// The wire's code of x by itself, and the value of a code.
  Id encode(Id x) { return make({Kind::encode, number(x), kAlone}); }
  Id decode(Id code) { return make({Kind::decode, number(code), 0}); }
  /// A block of elements, as the set of its values: what its scale depends on. The union of two
  /// blocks does not depend on the order in which it is made.
  Id members(Id x);
  Id unite(Id members, Id more);
  /// The code of x in a block.
  Id encode_in(Id x, Id members) { return make({Kind::encode, number(x), number(members)}); }

  const Node& node(Id id) const { return nodes_[static_cast<std::uint32_t>(id)]; }

  /// The inputs in x as (rank, element), one entry for each occurrence.
  std::vector<std::pair<int, std::int64_t>> inputs(Id x) const;

  /// The order of summation: "(2+(1+0))" adds rank 1 to rank 0, then rank 2. A start at +0 is not
  /// shown, nor a factor; q(...) is an encoding that was decoded again.
  std::string order(Id x) const;
  /// Everything: "r((1.5+r((0.5+z))))"; rank.element for an input, z for +0, r rounding, q
  /// encoding, d decoding, f*(...) what is premultiplied.
  std::string text(Id x) const;

 private:
  struct Hash {
    std::size_t operator()(const Node& node) const;
  };
  static constexpr std::int64_t kAlone = -1;
  static std::int64_t number(Id id) { return static_cast<std::int64_t>(id); }
  Id make(const Node& node);
  Id make_members(std::vector<Id> sorted);

  std::vector<std::vector<Id>> sets_;
  std::map<std::vector<Id>, std::int64_t> set_numbers_;
  std::vector<Node> nodes_;
  std::unordered_map<Node, Id, Hash> ids_;
};

}  // namespace tally::model
