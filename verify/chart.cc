#include "verify/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "kernels/emulator/access_names.h"
#include "verify/chart_story.h"
#include "verify/order_fault.h"

namespace tally::verify {
namespace {

using kernels::emulator::Access;
using kernels::emulator::AccessKind;
using kernels::emulator::Event;
using kernels::emulator::Memory;
using kernels::emulator::Order;
using kernels::emulator::Race;
using kernels::emulator::RacingAccess;
using kernels::emulator::Scope;
using kernels::emulator::ThreadId;
using kernels::emulator::Trace;

constexpr std::size_t kNowhere = ~std::size_t{0};

std::string order_name(const Access& access) {
  using kernels::emulator::name;
  const bool is_named = access.order != Order::plain;
  std::string text(is_named ? name(access.order) : "");
  if (is_atomic(access.order)) text += fmt::format(" {}", name(access.scope));
  return text;
}

/// Of long values the beginning, of packets both words; flags, and what may be a count, as numbers.
std::string value_of(const Event& event) {
  const auto word = static_cast<std::uint32_t>(event.value);
  const bool is_atomic = kernels::emulator::is_atomic(event.access.order);
  if (event.access.bytes == 8 && is_atomic) {
    return fmt::format("0x{:x}'{:08x}", event.value >> 32, word);
  }
  if (event.access.bytes > 4) return fmt::format("0x{:08x}..", word);
  const bool is_count = event.access.bytes == 4 && word < 10'000;
  if (is_count || is_atomic) return fmt::format("{}", word);
  return fmt::format("0x{:0{}x}", word, 2 * event.access.bytes);
}

std::string place_of(const Memory& memory, const void* address) {
  std::string text = memory.describe(address);
  const std::string_view byte = ", byte ";
  if (const std::size_t at = text.find(byte); at != std::string::npos) {
    text.replace(at, byte.size(), " +");
  }
  return text;
}

std::string words(const Event& event, const Memory& memory) {
  const Access& access = event.access;
  std::string what, place;
  switch (event.what) {
    case Event::What::access:
    case Event::What::wait: {
      constexpr std::string_view kVerbs[] = {"load", "store", "update"};
      what = fmt::format(
          "{} {} {}",
          event.what == Event::What::wait ? "wait" : kVerbs[static_cast<std::size_t>(access.kind)],
          access.bytes, order_name(access));
      place = fmt::format("{:<23} = {}", place_of(memory, access.address), value_of(event));
      break;
    }
    case Event::What::fence:
      what = "fence " + order_name(access);
      break;
    case Event::What::block_barrier:
      what = "block barrier";
      break;
    case Event::What::race:
    case Event::What::hang:
      return "";
  }
  return fmt::format("{:<22} {:<38} {}", what, place, source_line(access.site));
}

/// Lays out rows of one thread each.
class Rows {
 public:
  explicit Rows(const std::vector<ThreadId>& threads)
      : threads_(threads), has_columns_(threads.size() <= kMostColumns) {}

  std::string header() const {
    if (!has_columns_) return "";
    std::string ranks, blocks, numbers;
    for (const ThreadId& id : threads_) {
      ranks += fmt::format("{:<5}", id.rank);
      blocks += fmt::format("{:<5}", id.block);
      numbers += fmt::format("{:<5}", id.thread);
    }
    return trimmed("     rank  " + ranks) + trimmed("     block " + blocks) +
           trimmed("    thread " + numbers);
  }

  void add(std::size_t thread, const std::string& step, const std::string& mark,
           const std::string& text) {
    rows_.push_back(trimmed(fmt::format("{:>6} {:<3} {}{}", step, mark, place(thread), text)));
    is_marked_.push_back(!mark.empty());
    last_ = thread;
  }

  /// The last rows, and the marked ones.
  std::string text() const {
    constexpr std::size_t kMost = 60;
    const std::size_t cut = rows_.size() > kMost ? rows_.size() - kMost : 0;
    std::string text;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i >= cut || is_marked_[i]) text += rows_[i];
      if (cut > 0 && i == 0) text += fmt::format("           ({} rows are left out)\n", cut);
    }
    return text;
  }

