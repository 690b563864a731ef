#include "verify/trial.h"

#include <algorithm>

namespace tally::verify {

Trial::Trial(const Case& c, const Subject& subject) : case_(c), subject_(subject) {
  for (std::size_t call = 0; call < c.counts.size(); ++call) {
    auto& of_call = inputs_.emplace_back();
    for (int rank = 0; rank < c.ranks; ++rank) {
      of_call.push_back(reference::draw(c.input, c.arithmetic.element,
                                        {c.seed, static_cast<int>(call), rank, c.counts[call]}));
    }
    wanted_.push_back(reference::run(c.schedule(c.counts[call]), of_call));
    elements_ += c.ranks * output_elements(c.collective, c.ranks, c.counts[call]);
  }
}

Trial::Outcome Trial::run(const Run& how) const {
  Outcome outcome;
  outcome.seen = subject_.run(case_, inputs_, how);
  auto& faults = outcome.seen.order_faults;
  const auto wanted = std::find_if(faults.begin(), faults.end(),
                                   [&](const OrderFault& f) { return f.lines == how.lines; });
  if (wanted != faults.end()) std::rotate(faults.begin(), wanted, wanted + 1);
  outcome.judgement = judge_exact(case_, wanted_, outcome.seen);
  return outcome;
}

}  // namespace tally::verify
