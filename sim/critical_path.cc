#include "sim/critical_path.h"

#include <algorithm>
#include <map>

namespace tally::sim {
namespace {

constexpr int kSignal = -1;

/// A moment's step of the chain: time that a resource or a signal took.
struct Piece {
  std::string_view stage;
  Picos begin, end;
  int taken_by;
  bool ends_stage;
};

/// From the last to the first, but for those that took no time.
std::vector<Piece> chain_back_from(const History& history, int lane, Picos start) {
  std::vector<Piece> pieces;
  const auto add = [&](const Piece& piece) {
    if (piece.begin < piece.end) pieces.push_back(piece);
  };
  int stage = static_cast<int>(history[lane].size()) - 1;
  while (stage >= 0) {
    const StageRecord& record = history[lane][stage];
    if (record.cause_lane >= 0) {
      const StageRecord& cause = history[record.cause_lane][record.cause_stage];
      add({cause.name, cause.worked, record.ready, kSignal, false});
      lane = record.cause_lane;
      stage = record.cause_stage;
    }
    const Picos begin = stage == 0 ? start : history[lane][stage - 1].ready;
    const StageRecord& worked = history[lane][stage];
    add({worked.name, begin, worked.worked, worked.bottleneck, true});
    --stage;
  }
  return pieces;
}

/// What took the most of a phase: first the kind, then the one of that kind.
struct Shares {
  std::map<int, Picos> taken;  // by resource, or kSignal

  void describe(Phase& phase, const std::function<std::string(int)>& name_of_resource) const {
    std::map<std::string, Picos> kinds;
    const auto kind_of = [&](int resource) {
      const std::string name = resource == kSignal ? "signal" : name_of_resource(resource);
      return name.substr(0, name.find(' '));
    };
    for (const auto& [resource, time] : taken) kinds[kind_of(resource)] += time;
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto longest = std::ranges::max_element(kinds, less);
    phase.bound = longest->second;
    Picos most{-1};
    for (const auto& [resource, time] : taken) {
      if (kind_of(resource) != longest->first || time <= most) continue;
      most = time;
      phase.bound_by = resource == kSignal ? "signal" : name_of_resource(resource);
    }
  }
};

void add_launch(Timing& timing, const char* name, Picos length) {
  if (length.n == 0) return;
  timing.phases.push_back({name, timing.total, timing.total + length, 1, "launch", length});
  timing.total += length;
}

}  // namespace

Timing critical_path(const History& history, const Costs& costs,
                     const std::function<std::string(int)>& name_of_resource) {
  Timing timing;
  add_launch(timing, "copy_launch", costs.copy_launch);
  add_launch(timing, "launch", costs.launch);
  const Picos start = timing.total;
  int last_lane = 0;
  for (int lane = 0; lane < std::ssize(history); ++lane) {
    if (history[lane].empty() || history[lane].back().ready <= timing.total) continue;
    timing.total = history[lane].back().ready;
    last_lane = lane;
  }
  std::vector<Piece> pieces = chain_back_from(history, last_lane, start);
  std::ranges::reverse(pieces);
  std::string_view open;  // the name of the phase that pieces are added to
  Shares shares;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.stage != open) {
      timing.phases.push_back({std::string(piece.stage), piece.begin, piece.end, 0, "", {}});
      open = piece.stage;
      shares = {};
    }
    Phase& phase = timing.phases.back();
    phase.end = piece.end;
    phase.stages += piece.ends_stage ? 1 : 0;
    shares.taken[piece.taken_by] += piece.end - piece.begin;
    const bool is_last = i + 1 == pieces.size();
    if (is_last || pieces[i + 1].stage != open) shares.describe(phase, name_of_resource);
  }
  return timing;
}

}  // namespace tally::sim
