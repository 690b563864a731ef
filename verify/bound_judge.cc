#include "verify/bound_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/builders.h"
#include "reference/convert.h"
#include "verify/any_order.h"

namespace tally::verify {
namespace {

using model::Collective;
using model::Op;

/// The results of one call that are made of the same terms, and the ranks that must hold them.
struct Reduction {
  int call = 0, first_rank = 0, end_rank = 0;
  reference::RankBuffers terms;
};

/// All that is reduced in a call: by all ranks the same, or by each rank its own block.
std::vector<Reduction> reductions(const Case& c, int call, const reference::RankBuffers& inputs) {
  if (same_on_all_ranks(c.collective)) return {{call, 0, c.ranks, inputs}};
  const int bytes = c.arithmetic.element.bytes();
  const std::int64_t block = c.counts[call] * bytes;
  std::vector<Reduction> all;
  for (int rank = 0; rank < c.ranks; ++rank) {
    Reduction& one = all.emplace_back(Reduction{call, rank, rank + 1, {}});
    for (const auto& input : inputs) {
      one.terms.emplace_back(input.begin() + rank * block, input.begin() + (rank + 1) * block);
    }
  }
  return all;
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

/// What a comparison with one reading of the operation found.
struct Finding {
  std::int64_t wrong = 0;
  bool is_exact = true;  // each result could be only one
  double max_abs_err = 0, max_over_bound = 0;
  std::optional<Element> first_wrong;
  std::string first;
};

class Comparison {
 public:
  Comparison(const Case& c, const Observation& seen)
      : c_(c), element_(c.arithmetic.element), seen_(seen) {}

  void compare(const Reduction& reduction, const AnyOrder& order, Finding& found) const {
    for (std::int64_t i = 0; i < order.size(); ++i) {
      const Allowance allowed = order.at(i);
      found.is_exact = found.is_exact && allowed.code.has_value();
      for (int rank = reduction.first_rank; rank < reduction.end_rank; ++rank) {
        const std::uint32_t got = code(reduction.call, rank, i);
        measure(allowed, got, found);
        if (allowed.allows(element_, got)) continue;
        ++found.wrong;
        if (!found.first.empty()) continue;
        found.first_wrong = {reduction.call, rank, i};
        found.first =
            fmt::format("call {} rank {} element {} of {}: got {}, {}", reduction.call, rank, i,
                        order.size(), describe_code(element_, got), wanted(allowed));
      }
    }
  }

  /// Takes the orders with which the results do not agree out of `matches`.
  void compare_orders(const Reduction& reduction, const AnyOrder& order,
                      std::vector<std::string>& matches) const {
    const auto folds = folds_from_each_rank(order);
    const bool has_exact_sum = order.arithmetic().op != Op::prod;
    bool ascending = true, ring = true, exact = has_exact_sum;
    for (std::int64_t i = 0; i < order.size(); ++i) {
      const std::uint32_t rounded = !exact ? 0 : exact_code(order.at(i));
      for (int rank = reduction.first_rank; rank < reduction.end_rank; ++rank) {
        const std::uint32_t got = code(reduction.call, rank, i);
        const auto is_same = [&](const auto& fold) { return same(got, code_in(fold, i)); };
        exact = exact && same(got, rounded);
        ascending = ascending && is_same(folds[0]);
        ring = ring && std::any_of(folds.begin(), folds.end(), is_same);
      }
    }
    const auto keep = [&](const char* name, bool does) {
      if (!does) std::erase(matches, name);
    };
    keep("ascending", ascending);
    keep("ring", ring);
    keep("exact", exact);
  }

  std::int64_t compare_moved(const std::vector<reference::RankBuffers>& moved,
                             Finding& found) const {
    const int bytes = element_.bytes();
    for (std::size_t call = 0; call < moved.size(); ++call) {
      for (int rank = 0; rank < c_.ranks; ++rank) {
        const auto &got = seen_.outputs[call][rank], &want = moved[call][rank];
        for (std::size_t at = 0; at < want.size(); at += bytes) {
          if (std::equal(&want[at], &want[at] + bytes, &got[at])) continue;
          ++found.wrong;
          if (!found.first.empty()) continue;
          const std::int64_t i = static_cast<std::int64_t>(at) / bytes;
          found.first_wrong = {static_cast<int>(call), rank, i};
          found.first =
              fmt::format("call {} rank {} element {} of {}: got {} want {}", call, rank, i,
                          want.size() / bytes, describe_code(element_, code_in(got, i)),
                          describe_code(element_, code_in(want, i)));
        }
      }
    }
    return found.wrong;
  }

 private:
  std::uint64_t code_in(const std::vector<std::byte>& codes, std::int64_t i) const {
    const int bytes = element_.bytes();
    std::uint64_t code = 0;
    for (int b = 0; b < bytes; ++b) {
      code |= std::to_integer<std::uint64_t>(codes[i * bytes + b]) << (8 * b);
    }
    return code;
  }
  std::uint32_t code(int call, int rank, std::int64_t i) const {
    return static_cast<std::uint32_t>(code_in(seen_.outputs[call][rank], i));
  }
  bool same(std::uint64_t a, std::uint64_t b) const {
    const std::uint64_t magnitude = ~model::format(element_).sign_mask();
    return same_code(element_, a, b) || ((a | b) & magnitude) == 0;
  }
  std::uint32_t exact_code(const Allowance& allowed) const {
    return allowed.sum.code(element_, model::kAsFormat, allowed.divisor);
  }

  void measure(const Allowance& allowed, std::uint32_t got, Finding& found) const {
    const float x = reference::decode(element_, got);
    const double error = allowed.error(x);
    if (!std::isfinite(error)) return;
    found.max_abs_err = std::max(found.max_abs_err, error);
    if (allowed.code || allowed.bound == 0) return;
    found.max_over_bound = std::max(found.max_over_bound, error / allowed.bound);
  }

  std::string wanted(const Allowance& allowed) const {
    if (allowed.code) return "want " + describe_code(element_, *allowed.code);
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : " or ") + what; };
    if (allowed.finite) add(fmt::format("within {:.3g} of {}", allowed.bound, allowed.exact()));
    if (allowed.plus_infinity) add("infinity");
    if (allowed.minus_infinity) add("-infinity");
    if (allowed.nan) add("NaN");
    return "want a result " + text;
  }

