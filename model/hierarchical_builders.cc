#include <bit>

#include "model/builder_parts.h"
#include "model/builders.h"
#include "model/check.h"

namespace tally::model {
namespace {

/// One lane of one rank. It adds steps level by level; `part_` is what this lane sums.
class HierarchicalLane {
 public:
  HierarchicalLane(const Shape& shape, int rank, int lane, Lane& steps)
      : shape_(shape),
        rank_(rank),
        lane_(lane),
        node_(rank / shape.ranks_per_node),
        nodes_(shape.ranks / shape.ranks_per_node),
        active_(static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes_)))),
        folded_(nodes_ - active_),
        part_(part_of(rank % shape.ranks_per_node)),
        steps_(steps) {}

  void build() {
    stage();
    meet_node();
    sum_in_node();
    if (node_ < 2 * folded_ && node_ % 2 == 0) {
      const int partner = rank_of(node_ + 1);
      signal(partner);
      fetch(partner, part_);  // that one signals when its sum is complete
      partners_.push_back(partner);
    } else {
      complete_between_nodes();
    }
    meet_node();
    gather();
    leave();
  }

 private:
  Range part_of(int local) const {
    const std::int64_t unit = shape_.arithmetic.wire.unit();
    return part(chunk(shape_.count, local, shape_.ranks_per_node, unit), lane_, shape_.lanes, unit);
  }
  /// The rank of that node that owns the same chunk.
  int rank_of(int node) const {
    return node * shape_.ranks_per_node + rank_ % shape_.ranks_per_node;
  }
  /// The nodes that halve and double, numbered without those that are folded into another.
  int number_of(int node) const { return node < 2 * folded_ ? node / 2 : node - folded_; }
  int node_of(int number) const { return number < folded_ ? 2 * number + 1 : number + folded_; }
  /// What number `number` holds where blocks of `length` active nodes have halved this lane's part.
  Range held(int number, int length) const {
    const std::int64_t unit = shape_.arithmetic.wire.unit();
    const int first = number / length * length;
    return {part(part_, first, active_, unit).begin,
            part(part_, first + length - 1, active_, unit).end};
  }
  static Slice scratch(int rank, Range range) { return {rank, kScratch, range}; }

  void signal(int rank) { steps_.push_back(Signal{rank, lane_}); }
  void wait(int rank) { steps_.push_back(Wait{rank, lane_}); }
  template <class Visit>
  void for_peers_in_node(Visit visit) {
    const int first = node_ * shape_.ranks_per_node;
    for (int peer = first; peer < first + shape_.ranks_per_node; ++peer) {
      if (peer != rank_) visit(peer);
    }
  }
  void meet_node() {
    for_peers_in_node([&](int peer) { signal(peer); });
    for_peers_in_node([&](int peer) { wait(peer); });
  }

  void stage() {
    for (int local = 0; local < shape_.ranks_per_node; ++local) {
      const Range range = part_of(local);
      steps_.push_back(Copy{{rank_, kInput, range}, scratch(rank_, range)});
    }
  }

  void sum_in_node() {
    if (shape_.ranks_per_node == 1) return;
    std::vector<Slice> staged;
    const int first = node_ * shape_.ranks_per_node;
    for (int peer = first; peer < first + shape_.ranks_per_node; ++peer) {
      staged.push_back(scratch(peer, part_));
    }
    Reduce sum = reduce_all(shape_, std::move(staged), scratch(rank_, part_));
    if (nodes_ > 1) sum.divisor = 1;  // not complete yet
    steps_.push_back(sum);
  }

  void add(int partner, Range range, int divisor) {
    wait(partner);
    steps_.push_back(Reduce{{scratch(rank_, range), scratch(partner, range)},
                            scratch(rank_, range),
                            Reduce::Start::first_source,
                            divisor});
  }
  void fetch(int partner, Range range) {
    wait(partner);
    steps_.push_back(Copy{scratch(partner, range), scratch(rank_, range)});
  }

  void complete_between_nodes() {
    const bool is_folded_into = node_ < 2 * folded_;
    if (is_folded_into) add(rank_of(node_ - 1), part_, 1);
    const int self = number_of(node_);
    for (int distance = active_ / 2; distance >= 1; distance /= 2) {
      const int partner = rank_of(node_of(self ^ distance));
      const bool is_complete = distance == 1 && shape_.arithmetic.op == Op::avg;
      signal(partner);
      add(partner, held(self, distance), is_complete ? shape_.ranks : 1);
      partners_.push_back(partner);
    }
    for (int distance = 1; distance < active_; distance *= 2) {
      const int partner = rank_of(node_of(self ^ distance));
      signal(partner);
      fetch(partner, held(self ^ distance, distance));
    }
    if (is_folded_into) {
      partners_.push_back(rank_of(node_ - 1));
      signal(partners_.back());
    }
  }

  void gather() {
    const int ranks = shape_.ranks_per_node, first = node_ * ranks;
    for (int distance = 0; distance < ranks; ++distance) {
      const int owner = (rank_ + distance) % ranks;  // so that not all ask one rank first
      const Range range = part_of(owner);
      steps_.push_back(Copy{scratch(first + owner, range), {rank_, kOutput, range}});
    }
  }

  /// Until then others read this rank's scratch.
  void leave() {
    for_peers_in_node([&](int peer) { signal(peer); });
    for (const int partner : partners_) signal(partner);
    for_peers_in_node([&](int peer) { wait(peer); });
    for (const int partner : partners_) wait(partner);
  }

  const Shape& shape_;
  const int rank_, lane_, node_, nodes_;
  const int active_, folded_;  // nodes: the largest power of two, and how many there are beyond it
  const Range part_;
  Lane& steps_;
  std::vector<int> partners_ = {};  // who reads this rank's scratch, in other nodes
};

}  // namespace

Schedule hierarchical_all_reduce(const Shape& shape) {
  TALLY_CHECK(shape.ranks_per_node >= 1 && shape.ranks % shape.ranks_per_node == 0,
              "the ranks of a node divide all");
  Schedule schedule = frame("hierarchical", Collective::all_reduce, shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (int lane = 0; lane < shape.lanes; ++lane) {
      HierarchicalLane(shape, rank, lane, schedule.lanes[rank][lane]).build();
    }
  }
  return schedule;
}

Schedule halving_doubling_all_reduce(const Shape& shape) {
  Shape flat = shape;
  flat.ranks_per_node = 1;
  Schedule schedule = hierarchical_all_reduce(flat);
  schedule.algorithm = "halving_doubling";
  return schedule;
}

}  // namespace tally::model
