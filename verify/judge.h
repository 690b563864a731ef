#pragma once

// Compares what a subject left behind with what the reference says.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reference/run.h"
#include "verify/case.h"
#include "verify/subject.h"

namespace tally::verify {

enum class Verdict : std::uint8_t { ok, mismatch, hang, skipped };
std::string_view name(Verdict verdict);

/// What saw that a case is wrong, the first of these that did: something waits for ever; accesses
/// are not ordered; outputs have other bits; memory was touched that must not be; ranks hold
/// different bits.
enum class Detector : std::uint8_t { none, hang, race, value, bounds, identity };
std::string_view name(Detector detector);

struct Judgement {
  Verdict verdict = Verdict::ok;
  Detector caught_by = Detector::none;
  std::string reason;  // what is wrong, in sentences; empty when ok
  std::optional<Element> first_wrong;
  std::int64_t wrong = 0;  // elements whose bits differ, over all ranks and calls
  double max_abs_err = 0;  // largest |got - want| of those that are both finite
  /// Whether every element could have one value only; else some had to be within a bound.
  bool is_exact = true;
  std::optional<double> max_err_over_bound;  // where there were bounds
  std::vector<std::string> matches;          // orders and readings: bound_judge.h
};

/// Whether two codes of a format are the same result: equal bits, or both NaN.
bool same_code(model::Format format, std::uint32_t a, std::uint32_t b);

/// "0x7e = 0'1111'110 = 448": the code, its fields and its value.
std::string describe_code(model::Format format, std::uint32_t code);

/// What every judge looks at: hangs; faults of order; values, as `compare` notes them in the
/// judgement and names the first that is wrong; everything in `seen.broken`; equal bits on all
/// ranks. After a hang waits give up, and nothing is in order any more: faults of order are then
/// not looked at.
Judgement judge(const Case& c, const Observation& seen,
                const std::function<std::string(Judgement&)>& compare);

/// The exact judge: bit equality of every output element on every rank and call, and all that
/// judge() looks at. `wanted`: [call][rank].
Judgement judge_exact(const Case& c, const std::vector<reference::RankBuffers>& wanted,
                      const Observation& seen);

/// How many of the wanted elements are finite and not zero, and how many there are: inputs that
/// give little else than zeros and NaN test nothing.
struct Substance {
  std::int64_t substantial = 0, elements = 0;
};
Substance substance(const Case& c, const std::vector<reference::RankBuffers>& wanted);
/// Whether more than a tenth of the elements are zero or not finite.
inline bool is_idle(const Substance& found) { return found.substantial * 10 < found.elements * 9; }

}  // namespace tally::verify
