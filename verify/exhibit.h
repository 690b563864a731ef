#pragma once

// What `tally faults` shows: faults that must be caught, and healthy kernels that must not be
// accused.

#include <functional>
#include <string>
#include <vector>

#include "model/builders.h"
#include "verify/judge.h"

namespace tally::verify {

/// What a search found.
struct Detection {
  Detector caught_by = Detector::none;
  int interleavings = 0;  // that were run: up to the first that shows it, or all
  std::string reason;     // what was seen; empty where nothing was
  std::string under;      // the machine or compiler that shows it, where the usual ones do not
};

/// The interleavings of a case until one fails.
Detection detect(const Case& c, const Subject& subject);

/// What exhibits call a kernel: "tree", "all_gather". All collectives but all_reduce have one.
std::string kernel_label(const model::Builder& kernel);

/// The kind of a kernel that must not be accused.
inline constexpr std::string_view kHealthy = "healthy";

struct Exhibit {
  std::string name;
  std::string report;  // the public report that the fault stands for, or what the exhibit is
  std::string kind;    // of fault, or kHealthy
  /// Why nothing can be caught, where that is proved: the place of the proof.
  std::string proof;
  std::function<Detection()> search;
};

struct ExhibitResult {
  enum class Verdict : std::uint8_t { caught, missed, clean, accused, redundant };
  const Exhibit* exhibit = nullptr;
  Detection detection;
  Verdict verdict = Verdict::missed;

  bool holds() const { return verdict != Verdict::missed && verdict != Verdict::accused; }
};
std::string_view name(ExhibitResult::Verdict verdict);

/// Searches all of them on all cores, and hands out the results in their order, by one thread at a
/// time.
void show(const std::vector<Exhibit>& exhibits,
          const std::function<void(const ExhibitResult&)>& on_result);

}  // namespace tally::verify
