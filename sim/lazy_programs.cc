#include <bit>
#include <utility>

#include "model/check.h"
#include "sim/program.h"

namespace tally::sim {
namespace {

using model::part;
using model::Range;

/// What both generators know of the lane that they make.
struct Setting {
  int ranks, lanes, ranks_per_node;
  std::int64_t count, unit;
  Sizes sizes;
};

Setting setting_of(const model::Shape& shape, const model::WireSize& wire) {
  TALLY_CHECK(shape.ranks >= 1 && shape.count >= 0 && shape.lanes >= 1, "a shape of something");
  TALLY_CHECK(shape.ranks_per_node >= 1 && shape.ranks % shape.ranks_per_node == 0,
              "the ranks of a node divide all");
  const model::Arithmetic& arithmetic = shape.arithmetic;
  return {shape.ranks,
          shape.lanes,
          shape.ranks_per_node,
          shape.count,
          arithmetic.wire.unit(),
          {arithmetic.element, wire}};
}

/// model::ring_all_reduce, work by work: every piece of a turn, and then the next turn.
class RingLane {
 public:
  RingLane(const Setting& setting, int pieces, LaneId self)
      : s_(setting),
        pieces_(pieces),
        self_(self),
        next_((self.rank + 1) % setting.ranks),
        previous_((self.rank + setting.ranks - 1) % setting.ranks) {}

  bool operator()(Stage& stage) {
    const Work work = work_at(at_);
    if (work.kind == Kind::end) return false;
    stage = Stage{};
    switch (work.kind) {
      case Kind::sum:
        sum(work, stage);
        break;
      case Kind::own:
        sum_own(work, stage);
        break;
      default:
        pass_on(work, stage);
    }
    if (!stage.has_work()) stage.name = "barrier";
    ++at_;
    const Work following = work_at(at_);
    if (following.needs_arrival) stage.waits.push_back({previous_, self_.lane});
    if (following.kind == Kind::end && s_.ranks > 1) {  // the neighbour may begin another call
      stage.signals.push_back({previous_, self_.lane});
      stage.waits.push_back({next_, self_.lane});
    }
    return !stage.is_nothing() || (*this)(stage);
  }

 private:
  enum class Kind : std::uint8_t { sum, own, pass_on, end };
  struct Work {
    Kind kind;
    int turn;  // of sums, or of passing on
    int piece;
    bool needs_arrival;
  };

  /// p - 1 turns of sums, one in which each piece of the own chunk is completed and passed on, and
  /// p - 1 turns of passing on, of which the last one only copies to the output.
  Work work_at(int number) const {
    const int hops = s_.ranks - 1, turn = number / pieces_, piece = number % pieces_;
    if (turn < hops) return {Kind::sum, turn, piece, turn > 0};
    if (turn < hops + 2) {
      const int in_own = number - hops * pieces_;
      if (in_own % 2 == 0) return {Kind::own, 0, in_own / 2, hops > 0};
      return {Kind::pass_on, 0, in_own / 2, false};
    }
    if (turn < 2 * hops + 2) return {Kind::pass_on, turn - hops - 1, piece, true};
    return {Kind::end, 0, 0, false};
  }

  std::int64_t length(int owner, int piece) const {
    const int ranks = s_.ranks;
    const Range chunk = model::chunk(s_.count, (owner + 2 * ranks) % ranks, ranks, s_.unit);
    return part(part(chunk, self_.lane, s_.lanes, s_.unit), piece, pieces_, s_.unit).size();
  }
  void send(std::int64_t count, Stage& stage) const {
    if (count > 0) stage.transfers.push_back({next_, s_.sizes.codes(count), false});
    stage.signals.push_back({next_, self_.lane});
  }

  void sum(const Work& work, Stage& stage) const {
    const std::int64_t count = length(self_.rank - 1 - work.turn, work.piece);
    const std::int64_t converted = s_.sizes.converted(count);
    stage.name = work.turn == 0 ? "exchange" : "reduce";
    stage.memory_bytes = s_.sizes.elements(count);
    stage.codec_bytes = converted;
    if (work.turn > 0) {
      stage.memory_bytes += s_.sizes.codes(count);
      stage.codec_bytes += converted;
    }
    send(count, stage);
  }

