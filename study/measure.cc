#include "study/measure.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "model/builders.h"
#include "model/check.h"
#include "reference/convert.h"
#include "reference/error_bound.h"

namespace tally::study {
namespace {

using model::Range;
using reference::ErrorCollector;

std::int64_t calls_of(const Cell& cell) {
  return std::max<std::int64_t>(1, model::ceil_divide(cell.count, kCallElements));
}

bool have_equal_operands(const Cell& a, const Cell& b) {
  return a.input.name == b.input.name && a.arithmetic.element == b.arithmetic.element &&
         a.count == b.count && a.ranks == b.ranks;
}

reference::RankBuffers operands(const Cell& cell, std::uint64_t seed, std::int64_t call) {
  const model::Format element = cell.arithmetic.element;
  const std::int64_t begin = call * kCallElements;
  const std::int64_t length = std::min(kCallElements, cell.count - begin);
  reference::RankBuffers inputs;
  for (int rank = 0; rank < cell.ranks; ++rank) {
    if (cell.input.tensor) {
      std::vector<std::byte>& codes = inputs.emplace_back(length * model::format(element).bytes());
      const auto row = cell.input.tensor->row(rank).subspan(begin, length);
      reference::encode_array(element, model::kAsFormat, row, codes);
    } else {
      inputs.push_back(
          reference::draw(cell.input, element, {seed, static_cast<int>(call), rank, length}));
    }
  }
  return inputs;
}

/// One call of some cells that have the same operands: what a thread does in one go.
struct Item {
  Range cells;
  std::int64_t call;
};

/// Every call of every cell. Cells with the same operands share an item, unless that left threads
/// without one.
std::vector<Item> items_of(std::span<const Cell> cells, int threads) {
  std::vector<Range> groups;
  std::int64_t shared = 0;
  for (std::int64_t i = 0; i < std::ssize(cells); ++i) {
    if (i == 0 || !have_equal_operands(cells[i - 1], cells[i])) {
      groups.push_back({i, i});
      shared += calls_of(cells[i]);
    }
    groups.back().end = i + 1;
  }
  std::vector<Item> items;
  for (const Range group : groups) {
    const auto parts = static_cast<int>(
        std::min(group.size(), model::ceil_divide(threads, std::max<std::int64_t>(shared, 1))));
    for (std::int64_t call = 0; call < calls_of(cells[group.begin]); ++call) {
      for (int p = 0; p < parts; ++p) items.push_back({model::part(group, p, parts, 1), call});
    }
  }
  return items;
}

class Study {
 public:
  Study(std::span<const Cell> cells, std::uint64_t seed, int threads,
        const std::function<void(const Measurement&)>& report)
      : cells_(cells), seed_(seed), report_(report), items_(items_of(cells, threads)) {
    for (const Cell& cell : cells) {
      collectors_.emplace_back(calls_of(cell));
      missing_.push_back(calls_of(cell));
    }
  }

  /// Works on items until there are none left.
  void work() {
    for (std::size_t i = next_item_++; i < items_.size(); i = next_item_++) {
      measure(items_[i]);
      const std::lock_guard lock(mutex_);
      for (auto c = items_[i].cells.begin; c < items_[i].cells.end; ++c) --missing_[c];
      report_complete();
    }
  }

 private:
  void measure(const Item& item) {
    if (item.cells.size() == 0) return;
    const Cell& first = cells_[item.cells.begin];
    const reference::RankBuffers inputs = operands(first, seed_, item.call);
    const reference::ExactResults exact({.element = first.arithmetic.element}, inputs);
    const std::vector<double> rounded = exact.rounded();
    for (std::int64_t c = item.cells.begin; c < item.cells.end; ++c) {
      const Cell& cell = cells_[c];
      const model::Builder* builder =
          model::find_builder(model::Collective::all_reduce, cell.algorithm);
      TALLY_CHECK(builder != nullptr, "a cell names a built-in algorithm");
      const auto outputs = reference::error_bounds(
          builder->build({cell.ranks, exact.size(), 1, false, cell.arithmetic}), inputs);
      const auto& [values, bounds, saturated] = outputs.front();
      collectors_[c][item.call].add({values, rounded, exact.errors(values), bounds, saturated});
    }
  }

  /// Reports the cells whose turn it is. Collectors are merged by call, whoever filled them when.
  void report_complete() {
    for (; next_cell_ < std::ssize(cells_) && missing_[next_cell_] == 0; ++next_cell_) {
      ErrorCollector whole;
      for (const ErrorCollector& part : collectors_[next_cell_]) whole.merge(part);
      report_({cells_[next_cell_], whole.statistics()});
      collectors_[next_cell_] = {};
    }
  }

  std::span<const Cell> cells_;
  std::uint64_t seed_;
  const std::function<void(const Measurement&)>& report_;
  std::vector<Item> items_;
  std::vector<std::vector<ErrorCollector>> collectors_;  // [cell][call]; an item's are its own
  std::atomic<std::size_t> next_item_ = 0;
  std::mutex mutex_;                   // of what follows, and of report_
  std::vector<std::int64_t> missing_;  // [cell]: calls that are not done
  std::int64_t next_cell_ = 0;
};

}  // namespace

bool is_within_bounds(const reference::ErrorStatistics& errors) {
  return errors.max_err_over_bound <= 1;  // false for NaN
}

void measure(std::span<const Cell> cells, std::uint64_t seed, int threads,
             const std::function<void(const Measurement&)>& report) {
  Study study(cells, seed, threads, report);
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back([&] { study.work(); });
  study.work();
  for (std::thread& other : others) other.join();
}

}  // namespace tally::study