  /// [rank]: what combining the terms from that rank up, and round, gives.
  std::vector<std::vector<std::byte>> folds_from_each_rank(const AnyOrder& order) const {
    reference::RankBuffers terms = order.terms();
    const int ranks = static_cast<int>(terms.size());
    const model::Builder* flat = model::find_builder(Collective::all_reduce, "flat");
    const model::Schedule schedule =
        flat->build({ranks, order.size(), 1, false, order.arithmetic()});
    std::vector<std::vector<std::byte>> folds;
    for (int rank = 0; rank < ranks; ++rank) {
      folds.push_back(std::move(reference::run(schedule, terms)[0]));
      std::rotate(terms.begin(), terms.begin() + 1, terms.end());
    }
    return folds;
  }

  const Case& c_;
  const model::ElementType element_;
  const Observation& seen_;
};

/// Compares the results of all calls with every reading of the operation, and goes by the one that
/// fits best in each call. Says in the judgement what they match.
Finding compare_reduced(const Case& c, const std::vector<reference::RankBuffers>& inputs,
                        const Comparison& comparison, Judgement& judgement) {
  const std::vector<Reading> all = readings(c.arithmetic.op);
  const bool has_order = c.arithmetic.op != Op::min && c.arithmetic.op != Op::max;
  std::vector<std::string> matches;
  if (all.size() > 1) {
    for (const Reading reading : all) matches.emplace_back(name(reading));
  }
  if (has_order) matches.insert(matches.end(), {"ascending", "ring", "exact"});
  Finding whole;
  for (std::size_t call = 0; call < inputs.size(); ++call) {
    const auto of_call = reductions(c, static_cast<int>(call), inputs[call]);
    std::optional<Finding> best;
    Reading best_reading = all[0];
    for (const Reading reading : all) {
      Finding found;
      for (const Reduction& one : of_call) {
        comparison.compare(one, AnyOrder(c.arithmetic, reading, one.terms), found);
      }
      if (found.wrong > 0) std::erase(matches, name(reading));
      if (best && best->wrong <= found.wrong) continue;
      best = found;
      best_reading = reading;
    }
    if (has_order) {
      for (const Reduction& one : of_call) {
        comparison.compare_orders(one, AnyOrder(c.arithmetic, best_reading, one.terms), matches);
      }
    }
    whole.wrong += best->wrong;
    whole.is_exact = whole.is_exact && best->is_exact;
    whole.max_abs_err = std::max(whole.max_abs_err, best->max_abs_err);
    whole.max_over_bound = std::max(whole.max_over_bound, best->max_over_bound);
    if (whole.first.empty() && !best->first.empty()) {
      whole.first = best->first;
      whole.first_wrong = best->first_wrong;
    }
  }
  judgement.matches = matches;
  return whole;
}

}  // namespace

Judgement judge_any_order(const Case& c, const std::vector<reference::RankBuffers>& inputs,
                          const std::vector<reference::RankBuffers>& moved,
                          const Observation& seen) {
  return judge(c, seen, [&](Judgement& judgement) {
    const Comparison comparison(c, seen);
    Finding found;
    if (reduces(c.collective)) {
      found = compare_reduced(c, inputs, comparison, judgement);
    } else {
      comparison.compare_moved(moved, found);
    }
    judgement.wrong = found.wrong;
    judgement.first_wrong = found.first_wrong;
    judgement.max_abs_err = found.max_abs_err;
    judgement.is_exact = found.is_exact;
    if (!found.is_exact) judgement.max_err_over_bound = found.max_over_bound;
    return found.first;
  });
}

}  // namespace tally::verify
