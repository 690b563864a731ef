#include "verify/campaign.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace tally::verify {
namespace {

/// FNV-1a over the codes, with every NaN as one.
std::uint64_t fingerprint(const Case& c, const std::vector<reference::RankBuffers>& outputs) {
  const model::NumberFormat& format = model::format(c.arithmetic.element);
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
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

  Summary finish(double seconds) {
    summary_.seconds = seconds;
    for (const auto& [name, found] : substance_) {
      if (is_idle(found)) summary_.idle_inputs.push_back(name);
    }
    return summary_;
  }

 private:
  void compare_algorithms(CaseResult& result) {
    const bool is_dda = result.c.algorithm == "flat" || result.c.algorithm == "tree";
    if (!is_dda || !result.c.arithmetic.wire.is_none()) return;
    if (result.judgement.verdict != Verdict::ok) return;
    const auto [other, is_first] = fingerprints_.try_emplace(
        key_without_algorithm(result.c), std::pair(result.c.algorithm, result.fingerprint));
    if (is_first || other->second.second == result.fingerprint) return;
    result.judgement.verdict = Verdict::mismatch;
    result.judgement.reason = "without a wire " + other->second.first + " gave other bits";
  }

  void count(const CaseResult& result) {
    ++summary_.cases;
    summary_.ok += result.judgement.verdict == Verdict::ok;
    summary_.mismatch += result.judgement.verdict == Verdict::mismatch;
    summary_.hang += result.judgement.verdict == Verdict::hang;
    summary_.skipped += result.judgement.verdict == Verdict::skipped;
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

}  // namespace

CaseResult run_case(const Case& c, const Subject& subject) {
  CaseResult result;
  result.c = c;
  if (auto why = subject.cannot_run(c)) {
    result.judgement.verdict = Verdict::skipped;
    result.judgement.reason = *why;
    return result;
  }
  std::vector<reference::RankBuffers> inputs, wanted;
  std::int64_t elements = 0;
  for (std::size_t call = 0; call < c.counts.size(); ++call) {
    auto& of_call = inputs.emplace_back();
    for (int rank = 0; rank < c.ranks; ++rank) {
      of_call.push_back(reference::draw(c.input, c.arithmetic.element,
                                        {c.seed, static_cast<int>(call), rank, c.counts[call]}));
    }
    wanted.push_back(reference::run(c.schedule(c.counts[call]), of_call));
    elements += c.ranks * output_elements(c.collective, c.ranks, c.counts[call]);
  }
  result.substance = substance(c, wanted);
  for (int i = 0; i < c.interleavings && result.judgement.verdict == Verdict::ok; ++i) {
    const Observation seen = subject.run(c, inputs, i);
    result.judgement = judge_exact(c, wanted, seen);
    result.elements += elements;
    result.fingerprint = fingerprint(c, seen.outputs);
  }
  return result;
}

Summary run_campaign(const std::vector<Case>& cases, const Subject& subject,
                     const std::function<void(const CaseResult&)>& on_result,
                     const std::function<double()>& now) {
  const double start = now();
  Collector collector(on_result);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::map<std::size_t, CaseResult> waiting;  // finished, but an earlier case is not
  std::size_t emitted = 0;

  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      CaseResult result = run_case(cases[i], subject);
      const std::lock_guard lock(mutex);
      waiting.emplace(i, std::move(result));
      for (auto first = waiting.begin(); first != waiting.end() && first->first == emitted;
           first = waiting.erase(first), ++emitted) {
        collector.take(std::move(first->second));
      }
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    workers.emplace_back(work);
  }
  workers.clear();  // joins
  return collector.finish(now() - start);
}

}  // namespace tally::verify