  void sum_own(const Work& work, Stage& stage) const {
    const std::int64_t count = length(self_.rank, work.piece), times = s_.ranks > 1 ? 2 : 1;
    stage.name = s_.ranks > 1 ? "reduce" : "stage";
    stage.memory_bytes = s_.sizes.elements(count) + times * s_.sizes.codes(count);
    stage.codec_bytes = times * s_.sizes.converted(count);
  }

  void pass_on(const Work& work, Stage& stage) const {
    const std::int64_t count = length(self_.rank - work.turn, work.piece);
    const bool is_last = work.turn == s_.ranks - 1;
    stage.name = "gather";
    stage.memory_bytes = s_.sizes.elements(count) + (is_last ? 1 : 2) * s_.sizes.codes(count);
    stage.codec_bytes = s_.sizes.converted(count);
    if (!is_last) send(count, stage);
  }

  const Setting s_;
  const int pieces_;
  const LaneId self_;
  const int next_, previous_;
  int at_ = 0;
};

/// model::hierarchical_all_reduce, as a list: a lane has few stages even of many ranks.
class HierarchicalStages {
 public:
  HierarchicalStages(const Setting& setting, LaneId self)
      : s_(setting),
        self_(self),
        node_(self.rank / setting.ranks_per_node),
        local_(self.rank % setting.ranks_per_node),
        active_(static_cast<int>(
            std::bit_floor(static_cast<unsigned>(setting.ranks / setting.ranks_per_node)))),
        folded_(setting.ranks / setting.ranks_per_node - active_),
        part_(part_of(local_)) {
    stage();
    meet_node();
    sum_in_node();
    if (node_ < 2 * folded_ && node_ % 2 == 0) {
      const int partner = rank_of(node_ + 1);
      signal(partner);
      fetch(partner, part_.size());
      partners_.push_back(partner);
    } else {
      complete_between_nodes();
    }
    meet_node();
    gather();
    leave();
    std::erase_if(stages_, [](const Stage& each) { return each.is_nothing(); });
    for (Stage& each : stages_) {
      if (!each.has_work()) each.name = "barrier";
    }
  }

  std::vector<Stage> stages() && { return std::move(stages_); }

 private:
  Range part_of(int local) const {
    const Range chunk = model::chunk(s_.count, local, s_.ranks_per_node, s_.unit);
    return part(chunk, self_.lane, s_.lanes, s_.unit);
  }
  int rank_of(int node) const { return node * s_.ranks_per_node + local_; }
  int node_of(int number) const { return number < folded_ ? 2 * number + 1 : number + folded_; }
  /// What number `number` holds among blocks of `length`.
  std::int64_t held(int number, int length) const {
    const int first = number / length * length;
    return part(part_, first + length - 1, active_, s_.unit).end -
           part(part_, first, active_, s_.unit).begin;
  }

  /// Work that depends on what came before it.
  void work(Stage piece) {
    const bool is_open =
        !stages_.empty() && stages_.back().signals.empty() && stages_.back().waits.empty();
    if (is_open && !piece.has_work()) return;
    if (is_open && !stages_.back().has_work()) stages_.pop_back();
    stages_.push_back(std::move(piece));
  }
  void signal(int rank) {
    if (stages_.empty() || !stages_.back().waits.empty()) stages_.emplace_back();
    stages_.back().signals.push_back({rank, self_.lane});
  }
  void wait(int rank) { stages_.back().waits.push_back({rank, self_.lane}); }
  template <class Visit>
  void for_peers_in_node(Visit visit) const {
    for (int local = 0; local < s_.ranks_per_node; ++local) {
      if (local != local_) visit(node_ * s_.ranks_per_node + local);
    }
  }
  void meet_node() {
    for_peers_in_node([&](int peer) { signal(peer); });
    for_peers_in_node([&](int peer) { wait(peer); });
  }

