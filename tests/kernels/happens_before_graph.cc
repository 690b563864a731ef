#include "tests/kernels/happens_before_graph.h"

#include <algorithm>
#include <optional>

namespace tally::kernels::emulator {
namespace {

using What = OrderEvent::What;

class Graph {
 public:
  Graph(const std::vector<OrderEvent>& events, const std::vector<Place>& places)
      : events_(events), places_(places), before_(events.size()) {
    for (auto& row : before_) row.resize(events.size());
    follow_the_program();
    for (int read = 0; read < size(); ++read) synchronise(read);
    for (int k = 0; k < size(); ++k) {
      for (int i = 0; i < size(); ++i) {
        if (!before_[i][k]) continue;
        for (int j = 0; j < size(); ++j) before_[i][j] = before_[i][j] || before_[k][j];
      }
    }
  }

  std::optional<Race::Kind> race(int i, int j) const {
    const OrderEvent &a = events_[i], &b = events_[j];
    if (!is_access(a) || !is_access(b) || !overlap(a, b) || before_[i][j]) return std::nullopt;
    if (a.what == What::load && b.what == What::load) return std::nullopt;
    if (!is_atomic(a.order) || !is_atomic(b.order)) return Race::Kind::unordered;
    if (a.first != b.first || a.bytes != b.bytes) return Race::Kind::mixed_size;
    if (!is_inclusive(i, a.scope, j, b.scope)) return Race::Kind::scope;
    return std::nullopt;
  }

 private:
  int size() const { return static_cast<int>(events_.size()); }
  static bool is_access(const OrderEvent& e) {
    return e.what == What::load || e.what == What::store || e.what == What::update;
  }
  static bool overlap(const OrderEvent& a, const OrderEvent& b) {
    return a.first < b.first + b.bytes && b.first < a.first + a.bytes;
  }
  bool is_inclusive(int i, Scope of_i, int j, Scope of_j) const {
    const Place &a = places_[events_[i].slot], &b = places_[events_[j].slot];
    return includes(of_i, a, b) && includes(of_j, b, a);
  }
  bool takes_part(int slot, const OrderEvent& e) const {
    const Place &a = places_[slot], &b = places_[e.slot];
    switch (e.what) {
      case What::performed:
        return false;
      case What::barrier:
        return a.workgroup == b.workgroup;
      case What::relaunch:
        return a.id.rank == b.id.rank;
      default:
        return slot == e.slot;
    }
  }

  /// What a thread did earlier, in its kernel or an earlier one, and what relaunched before.
  void follow_the_program() {
    for (int j = 0; j < size(); ++j) {
      for (int i = 0; i < j; ++i) {
        for (const Place& place : places_) {
          const int slot = place.slot;
          if (takes_part(slot, events_[i]) && takes_part(slot, events_[j])) before_[i][j] = true;
        }
        if (events_[i].what == What::relaunch && events_[j].what == What::relaunch) {
          before_[i][j] = true;
        }
      }
    }
  }

  bool in_one_kernel(int i, int j) const {
    if (events_[i].slot != events_[j].slot) return false;
    for (int k = i + 1; k < j; ++k) {
      if (events_[k].what == What::relaunch && takes_part(events_[i].slot, events_[k]))
        return false;
    }
    return true;
  }

  /// When the store of event `i` was performed: at once where it is no atomic store.
  int performed_at(int i) const {
    const OrderEvent& e = events_[i];
    if (e.what == What::update || !is_atomic(e.order)) return i;
    for (int k = i + 1; k < size(); ++k) {
      if (events_[k].what == What::performed && events_[k].first == i) return k;
    }
    return size();
  }
  /// The store or update that `read` reads from, if the one performed last is of its very bytes.
  std::optional<int> source_of(int read) const {
    int last = -1, writer = -1;
    for (int i = 0; i < size(); ++i) {
      const OrderEvent& e = events_[i];
      if (e.what != What::store && e.what != What::update) continue;
      const int at = performed_at(i);
      if (!overlap(e, events_[read]) || at >= read || at <= last) continue;
      last = at;
      writer = i;
    }
    if (writer < 0 || !is_atomic(events_[writer].order)) return std::nullopt;
    const OrderEvent &w = events_[writer], &r = events_[read];
    if (w.first != r.first || w.bytes != r.bytes) return std::nullopt;
    return writer;
  }

  /// Edges from all that heads or continues the release sequence that an atomic reads from.
  void synchronise(int read) {
    const OrderEvent& r = events_[read];
    if ((r.what != What::load && r.what != What::update) || !is_atomic(r.order)) return;
    int reader = read;
    for (std::optional<int> source = source_of(read); source; source = source_of(reader)) {
      if (!is_inclusive(*source, events_[*source].scope, reader, events_[reader].scope)) return;
      publish(*source, read);
      if (events_[*source].what != What::update) return;
      reader = *source;
    }
  }

  /// The release or release fence by way of `write` and the acquire or acquire fence by way of
  /// `read`, as far as each is meant for the other.
  void publish(int write, int read) {
    const OrderEvent &w = events_[write], &r = events_[read];
    for (int from = 0; from <= write; ++from) {
      const OrderEvent& f = events_[from];
      const bool is_fence =
          f.what == What::fence && releases(f.order) && in_one_kernel(from, write);
      if (!is_fence && !(from == write && releases(w.order))) continue;
      for (int to = read; to < size(); ++to) {
        const OrderEvent& t = events_[to];
        const bool to_fence = t.what == What::fence && acquires(t.order) && in_one_kernel(read, to);
        if (!to_fence && !(to == read && acquires(r.order))) continue;
        if (is_inclusive(from, std::min(f.scope, w.scope), to, std::min(t.scope, r.scope))) {
          before_[from][to] = true;
        }
      }
    }
  }

  const std::vector<OrderEvent>& events_;
  const std::vector<Place>& places_;
  std::vector<std::vector<bool>> before_;
};

}  // namespace

std::set<RacingEvents> races_of(const std::vector<OrderEvent>& events,
                                const std::vector<Place>& places) {
  const Graph graph(events, places);
  std::set<RacingEvents> races;
  for (int j = 0; j < static_cast<int>(events.size()); ++j) {
    for (int i = 0; i < j; ++i) {
      if (const auto kind = graph.race(i, j)) races.insert({i, j, *kind});
    }
  }
  return races;
}

}  // namespace tally::kernels::emulator
