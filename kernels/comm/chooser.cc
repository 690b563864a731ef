#include "kernels/comm/chooser.h"

#include <algorithm>
#include <limits>

#include "model/builders.h"

namespace tally::comm {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kLowLatency = "flat_ll";

model::Error no_kernel(const Request& request, std::string why, std::string hint) {
  return {std::string(model::name(request.collective)), std::move(why), std::move(hint)};
}

/// What is wrong with a request in any algorithm; nothing where all is well.
std::optional<model::Error> cannot_reduce(const Request& request) {
  if (model::only_moves(request.collective) || !request.dtype.moves_only()) return std::nullopt;
  return no_kernel(request, std::string(request.dtype.name()) + " is not reduced here",
                   "f32, f16 and bf16 are; other types move, by all_gather and all_to_all");
}

class TableChooser : public Chooser {
 public:
  TableChooser(std::vector<AlgorithmRow> table, const model::Wire& wire,
               model::Accumulate accumulate)
      : table_(std::move(table)), wire_(wire), accumulate_(accumulate) {}

  model::Result<Execution> choose(const Request& request, int ranks) const override {
    if (const auto wrong = cannot_reduce(request)) return *wrong;
    const model::Arithmetic arithmetic = arithmetic_of(request);
    const std::int64_t bytes =
        message_bytes(request.collective, request.dtype, ranks, request.count);
    std::optional<model::Error> why_not;
    for (const AlgorithmRow& row : table_) {
      if (row.collective != request.collective || bytes > row.most_bytes) continue;
      why_not = model::disallowed(row.collective, row.algorithm, arithmetic);
      if (!why_not && !model::find_builder(row.collective, row.algorithm)) {
        why_not = model::Error{"", "there is no algorithm '" + row.algorithm + "'", ""};
      }
      if (!why_not) return Execution{row.algorithm, arithmetic, row.grid};
    }
    return no_kernel(request,
                     "no algorithm is given for " + std::to_string(bytes) + " bytes" +
                         (why_not ? ": " + why_not->what : ""),
                     "Options::algorithms");
  }

  Settings settings() const override {
    Settings lines = {"wire=" + wire_.name(),
                      "accumulate=" + std::string(model::name(accumulate_))};
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const AlgorithmRow& row = table_[i];
      const auto [blocks, threads, rounds] = row.grid;
      lines.push_back(
          "algorithms[" + std::to_string(i) + "]=" + std::string(model::name(row.collective)) +
          " up to " + std::to_string(row.most_bytes) + ' ' + row.algorithm + ' ' +
          std::to_string(blocks) + 'x' + std::to_string(threads) + 'x' + std::to_string(rounds));
    }
    return lines;
  }

  std::int64_t low_latency_bytes() const override {
    std::int64_t most = 0;
    for (const AlgorithmRow& row : table_) {
      if (row.algorithm == kLowLatency) most = std::max(most, row.most_bytes);
    }
    return most;
  }

 private:
  model::Arithmetic arithmetic_of(const Request& request) const {
    model::Arithmetic arithmetic;
    arithmetic.element = request.dtype;
    arithmetic.op = request.op;
    arithmetic.factor = request.factor;
    const bool travels_encoded = !request.dtype.moves_only() && model::allows_wire(request.op);
    if (travels_encoded) arithmetic.wire = wire_;
    const bool only_moves = model::only_moves(request.collective);
    const bool in_f32 = only_moves ? false : accumulate_ == model::Accumulate::f32;
    if (in_f32 || !arithmetic.wire.is_none()) arithmetic.accumulate = model::Accumulate::f32;
    return arithmetic;
  }

  const std::vector<AlgorithmRow> table_;
  const model::Wire wire_;
  const model::Accumulate accumulate_;
};

class RcclxChooser : public Chooser {
 public:
  explicit RcclxChooser(const model::rcclx::Switches& switches) : switches_(switches) {}

  model::Result<Execution> choose(const Request& request, int ranks) const override {
    if (const auto wrong = cannot_reduce(request)) return *wrong;
    model::rcclx::Call call{request.collective, request.count, request.dtype, request.op, ranks};
    const auto path = model::rcclx::choose(call, switches_).path;
    const auto how = model::rcclx::execution(call, path, switches_.arch);
    Execution execution{std::string(how.algorithm), how.arithmetic};
    execution.arithmetic.factor = request.factor;
    return execution;
  }

  Settings settings() const override {
    Settings lines = {"arch=" + std::string(model::rcclx::name(switches_.arch)),
                      "build=" + std::string(model::rcclx::name(switches_.flavour))};
    for (const auto& variable : model::rcclx::variables()) {
      lines.push_back(std::string(variable.name) + '=' + std::to_string(switches_[variable.id]));
    }
    return lines;
  }
  std::int64_t low_latency_bytes() const override { return 0; }

 private:
  const model::rcclx::Switches switches_;
};

}  // namespace

std::vector<AlgorithmRow> default_algorithms() {
  using model::Collective;
  return {
      {Collective::all_reduce, 32 << 10, "flat_ll"}, {Collective::all_reduce, 200 << 10, "flat"},
      {Collective::all_reduce, kAll, "tree"},        {Collective::reduce_scatter, kAll, "flat"},
      {Collective::all_gather, kAll, "flat"},        {Collective::all_to_all, kAll, "flat"},
      {Collective::all_to_all_v, kAll, "flat"}};
}

std::unique_ptr<Chooser> choose_by_table(std::vector<AlgorithmRow> table, const model::Wire& wire,
                                         model::Accumulate accumulate) {
  return std::make_unique<TableChooser>(std::move(table), wire, accumulate);
}

std::unique_ptr<Chooser> choose_as_rcclx(const model::rcclx::Switches& switches) {
  return std::make_unique<RcclxChooser>(switches);
}

std::int64_t message_bytes(model::Collective collective, model::ElementType dtype, int ranks,
                           std::int64_t count) {
  return dtype.bytes() * std::max(model::input_elements(collective, ranks, count),
                                  model::output_elements(collective, ranks, count));
}

}  // namespace tally::comm
