#include "reference/walk.h"

#include <unordered_map>

namespace tally::reference {
namespace {

using model::Signal;
using model::Wait;

/// Signals sent and not yet waited for, by the pair of lanes.
class Mailboxes {
 public:
  explicit Mailboxes(std::int64_t lanes_in_all) : lanes_(lanes_in_all) {}
  void send(std::int64_t from, std::int64_t to) { ++pending_[from * lanes_ + to]; }
  bool receive(std::int64_t from, std::int64_t to) {
    int& pending = pending_[from * lanes_ + to];
    if (pending == 0) return false;
    --pending;
    return true;
  }

 private:
  std::int64_t lanes_;
  std::unordered_map<std::int64_t, int> pending_;
};

}  // namespace

std::optional<Stuck> walk(const model::Schedule& schedule,
                          const std::function<void(int, int, const model::Step&)>& visit) {
  const int lanes = schedule.lanes.empty() ? 0 : static_cast<int>(schedule.lanes[0].size());
  const auto number = [&](int rank, int lane) { return std::int64_t{rank} * lanes + lane; };
  Mailboxes mailboxes(number(schedule.ranks, 0));
  std::vector<std::size_t> next(number(schedule.ranks, 0), 0);

  const auto advance = [&](int rank, int lane) {
    const model::Lane& steps = schedule.lanes[rank][lane];
    std::size_t& step = next[number(rank, lane)];
    const std::size_t start = step;
    for (; step < steps.size(); ++step) {
      if (const auto* wait = std::get_if<Wait>(&steps[step])) {
        if (!mailboxes.receive(number(wait->rank, wait->lane), number(rank, lane))) break;
      }
      if (const auto* signal = std::get_if<Signal>(&steps[step])) {
        mailboxes.send(number(rank, lane), number(signal->rank, signal->lane));
      }
      visit(rank, lane, steps[step]);
    }
    return step != start;
  };

  bool moved = true;
  while (moved) {
    moved = false;
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (int lane = 0; lane < lanes; ++lane) moved |= advance(rank, lane);
    }
  }
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int lane = 0; lane < lanes; ++lane) {
      const std::size_t step = next[number(rank, lane)];
      if (step < schedule.lanes[rank][lane].size()) return Stuck{rank, lane, step};
    }
  }
  return std::nullopt;
}

}  // namespace tally::reference
