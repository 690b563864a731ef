#include "verify/shrink.h"

#include <algorithm>
#include <set>

namespace tally::verify {
namespace {

/// Smaller numbers than `n`, the smallest first.
std::vector<int> smaller_numbers(int n) {
  std::vector<int> numbers;
  for (const int candidate : {1, 2, 3, 4, 8, 16, n / 2, n - 1}) {
    const bool is_new = numbers.empty() || candidate > numbers.back();
    if (candidate < n && candidate >= 1 && is_new) numbers.push_back(candidate);
  }
  return numbers;
}

void clamp_counts(Case& c, std::int64_t most) {
  for (std::int64_t& count : c.counts) count = std::min(count, most);
}

/// The smallest cases that are worth a try: most faults show in one of them.
void add_smallest(const Case& c, std::vector<Case>& all) {
  for (const std::size_t calls : {1, 2}) {
    for (const int threads : {1, 2}) {
      Case smallest = c;
      smallest.ranks = std::min(c.ranks, 2);
      smallest.launch.blocks = 1;
      smallest.launch.threads = std::min(c.launch.threads, threads);
      smallest.counts.resize(std::min(c.counts.size(), calls));
      clamp_counts(smallest, 1);
      all.push_back(smallest);
    }
  }
}

void add_fewer_calls(const Case& c, std::vector<Case>& all) {
  if (c.counts.size() < 2) return;
  for (const std::int64_t only : c.counts) {
    all.push_back(c);
    all.back().counts = {only};
  }
  for (std::size_t call = 0; call < c.counts.size(); ++call) {
    all.push_back(c);
    all.back().counts.erase(all.back().counts.begin() + static_cast<std::ptrdiff_t>(call));
  }
}

void add_smaller_counts(const Case& c, std::vector<Case>& all) {
  const std::int64_t largest = *std::max_element(c.counts.begin(), c.counts.end());
  for (std::int64_t most = 1; most < largest; most *= 2) {
    all.push_back(c);
    clamp_counts(all.back(), most);
  }
  for (std::size_t call = 0; call < c.counts.size(); ++call) {
    for (const std::int64_t count : {0, 1}) {
      all.push_back(c);
      all.back().counts[call] = std::min(c.counts[call], count);
    }
  }
}

/// Smaller cases in the order in which they are tried; some may be the case itself.
std::vector<Case> smaller_cases(const Case& c) {
  std::vector<Case> all;
  add_smallest(c, all);
  for (const int ranks : smaller_numbers(c.ranks)) {
    all.push_back(c);
    all.back().ranks = ranks;
  }
  for (const int blocks : smaller_numbers(c.launch.blocks)) {
    all.push_back(c);
    all.back().launch.blocks = blocks;
  }
  for (const int threads : smaller_numbers(c.launch.threads)) {
    all.push_back(c);
    all.back().launch.threads = threads;
  }
  add_fewer_calls(c, all);
  add_smaller_counts(c, all);
  all.push_back(c);
  all.back().placement = Placement::out_of_place;
  std::erase_if(all, [](const Case& smaller) { return validate(smaller).has_value(); });
  return all;
}

class Shrinker {
 public:
  Shrinker(const Subject& subject, const ShrinkLimits& limits)
      : subject_(subject), limits_(limits), left_(limits.choices) {}

  /// The failure as it is, with a script.
  std::optional<Shrunk> replayed(Case c, int failing) {
    if (!c.script) c.script = script_of(c, failing);
    c.interleavings = 1;
    const auto outcome = Trial(c, subject_).run({});
    if (!outcome.fails()) return std::nullopt;
    caught_by_ = outcome.judgement.caught_by;
    if (caught_by_ == Detector::race) lines_ = outcome.seen.order_faults[0].lines;
    return draw(c);
  }

  void reduce(Shrunk& shrunk) {
    best_ = shrunk.c;
    while (reduce_case()) {
    }
    reduce_script();
    if (const auto drawn = draw(best_)) shrunk = *drawn;
  }

