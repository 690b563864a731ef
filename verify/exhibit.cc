#include "verify/exhibit.h"

#include <mutex>

#include "verify/in_order.h"
#include "verify/trial.h"

namespace tally::verify {
namespace {

ExhibitResult::Verdict verdict_of(const Exhibit& exhibit, const Detection& detection) {
  const bool is_caught = detection.caught_by != Detector::none;
  const bool was_run = detection.interleavings > 0;
  if (exhibit.kind == kHealthy && was_run) {
    return is_caught ? ExhibitResult::Verdict::accused : ExhibitResult::Verdict::clean;
  }
  if (is_caught) return ExhibitResult::Verdict::caught;
  return exhibit.proof.empty() || !was_run ? ExhibitResult::Verdict::missed
                                           : ExhibitResult::Verdict::redundant;
}

}  // namespace

std::string_view name(ExhibitResult::Verdict verdict) {
  constexpr std::string_view kNames[] = {"caught", "missed", "clean", "accused", "redundant"};
  return kNames[static_cast<int>(verdict)];
}

Detection detect(const Case& c, const Subject& subject) {
  Detection found;
  if (const auto why = subject.cannot_run(c)) {
    found.reason = *why;
    return found;
  }
  Trial(c, subject).search(0, c.interleavings, [&](int, const Trial::Outcome& outcome) {
    ++found.interleavings;
    found.caught_by = outcome.judgement.caught_by;
    found.reason = outcome.judgement.reason;
    return outcome.fails();
  });
  return found;
}

std::string kernel_label(const model::Builder& kernel) {
  const bool is_named = kernel.collective == model::Collective::all_reduce;
  return std::string(is_named ? kernel.algorithm : model::name(kernel.collective));
}

void show(const std::vector<Exhibit>& exhibits,
          const std::function<void(const ExhibitResult&)>& on_result) {
  std::mutex mutex;
  std::size_t next = 0;
  InOrder<ExhibitResult> finished;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (next < exhibits.size()) {
      const std::size_t number = next++;
      lock.unlock();
      ExhibitResult result;
      result.exhibit = &exhibits[number];
      result.detection = exhibits[number].search();
      result.verdict = verdict_of(exhibits[number], result.detection);
      lock.lock();
      finished.put(number, std::move(result), on_result);
    }
  };
  on_all_cores(work);
}

}  // namespace tally::verify
