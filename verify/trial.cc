#include "verify/trial.h"

#include <algorithm>

#include "verify/bound_judge.h"

namespace tally::verify {

Trial::Trial(const Case& c, const Subject& subject) : case_(c), subject_(subject) {
  Case known = c;
  if (!subject.fixes_order()) known.algorithm = "flat";  // one order that is as good as another
  for (std::size_t call = 0; call < c.counts.size(); ++call) {
    auto& of_call = inputs_.emplace_back();
    for (int rank = 0; rank < c.ranks; ++rank) {
      of_call.push_back(reference::draw(c.input, c.arithmetic.element,
                                        {c.seed, static_cast<int>(call), rank, c.counts[call]}));
    }
    wanted_.push_back(reference::run(known.schedule(c.counts[call]), of_call));
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
  outcome.judgement = subject_.fixes_order()
                          ? judge_exact(case_, wanted_, outcome.seen)
                          : judge_any_order(case_, inputs_, wanted_, outcome.seen);
  return outcome;
}

}  // namespace tally::verify
