#include "verify/trial.h"

#include <algorithm>

#include "verify/bound_judge.h"
#include "verify/send_counts.h"

namespace tally::verify {

Trial::Trial(const Case& c, const Subject& subject) : case_(c), subject_(subject) {
  Case known = c;
  if (!subject.fixes_order()) known.algorithm = "flat";  // one order that is as good as another
  for (int call = 0; call < std::ssize(c.counts); ++call) {
    auto& of_call = inputs_.emplace_back();
    for (int rank = 0; rank < c.ranks; ++rank) {
      of_call.push_back(reference::draw(c.input, c.arithmetic.element,
                                        {c.seed, call, rank, c.input_elements(call)}));
    }
    wanted_.push_back(reference::run(known.schedule(call), of_call));
    // Behind what is written there has to be what was there before.
    for (int rank = 0; rank < c.ranks; ++rank) {
      auto& bytes = wanted_.back()[rank];
      const auto written = written_elements(c, call, rank) * c.arithmetic.element.bytes();
      std::fill(bytes.begin() + written, bytes.end(), kPoison);
    }
    elements_ += c.ranks * c.output_elements(call);
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
