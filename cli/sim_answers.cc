#include "cli/sim_answers.h"

#include <iostream>

#include "cli/complain.h"
#include "cli/output_files.h"
#include "cli/sim_inference.h"

namespace tally::cli {
namespace {

template <class T>
std::vector<T> or_default(const std::vector<T>& typed, T value) {
  return typed.empty() ? std::vector<T>{value} : typed;
}

sim::Question question_about(const sim::Scenario& scenario, const InferenceOptions& inference) {
  sim::Question q;
  q.model = inference.model;
  q.machine = scenario.machine;
  q.nodes = scenario.nodes;
  q.phase =
      inference.phase == "prefill" ? sim::InferencePhase::prefill : sim::InferencePhase::decode;
  q.dtype = scenario.dtype;
  q.library = scenario.library;
  q.version = scenario.version;
  q.algorithm = scenario.algorithm;
  q.wire = scenario.wire;
  q.launch = scenario.launch;
  return q;
}

std::vector<sim::Question> questions(const SimOptions& options) {
  std::vector<sim::Question> all;
  for (const sim::Scenario& scenario : options.scenarios) {
    for (const int tp : or_default(options.inference.tensor_parallel, 8)) {
      for (const int batch : or_default(options.inference.batch, 1)) {
        for (const int context : or_default(options.inference.context, 2048)) {
          sim::Question q = question_about(scenario, options.inference);
          q.tp = tp, q.batch = batch, q.context = context;
          all.push_back(q);
        }
      }
    }
  }
  return all;
}

}  // namespace

int sim_inference(const SimOptions& options) {
  OutputFiles files;
  const auto json = files.open_or_stdout(options.json), csv = files.open_or_stdout(options.csv);
  if (!json) return complain(json.error());
  if (!csv) return complain(csv.error());
  bool is_first = true;
  for (const sim::Question& question : questions(options)) {
    const auto answer = sim::infer(question);
    if (!answer) return complain(answer.error());
    if (*json != nullptr) inference_json(**json, question, *answer);
    if (*csv != nullptr) inference_csv(**csv, question, *answer, is_first);
    if (options.table_on_stdout()) inference_table(std::cout, question, *answer);
    is_first = false;
  }
  if (const auto error = files.finish()) return complain(*error);
  return kHeld;
}

int sim_claims(const SimOptions& options) {
  OutputFiles files;
  const auto json = files.open_or_stdout(options.json), csv = files.open_or_stdout(options.csv);
  if (!json) return complain(json.error());
  if (!csv) return complain(csv.error());
  const auto claims = sim::claims();
  if (!claims) return complain(claims.error());
  if (*json != nullptr) claims_json(**json, *claims);
  if (*csv != nullptr) claims_csv(**csv, *claims);
  if (options.table_on_stdout()) claims_table(std::cout, *claims);
  if (const auto error = files.finish()) return complain(*error);
  return kHeld;
}

}  // namespace tally::cli
