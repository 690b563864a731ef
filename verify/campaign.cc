#include "verify/campaign.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "verify/in_order.h"

namespace tally::verify {
namespace {

/// FNV-1a over the codes, with every NaN as one.
std::uint64_t fingerprint(const Case& c, const std::vector<reference::RankBuffers>& outputs) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  if (c.arithmetic.element.moves_only()) return hash;  // there is one algorithm only
  const model::NumberFormat& format = model::format(c.arithmetic.element);
  for (const reference::RankBuffers& call : outputs) {
    const std::vector<std::byte>& codes = call[0];
    for (std::size_t i = 0; i + format.bytes() <= codes.size(); i += format.bytes()) {
      std::uint32_t code = 0;
      for (int b = 0; b < format.bytes(); ++b) {
        code |= std::to_integer<std::uint32_t>(codes[i + b]) << (8 * b);
      }
      hash = (hash ^ (format.is_nan(code) ? format.nan_code() : code)) * 0x100'0000'01B3;
    }
  }
  return hash;
}

std::string key_without_algorithm(Case c) {
  c.algorithm = "any";
  return c.text();
}

/// What is gathered from the results in order: the sums, and what two cases say together.
class Collector {
 public:
  explicit Collector(const std::function<void(const CaseResult&)>& on_result)
      : on_result_(on_result) {}

  void take(CaseResult result) {
    compare_algorithms(result);
    count(result);
    on_result_(result);
  }

  Summary finish(const Subject& subject, double seconds) {
    summary_.description = subject.description();
    summary_.seconds = seconds;
    for (const auto& [name, found] : substance_) {
      if (is_idle(found)) summary_.idle_inputs.push_back(name);
    }
    return summary_;
  }

 private:
  void compare_algorithms(CaseResult& result) {
    const std::string& algorithm = result.c.algorithm;
    const bool is_dda = algorithm == "flat" || algorithm == "flat_ll" || algorithm == "tree";
    if (!is_dda || !result.c.arithmetic.wire.is_none()) return;
    if (result.judgement.verdict != Verdict::ok) return;
    const auto [other, is_first] = fingerprints_.try_emplace(
        key_without_algorithm(result.c), std::pair(result.c.algorithm, result.fingerprint));
    if (is_first || other->second.second == result.fingerprint) return;
    result.judgement.verdict = Verdict::mismatch;
    result.judgement.caught_by = Detector::identity;
    result.judgement.reason = "without a wire " + other->second.first + " gave other bits";
  }

  void count(const CaseResult& result) {
    ++summary_.cases;
    summary_.ok += result.judgement.verdict == Verdict::ok;
    summary_.mismatch += result.judgement.verdict == Verdict::mismatch;
    summary_.hang += result.judgement.verdict == Verdict::hang;
    summary_.skipped += result.judgement.verdict == Verdict::skipped;
    summary_.interleavings += result.interleavings;
    summary_.elements += result.elements;
    const reference::InputKind kind = result.c.input.kind;
    if (kind == reference::InputKind::order_free || kind == reference::InputKind::normal) {
      substance_[result.c.input.name].substantial += result.substance.substantial;
      substance_[result.c.input.name].elements += result.substance.elements;
    }
  }

  const std::function<void(const CaseResult&)>& on_result_;
  std::map<std::string, std::pair<std::string, std::uint64_t>> fingerprints_;
  std::map<std::string, Substance> substance_;
  Summary summary_;
};

/// Some of the interleavings of one case.
struct Chunk {
  std::size_t number = 0;  // among all chunks of the campaign
  std::size_t of_case = 0;
  int first = 0, end = 0;
};

/// Hands out chunks, case after case, and none of a case of which one has failed: what comes later
/// in it does not matter any more.
class Chunks {
 public:
  explicit Chunks(const std::vector<Case>& cases) : cases_(cases) {}

