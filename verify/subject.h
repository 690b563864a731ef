#pragma once

// What is verified: something that runs a case's calls and shows what it left behind.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/hardware/gpu_runtime.h"
#include "reference/run.h"
#include "verify/case.h"
#include "verify/interleaving.h"
#include "verify/order_fault.h"

namespace tally::verify {

/// The byte that outputs hold before a call. As an element it is an ordinary number, so that an
/// output that was never written is not mistaken for the NaN that was due.
inline constexpr std::byte kPoison{0x5A};

/// What one run of a case left behind.
struct Observation {
  std::vector<reference::RankBuffers> outputs;  // [call][rank]
  std::vector<std::string> hang;                // who waits for whom; empty when all finished
  std::vector<OrderFault> order_faults;         // where finds_races(case)
  std::vector<std::string> broken;  // guard zones, bounds, inputs that changed: as sentences
  std::vector<Deviation> script;    // with it, the case runs so again
  std::int64_t choices = 0;         // that were made
  std::string chart;                // where one was asked for, and there is something to show
};

/// An output element.
struct Element {
  int call = 0, rank = 0;
  std::int64_t number = 0;
};

/// One run of a case.
struct Run {
  Interleaving interleaving;
  bool draws_chart = false;
  std::string lines = {};             // of the order fault that matters, where there are several
  std::optional<Element> wrong = {};  // what the chart is about, where nothing else is
};

class Subject {
 public:
  virtual ~Subject() = default;
  /// Why this subject cannot run the case; nothing where it can.
  virtual std::optional<std::string> cannot_run(const Case& c) const = 0;
  /// Whether it combines ranks in the order of Case::schedule, bit for bit. Where not, results are
  /// judged by what any order allows.
  virtual bool fixes_order() const { return true; }
  /// What the cases ran on, with versions, where that is not this program alone:
  /// "NVIDIA H200 x 2, cuda driver 13000, runtime 13000". Printable, on one line.
  virtual std::string description() const { return ""; }
  /// Runs the calls in a row. inputs: [call][rank]. Safe to call from several threads.
  virtual Observation run(const Case& c, const std::vector<reference::RankBuffers>& inputs,
                          const Run& how) const = 0;
};

/// Subject::description() of these of the runtime's devices.
std::string description(const kernels::hardware::GpuRuntime& runtime,
                        const std::vector<int>& devices);

/// The emulator, on another machine or with a mutation where `base` says so; memory, races and the
/// log are the case's.
std::unique_ptr<Subject> emulator_subject(const kernels::emulator::Settings& base = {});

/// What subjects may run on beside the host: the GPUs of a runtime, null for none; of those the
/// ones that are named, or all.
struct Hardware {
  kernels::hardware::GpuRuntime* gpu = nullptr;
  std::vector<int> devices = {};
};

/// A subject that is known; where it is null, why it is not available here.
struct FoundSubject {
  std::shared_ptr<Subject> subject;
  std::string unavailable;
};
/// An error where there is no such name.
model::Result<FoundSubject> find_subject(std::string_view name, const Hardware& hardware);
/// Every name that --subject knows.
std::vector<std::string> subject_names();

}  // namespace tally::verify
