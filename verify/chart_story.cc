#include "verify/chart_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "verify/order_fault.h"

namespace tally::verify {
namespace {

using kernels::emulator::Event;
using kernels::emulator::Memory;
using kernels::emulator::Race;
using kernels::emulator::RacingAccess;
using kernels::emulator::ThreadId;
using kernels::emulator::Trace;

constexpr std::size_t kNowhere = ~std::size_t{0};
constexpr std::size_t kMostThreads = 12, kMostSources = 16;

std::span<const std::byte> byte_at(const void* address) {
  return {static_cast<const std::byte*>(address), 1};
}

void add_thread(Story& story, const ThreadId& id) {
  const auto is_it = [&](const ThreadId& other) { return same(id, other); };
  if (std::none_of(story.threads.begin(), story.threads.end(), is_it)) story.threads.push_back(id);
}

bool is_access_of(const Event& event, const RacingAccess& access, const void* address) {
  const bool can_be = event.what == Event::What::access || event.what == Event::What::wait;
  return can_be && same(event.thread, access.thread) && event.access.kind == access.kind &&
         event.access.site.line() == access.site.line() &&
         source_line(event.access.site) == source_line(access.site) &&
         touches(event, byte_at(address));
}

/// The last event before `end` that is the access; kNowhere where there is none.
std::size_t find_back(const Trace& trace, std::size_t end, const RacingAccess& access,
                      const void* address) {
  for (std::size_t i = end; i-- > 0;) {
    if (is_access_of(trace.log[i], access, address)) return i;
  }
  return kNowhere;
}

/// Of the two threads' blocks, those that signal and wait: they should have ordered the two.
void add_leaders(Story& story, const Trace& trace) {
  const std::vector<ThreadId> racing = story.threads;
  for (std::size_t i = 0; i < story.end && story.threads.size() < kMostColumns; ++i) {
    const Event& event = trace.log[i];
    if (!is_atomic(event.access.order) || event.access.address == nullptr) continue;
    for (const ThreadId& id : racing) {
      const bool is_mate = id.rank == event.thread.rank && id.block == event.thread.block;
      if (is_mate && story.threads.size() < kMostColumns) add_thread(story, event.thread);
    }
  }
}

/// What stands between two parts of a sentence; "" where they are not there.
std::string between(const std::string& sentence, std::string_view before, std::string_view behind) {
  const std::size_t at = sentence.find(before);
  if (at == std::string::npos) return "";
  const std::size_t first = at + before.size();
  return sentence.substr(first, sentence.find(behind, first) - first);
}

/// The threads that a sentence names.
std::vector<ThreadId> threads_in(const std::string& sentence) {
  std::vector<ThreadId> ids;
  for (std::size_t at = sentence.find("rank "); at != std::string::npos;
       at = sentence.find("rank ", at + 1)) {
    ThreadId id;
    if (std::sscanf(sentence.c_str() + at, "rank %d block %d thread %d", &id.rank, &id.block,
                    &id.thread) == 3) {
      ids.push_back(id);
    }
  }
  return ids;
}

bool is_store_to(const Event& event, std::span<const std::byte> bytes) {
  return event.what == Event::What::access && event.access.writes() && touches(event, bytes);
}

/// The last event before `end` that stored the byte; kNowhere where there is none.
std::size_t last_store(const Trace& trace, std::size_t end, const std::byte* byte) {
  while (end > 0 && !is_store_to(trace.log[end - 1], byte_at(byte))) --end;
  return end == 0 ? kNowhere : end - 1;
}

/// What load number `load` read, who had stored it, and who stores there next.
void add_source(Story& story, const Trace& trace, std::size_t load) {
  const Event& event = trace.log[load];
  const std::span bytes(static_cast<const std::byte*>(event.access.address), event.access.bytes);
  story.focus.push_back(bytes);
  for (std::size_t i = load; i-- > 0;) {
    if (!is_store_to(trace.log[i], bytes)) continue;
    add_thread(story, trace.log[i].thread);
    break;
  }
  for (std::size_t i = load + 1; i < trace.log.size(); ++i) {
    if (!is_store_to(trace.log[i], bytes) || same(trace.log[i].thread, event.thread)) continue;
    add_thread(story, trace.log[i].thread);
    if (story.marks.size() == 1) story.marks.push_back({i, "2>"});
    story.end = std::max(story.end, story.marks.back().first + 1);
    break;
  }
}

}  // namespace

bool same(const ThreadId& a, const ThreadId& b) {
  return a.rank == b.rank && a.block == b.block && a.thread == b.thread;
}

bool touches(const Event& event, std::span<const std::byte> bytes) {
  const auto* first = static_cast<const std::byte*>(event.access.address);
  return first != nullptr && first < bytes.data() + bytes.size() &&
         bytes.data() < first + event.access.bytes;
}

Story story_of_race(const Trace& trace, const Memory& memory, std::size_t number) {
  const Race& race = trace.races[number];
  Story story;
  add_thread(story, race.first.thread);
  add_thread(story, race.second.thread);
  story.focus = {byte_at(race.address)};
  for (std::size_t found = 0; found <= number && story.end < trace.log.size(); ++story.end) {
    found += trace.log[story.end].what == Event::What::race;
  }
  const std::size_t first = find_back(trace, story.end - 1, race.first, race.address);
  if (first != kNowhere) story.marks.push_back({first, "1>"});
  if (story.end > 1) story.marks.push_back({story.end - 2, "2>"});
  add_leaders(story, trace);
  constexpr std::string_view kWhy[] = {
      "nothing orders 1 before 2",
      "both are atomic, but one's scope leaves the other out",
      "both are atomic, but not of the same bytes",
  };
  story.moral = fmt::format("1 and 2 touch {}; {}", memory.describe(race.address),
                            kWhy[static_cast<std::size_t>(race.kind)]);
  return story;
}

Story story_of_stale_read(const Trace& trace, const Memory& memory,
                          const kernels::emulator::StaleRead& stale) {
  Story story;
  story.focus = {byte_at(stale.address)};
  story.end = trace.log.size();
  const std::size_t read = find_back(trace, trace.log.size(), stale.read, stale.address);
  if (read != kNowhere) {
    story.end = read + 1;
    for (std::size_t i = read; i-- > 0 && story.marks.empty();) {
      const Event& event = trace.log[i];
      if (!event.access.writes() || !touches(event, byte_at(stale.address))) continue;
      add_thread(story, event.thread);
      story.marks.push_back({i, "1>"});
    }
    story.marks.push_back({read, "2>"});
  }
  add_thread(story, stale.read.thread);
  story.moral = fmt::format("1 is ordered before 2, which sees something older in {}",
                            memory.describe(stale.address));
  return story;
}

Story story_of_value(const Trace& trace, const Memory& memory, const std::byte* wrong) {
  Story story;
  std::size_t stored = last_store(trace, trace.log.size(), wrong);
  // A copy engine, which has no block, read it just before from where it was made.
  while (stored != kNowhere && stored > 0 && trace.log[stored].thread.block < 0) {
    const auto* to = static_cast<const std::byte*>(trace.log[stored].access.address);
    wrong = static_cast<const std::byte*>(trace.log[stored - 1].access.address) + (wrong - to);
    stored = last_store(trace, stored, wrong);
  }
  if (stored == kNowhere) return story;
  const ThreadId thread = trace.log[stored].thread;
  const void* target = memory.find(wrong, 1);
  story.focus = {byte_at(wrong)};
  add_thread(story, thread);
  story.marks.push_back({stored, "1>"});
  story.end = stored + 1;
  for (std::size_t i = stored; i-- > 0;) {
    const Event& event = trace.log[i];
    if (!same(event.thread, thread) || event.access.address == nullptr) continue;
    // What it read before it stored to the same buffer was for that.
    const bool is_earlier = event.access.writes() && memory.find(event.access.address, 1) == target;
    if (is_earlier || story.focus.size() > kMostSources) break;
    if (!event.access.writes()) add_source(story, trace, i);
  }
  story.moral = fmt::format("1 stores what is wrong in {}", memory.describe(wrong));
  if (story.marks.size() > 1) story.moral += "; 2 comes after that was made of what it overwrites";
  return story;
}

Story story_of_hang(const Trace& trace) {
  Story story;
  while (story.end < trace.log.size() && trace.log[story.end].what != Event::What::hang) {
    ++story.end;
  }
  std::size_t told = 0;
  for (const std::string& sentence : trace.hang) {
    const auto named = threads_in(sentence);
    const std::size_t verb = sentence.find(" waits ");
    if (named.empty() || verb == std::string::npos) continue;
    if (story.threads.size() >= kMostThreads) break;
    for (const ThreadId& id : named) add_thread(story, id);
    story.places.push_back(between(sentence, " waits for ", " to reach "));
    const std::size_t part = sentence.find("; ");
    story.last_words.push_back({named[0], "X>", sentence.substr(verb + 1, part - verb - 1)});
    if (part != std::string::npos) {
      story.last_words.push_back({named[0], "", "  " + sentence.substr(part + 2)});
    }
    ++told;
  }
  story.moral = "nobody can go on";
  if (told < trace.hang.size()) {
    story.moral += fmt::format("; {} more threads wait", trace.hang.size() - told);
  }
  return story;
}

}  // namespace tally::verify