 private:
  std::vector<Deviation> script_of(const Case& c, int failing) const {
    std::vector<Deviation> script;
    Trial(c, subject_).search(failing, failing + 1, [&](int, const Trial::Outcome& outcome) {
      script = outcome.seen.script;
      return true;
    });
    return script;
  }

  bool fails_alike(const Trial::Outcome& outcome) const {
    if (outcome.judgement.caught_by != caught_by_) return false;
    const auto& faults = outcome.seen.order_faults;
    return caught_by_ != Detector::race ||
           std::any_of(faults.begin(), faults.end(),
                       [&](const OrderFault& fault) { return fault.lines == lines_; });
  }

  /// Whether the outcome is what is looked for; counts what it cost.
  bool found(const Trial::Outcome& outcome) {
    constexpr std::int64_t kRun = 200;  // what a run costs beside its choices
    left_ -= outcome.seen.choices + kRun;
    return fails_alike(outcome);
  }

  /// One of the smaller cases that still fails alike becomes the best; false where none does.
  bool reduce_case() {
    for (const Case& candidate : smaller_cases(best_)) {
      if (left_ <= 0) return false;
      if (try_case(candidate)) return true;
    }
    return false;
  }

  bool try_case(Case candidate) {
    candidate.script.emplace();  // the usual order first
    if (!tried_.insert(candidate.text()).second) return false;
    if (validate(candidate) || subject_.cannot_run(candidate)) return false;
    if (try_script(candidate)) return true;
    Case drawn = candidate;
    drawn.script.reset();
    drawn.interleavings = limits_.interleavings;
    bool fails = false;
    Trial(drawn, subject_)
        .search(0, limits_.interleavings, [&](int, const Trial::Outcome& outcome) {
          fails = found(outcome);
          if (fails) candidate.script = outcome.seen.script;
          return fails || left_ <= 0;
        });
    if (fails) best_ = std::move(candidate);
    return fails;
  }

  /// With the script as it is; of its deviations those that were followed are kept.
  bool try_script(const Case& candidate) {
    const Trial::Outcome outcome = Trial(candidate, subject_).run({});
    if (!found(outcome)) return false;
    best_ = candidate;
    best_.script = outcome.seen.script;
    return true;
  }

  /// Leaves out longer, then shorter parts, until no single deviation can be left out.
  void reduce_script() {
    std::size_t part = std::max<std::size_t>(1, best_.script->size());
    for (bool is_shorter = true; is_shorter || part > 1;) {
      is_shorter = false;
      for (std::size_t begin = 0; begin < best_.script->size() && left_ > 0;) {
        Case candidate = best_;
        auto& script = *candidate.script;
        const auto first = script.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::size_t length = std::min(part, script.size() - begin);
        script.erase(first, first + static_cast<std::ptrdiff_t>(length));
        if (try_script(candidate)) {
          is_shorter = true;
        } else {
          begin += part;
        }
      }
      part = part > 1 ? (part + 1) / 2 : 1;
    }
  }

  std::optional<Shrunk> draw(const Case& c) const {
    const Trial trial(c, subject_);
    const auto wrong = trial.run({}).judgement.first_wrong;
    const Trial::Outcome outcome =
        trial.run({.interleaving = {}, .draws_chart = true, .lines = lines_, .wrong = wrong});
    if (!fails_alike(outcome)) return std::nullopt;
    return Shrunk{c, outcome.judgement, outcome.seen.chart};
  }

  const Subject& subject_;
  const ShrinkLimits limits_;
  std::int64_t left_;
  Detector caught_by_ = Detector::none;
  std::string lines_;  // of the order fault that is looked for
  Case best_;
  std::set<std::string> tried_;
};

}  // namespace

std::optional<Shrunk> shrink(const Case& c, int failing, const Subject& subject,
                             const ShrinkLimits& limits) {
  Shrinker shrinker(subject, limits);
  auto shrunk = shrinker.replayed(c, failing);
  if (shrunk && !c.script) shrinker.reduce(*shrunk);
  return shrunk;
}

}  // namespace tally::verify
