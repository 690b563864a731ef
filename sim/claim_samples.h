#pragma once

// What the settings of claims.h's claims give: each function is one question, put to a world.

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/claims.h"
#include "sim/inference.h"

namespace tally::sim {

/// Asks the world, and keeps the first error; then its answers mean nothing.
class Asker {
 public:
  explicit Asker(const World& world) : world_(world) {}

  std::optional<model::Error> error;

  const model::Machine& machine(const std::string& name) {
    const auto known = machines_.find(name);
    if (known != machines_.end()) return known->second;
    return machines_[name] = value_of(world_.machine(name), model::Machine{});
  }
  Prediction predict(const Scenario& scenario, std::int64_t bytes) {
    return value_of(world_.predict(scenario, bytes), {});
  }
  Answer infer(const Question& question, const Price& price) {
    const model::GpuFacts& gpu = machine(question.machine).gpu;
    if (error) return {};  // of a machine that the world does not have nothing is to be asked
    return value_of(sim::infer(question, gpu, price), {});
  }

 private:
  template <class T>
  T value_of(const model::Result<T>& result, T otherwise) {
    if (result) return *result;
    if (!error) error = result.error();
    return otherwise;
  }
  const World& world_;
  std::map<std::string, model::Machine> machines_;
};

/// How much less or more the new time is, or gets done, in percent of the old.
double percent_less(Picos was, Picos is);
double percent_faster(Picos was, Picos is);

/// RCCL's part of the time of requests.
std::vector<Sample> share_of_all_reduce(Asker& ask);
/// One all-reduce of RCCL and of RCCLX, at sizes where RCCLX takes a DDA path: percent faster.
std::vector<Sample> dda_against_rccl(Asker& ask, InferencePhase phase);
/// A decode step with RCCL and with RCCLX: percent less.
std::vector<Sample> less_time_to_next_token(Asker& ask);
/// Requests whose prefill sends enough for low precision, with RCCLX without and with it.
std::vector<Sample> low_precision_requests(Asker& ask, double (*gain)(Picos was, Picos is));
/// From which size on, in MiB, low precision takes less time than RCCLX without; sizes double to
/// 1 GiB, which stands for never too.
std::vector<Sample> low_precision_from(Asker& ask);

/// G7e over G6e: memory bandwidth, bandwidth from one GPU to another, tokens a second on so many.
std::vector<Sample> memory_ratio(Asker& ask);
std::vector<Sample> link_ratio(Asker& ask);
std::vector<Sample> throughput_ratio(Asker& ask, std::span<const int> gpus);

}  // namespace tally::sim
