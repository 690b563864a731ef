#include "tests/reference/schedule_breaks.h"

#include "reference/provenance.h"

namespace tally::test {

using model::Copy;
using model::Lane;
using model::Reduce;
using model::Schedule;
using model::Slice;
using model::Step;

bool is_accepted(const Schedule& schedule) { return !reference::prove(schedule); }

bool moves_data(const Step& step) {
  if (const auto* copy = std::get_if<Copy>(&step)) return copy->destination.range.size() > 0;
  const auto* reduce = std::get_if<Reduce>(&step);
  return reduce != nullptr && reduce->destination.range.size() > 0;
}

bool is_signal(const Step& step) { return std::holds_alternative<model::Signal>(step); }

std::vector<Slice*> slices_of(Step& step) {
  std::vector<Slice*> slices;
  if (auto* copy = std::get_if<Copy>(&step)) slices = {&copy->source, &copy->destination};
  if (auto* reduce = std::get_if<Reduce>(&step)) {
    for (Slice& source : reduce->sources) slices.push_back(&source);
    slices.push_back(&reduce->destination);
  }
  return slices;
}

std::string accepted_break(const Schedule& whole, bool (*is_meant)(const Step&),
                           const BreakStep& break_step) {
  int breaks = 0;
  for (int rank = 0; rank < whole.ranks; ++rank) {
    for (std::size_t lane = 0; lane < whole.lanes[rank].size(); ++lane) {
      for (std::size_t step = 0; step < whole.lanes[rank][lane].size(); ++step) {
        if (!is_meant(whole.lanes[rank][lane][step])) continue;
        Schedule broken = whole;
        if (!break_step(broken.lanes[rank][lane], step, rank)) continue;
        ++breaks;
        if (is_accepted(broken)) {
          return "rank " + std::to_string(rank) + " lane " + std::to_string(lane) + " step " +
                 std::to_string(step) + " of " + whole.algorithm + " " +
                 std::string(name(whole.collective));
        }
      }
    }
  }
  return breaks == 0 ? "nothing was broken" : "";
}

}  // namespace tally::test