  std::optional<Chunk> next() {
    if (next_.of_case == cases_.size()) return std::nullopt;
    constexpr int kMost = 128;  // each draws the inputs and runs interleaving 0 again
    const int all = cases_[next_.of_case].interleavings;
    next_.end = std::min(all, next_.first + kMost);
    const Chunk chunk = next_;
    ++next_.number;
    next_.first = next_.end;
    if (next_.end == all) next_case();
    return chunk;
  }
  void failed(std::size_t of_case) {
    if (next_.of_case == of_case) next_case();
  }

 private:
  void next_case() { ++next_.of_case, next_.first = 0; }

  const std::vector<Case>& cases_;
  Chunk next_;
};

/// What the interleavings of a chunk gave, up to the first that failed.
CaseResult run_chunk(const Case& c, const Subject& subject, int first, int end) {
  CaseResult result;
  result.c = c;
  if (auto why = subject.cannot_run(c)) {
    result.judgement.verdict = Verdict::skipped;
    result.judgement.reason = *why;
    return result;
  }
  const Trial trial(c, subject);
  result.substance = trial.substance();
  trial.search(first, end, [&](int, const Trial::Outcome& outcome) {
    result.judgement = outcome.judgement;
    result.fingerprint = fingerprint(c, outcome.seen.outputs);
    ++result.interleavings;
    if (!outcome.fails() && c.script && outcome.seen.script != *c.script) {
      result.judgement.verdict = Verdict::skipped;
      result.judgement.reason = "the schedule has choices that this build does not make";
    }
    return outcome.fails();
  });
  result.elements = result.interleavings * trial.elements();
  return result;
}

/// Puts the chunks of a case together; they come in order. Shrinking the first failures here, by
/// one thread at a time, makes them the first in every run.
class Assembler {
 public:
  Assembler(Collector& collector, const Subject& subject)
      : collector_(collector), subject_(subject) {}

  void take(const Chunk& chunk, CaseResult result) {
    if (chunk.first > 0) {
      if (is_complete_) return;  // an earlier one failed
      result.interleavings += whole_.interleavings;
      result.elements += whole_.elements;
    }
    whole_ = std::move(result);
    is_complete_ = has_failed(whole_) || chunk.end == whole_.c.interleavings;
    if (!is_complete_) return;
    if (shrunk_ < kMostShrunk && shrink_failure(whole_, subject_)) ++shrunk_;
    collector_.take(whole_);
  }

  static bool has_failed(const CaseResult& result) {
    return result.judgement.verdict != Verdict::ok;
  }
  /// Whether it did: where it failed, and the order of the threads may be the reason.
  static bool shrink_failure(CaseResult& result, const Subject& subject) {
    const bool was_run = result.judgement.verdict != Verdict::skipped;
    if (!has_failed(result) || !was_run || !finds_races(result.c)) return false;
    result.shrunk = shrink(result.c, result.interleavings - 1, subject);
    return true;
  }

 private:
  static constexpr int kMostShrunk = 3;
  Collector& collector_;
  const Subject& subject_;
  CaseResult whole_;
  bool is_complete_ = false;
  int shrunk_ = 0;
};

}  // namespace

CaseResult run_case(const Case& c, const Subject& subject) {
  CaseResult result = run_chunk(c, subject, 0, c.interleavings);
  Assembler::shrink_failure(result, subject);
  return result;
}

Summary run_campaign(const std::vector<Case>& cases, const Subject& subject,
                     const std::function<void(const CaseResult&)>& on_result,
                     const std::function<double()>& now) {
  const double start = now();
  Collector collector(on_result);
  Assembler assembler(collector, subject);
  Chunks chunks(cases);
  std::mutex mutex;
  InOrder<std::pair<Chunk, CaseResult>> finished;

  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (const auto chunk = chunks.next()) {
      lock.unlock();
      CaseResult result = run_chunk(cases[chunk->of_case], subject, chunk->first, chunk->end);
      lock.lock();
      if (Assembler::has_failed(result)) chunks.failed(chunk->of_case);
      finished.put(chunk->number, {*chunk, std::move(result)},
                   [&](auto next) { assembler.take(next.first, std::move(next.second)); });
    }
  };
  on_all_cores(work);
  return collector.finish(subject, now() - start);
}

}  // namespace tally::verify