  void stage() {
    Stage piece{.name = "stage"};
    for (int local = 0; local < s_.ranks_per_node; ++local) {
      const std::int64_t count = part_of(local).size();
      piece.memory_bytes += s_.sizes.elements(count) + s_.sizes.codes(count);
      piece.codec_bytes += s_.sizes.converted(count);
    }
    work(std::move(piece));
  }

  void sum_in_node() {
    if (s_.ranks_per_node == 1) return;
    Stage piece{.name = "reduce"};
    const std::int64_t bytes = s_.sizes.codes(part_.size());
    piece.memory_bytes = 2 * bytes;
    piece.codec_bytes = (s_.ranks_per_node + 1) * s_.sizes.converted(part_.size());
    for_peers_in_node([&](int peer) {
      if (bytes > 0) piece.transfers.push_back({peer, bytes, true});
    });
    work(std::move(piece));
  }

  void add(int partner, std::int64_t count) {
    wait(partner);
    Stage piece{.name = "reduce"};
    const std::int64_t bytes = s_.sizes.codes(count);
    if (bytes > 0) piece.transfers.push_back({partner, bytes, true});
    piece.memory_bytes = 2 * bytes;
    piece.codec_bytes = 3 * s_.sizes.converted(count);
    work(std::move(piece));
  }
  void fetch(int partner, std::int64_t count) {
    wait(partner);
    Stage piece{.name = "exchange"};
    const std::int64_t bytes = s_.sizes.codes(count);
    if (bytes > 0) piece.transfers.push_back({partner, bytes, true});
    piece.memory_bytes = bytes;
    work(std::move(piece));
  }

  void complete_between_nodes() {
    const bool is_folded_into = node_ < 2 * folded_;
    if (is_folded_into) add(rank_of(node_ - 1), part_.size());
    const int self = is_folded_into ? node_ / 2 : node_ - folded_;
    for (int distance = active_ / 2; distance >= 1; distance /= 2) {
      const int partner = rank_of(node_of(self ^ distance));
      signal(partner);
      add(partner, held(self, distance));
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
    Stage piece{.name = "gather"};
    for (int distance = 0; distance < s_.ranks_per_node; ++distance) {
      const int owner = (local_ + distance) % s_.ranks_per_node;
      const std::int64_t count = part_of(owner).size(), bytes = s_.sizes.codes(count);
      if (distance == 0) {
        piece.memory_bytes += bytes;
      } else if (bytes > 0) {
        piece.transfers.push_back({node_ * s_.ranks_per_node + owner, bytes, true});
      }
      piece.memory_bytes += s_.sizes.elements(count);
      piece.codec_bytes += s_.sizes.converted(count);
    }
    work(std::move(piece));
  }

  void leave() {
    for_peers_in_node([&](int peer) { signal(peer); });
    for (const int partner : partners_) signal(partner);
    for_peers_in_node([&](int peer) { wait(peer); });
    for (const int partner : partners_) wait(partner);
  }

  const Setting& s_;
  const LaneId self_;
  const int node_, local_, active_, folded_;
  const Range part_;
  std::vector<int> partners_ = {};
  std::vector<Stage> stages_ = {};
};

}  // namespace

Program ring_program(const model::Shape& shape, const model::WireSize& wire, int pieces) {
  TALLY_CHECK(pieces >= 1, "a chunk has pieces");
  return {shape.ranks, shape.lanes,
          [setting = setting_of(shape, wire), pieces](LaneId self) -> Stages {
            return RingLane(setting, pieces, self);
          }};
}

Program hierarchical_program(const model::Shape& shape, const model::WireSize& wire) {
  return {shape.ranks, shape.lanes, [setting = setting_of(shape, wire)](LaneId self) -> Stages {
            return [stages = HierarchicalStages(setting, self).stages(),
                    at = std::size_t{0}](Stage& stage) mutable {
              if (at == stages.size()) return false;
              stage = std::move(stages[at++]);
              return true;
            };
          }};
}

}  // namespace tally::sim