 private:
  /// The lifelines, with an arrow from the thread that ran before; or the thread's name.
  std::string place(std::size_t thread) const {
    if (!has_columns_) {
      const ThreadId& id = threads_[thread];
      return fmt::format("{:<14} ", fmt::format("r{} b{} t{}", id.rank, id.block, id.thread));
    }
    std::string lines;
    for (std::size_t i = 0; i < threads_.size(); ++i) lines += i == thread ? "*    " : "|    ";
    if (last_ != kNowhere && last_ != thread) {
      const std::size_t low = 5 * std::min(last_, thread), high = 5 * std::max(last_, thread);
      std::fill(lines.begin() + static_cast<std::ptrdiff_t>(low) + 1,
                lines.begin() + static_cast<std::ptrdiff_t>(high), '-');
      lines[last_ < thread ? high - 1 : low + 1] = last_ < thread ? '>' : '<';
    }
    return lines;
  }
  static std::string trimmed(std::string row) {
    row.erase(row.find_last_not_of(' ') + 1);
    return row + "\n";
  }

  const std::vector<ThreadId>& threads_;
  const bool has_columns_;
  std::size_t last_ = kNowhere;
  std::vector<std::string> rows_;
  std::vector<bool> is_marked_;
};

/// Whether an event is told, or only counted: what touches the bytes in question, and all that may
/// order something. A packet orders nothing, for it is its own flag.
bool matters(const Story& story, const Event& event, const Memory& memory) {
  constexpr std::uint32_t kFlagBytes = 4;
  const Access& access = event.access;
  if (access.address == nullptr) return true;
  if (is_atomic(access.order) && access.bytes <= kFlagBytes) return true;
  if (event.what == Event::What::wait && access.bytes <= kFlagBytes) return true;
  for (const auto bytes : story.focus) {
    if (touches(event, bytes)) return true;
  }
  return std::find(story.places.begin(), story.places.end(), memory.describe(access.address)) !=
         story.places.end();
}

std::string mark_of(const Story& story, std::size_t event) {
  for (const auto& [at, mark] : story.marks) {
    if (at == event) return mark;
  }
  return "";
}

std::string tell(Story story, const Trace& trace, const Memory& memory) {
  std::sort(story.threads.begin(), story.threads.end(), [](const ThreadId& a, const ThreadId& b) {
    return std::tie(a.rank, a.block, a.thread) < std::tie(b.rank, b.block, b.thread);
  });
  Rows rows(story.threads);
  const auto column = [&](const ThreadId& id) {
    const auto found = std::find_if(story.threads.begin(), story.threads.end(),
                                    [&](const ThreadId& other) { return same(id, other); });
    return static_cast<std::size_t>(found - story.threads.begin());
  };
  const auto add = [&](std::size_t event) {
    rows.add(column(trace.log[event].thread), std::to_string(event), mark_of(story, event),
             words(trace.log[event], memory));
  };
  std::vector<std::size_t> skipped;  // of one thread
  const auto tell_skipped = [&] {
    constexpr std::size_t kShort = 2;
    if (skipped.size() > kShort) {
      rows.add(column(trace.log[skipped[0]].thread), "", "",
               fmt::format("... {} accesses", skipped.size()));
    } else {
      for (const std::size_t event : skipped) add(event);
    }
    skipped.clear();
  };
  for (std::size_t i = 0; i < story.end; ++i) {
    const Event& event = trace.log[i];
    if (event.what == Event::What::race) continue;
    if (column(event.thread) == story.threads.size()) continue;
    if (!skipped.empty() && !same(event.thread, trace.log[skipped[0]].thread)) tell_skipped();
    if (matters(story, event, memory)) {
      tell_skipped();
      add(i);
    } else {
      skipped.push_back(i);
    }
  }
  tell_skipped();
  for (const auto& [id, mark, text] : story.last_words) rows.add(column(id), "", mark, text);
  return rows.header() + rows.text() + "           " + story.moral + "\n";
}

}  // namespace

std::string draw_chart(const Trace& trace, const Memory& memory, const std::string& lines,
                       const std::byte* wrong) {
  if (!trace.hang.empty()) return tell(story_of_hang(trace), trace, memory);
  for (const bool any : {false, true}) {
    for (std::size_t i = 0; i < trace.races.size(); ++i) {
      if (any || lines_of(trace.races[i]) == lines) {
        return tell(story_of_race(trace, memory, i), trace, memory);
      }
    }
    for (const auto& stale : trace.stale_reads) {
      if (any || lines_of(stale) == lines) {
        return tell(story_of_stale_read(trace, memory, stale), trace, memory);
      }
    }
  }
  if (wrong == nullptr) return "";
  const Story story = story_of_value(trace, memory, wrong);
  return story.threads.empty() ? "" : tell(story, trace, memory);
}

}  // namespace tally::verify
