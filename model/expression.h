#pragma once

// Symbolic values: what an output is made of, in which order, and where it was rounded. The
// schedule's provenance and the kernels' symbolic run both write them; equal ids are equal
// expressions.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tally::model {

/// A pool of hash-consed expressions. Rounding is idempotent here: round(round(x)) is round(x),
/// and zero and inputs are their own roundings, since an element already has the element type.
class Expressions {
 public:
  enum class Id : std::uint32_t {};
  enum class Kind : std::uint8_t { zero, input, add, round, encode, decode };
  struct Node {
    Kind kind;
    std::int64_t first, second;  // input: rank, element. add: left, right. Others: operand, 0.
    friend bool operator==(const Node&, const Node&) = default;
  };

  Id zero() { return make({Kind::zero, 0, 0}); }
  Id input(int rank, std::int64_t element) { return make({Kind::input, rank, element}); }
  /// accumulator + term, in f32.
  Id add(Id accumulator, Id term) {
    return make(
        {Kind::add, static_cast<std::int64_t>(accumulator), static_cast<std::int64_t>(term)});
  }
  /// Rounded to the element type.
  Id round(Id x);
  /// The wire's code of x, and the value of a code.
  Id encode(Id x) { return make({Kind::encode, static_cast<std::int64_t>(x), 0}); }
  Id decode(Id code) { return make({Kind::decode, static_cast<std::int64_t>(code), 0}); }

  const Node& node(Id id) const { return nodes_[static_cast<std::uint32_t>(id)]; }

  /// The inputs in x as (rank, element), one entry for each occurrence.
  std::vector<std::pair<int, std::int64_t>> inputs(Id x) const;

  /// The order of summation: "(2+(1+0))" adds rank 1 to rank 0, then rank 2. A start at +0 is not
  /// shown; q(...) is an encoding that was decoded again.
  std::string order(Id x) const;
  /// Everything: "r((1.5+r((0.5+z))))"; rank.element for an input, z for +0, r rounding, q
  /// encoding, d decoding.
  std::string text(Id x) const;

 private:
  struct Hash {
    std::size_t operator()(const Node& node) const;
  };
  Id make(const Node& node);

  std::vector<Node> nodes_;
  std::unordered_map<Node, Id, Hash> ids_;
};

}  // namespace tally::model
