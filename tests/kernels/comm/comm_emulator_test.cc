// Goal: a communicator on virtual GPUs leaves the bits that the reference has for the algorithm
// that it chose, and every misuse and every lost rank is an error that says so, on all ranks.
// Method: ranks as threads, every collective against reference::run; ranks that disagree, leave,
// come late or never come.

#include <atomic>

#include "tests/kernels/comm/comm_ranks.h"
#include "tests/kernels/comm/rank_threads.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::comm {
namespace {

using model::Collective, model::Format;
using reference::RankBuffers;

Case sums(int ranks, Milliseconds timeout = Milliseconds(20'000)) {
  Case c{{Collective::all_reduce, 300}, ranks, {}};
  c.options.timeout = timeout;
  return c;
}

/// What one rank is told by a first sum, and by a second.
std::string two_sums(const Case& c, int rank, bool calls = true) {
  const auto comm = join(c, rank);
  if (!comm) return comm.error().what;
  std::string said;
  for (int i = 0; calls && i < 2; ++i) {
    std::vector<float> values(8, 1);
    Tensor tensor{values.data(), 8, Format::f32};
    const auto work = (*comm)->all_reduce(tensor, ReduceOp::SUM, false);
    said += (i > 0 ? "; " : "") + (work ? "ok" : work.error().what);
  }
  return said;
}

}  // namespace

TEST_CASE("every collective leaves the reference's bits", "[kernels]") {
  test::property("for any ranks, count, type, op and wire", [] {
    Case c;
    c.ranks = *rc::gen::inRange(1, 9).as("ranks");
    c.request.collective = static_cast<Collective>(*rc::gen::inRange(0, 4).as("collective"));
    c.request.count = *rc::gen::element<std::int64_t>(0, 1, 127, 128, 129, 300, 1000).as("count");
    c.request.dtype = *rc::gen::element(Format::f32, Format::bf16);
    const bool only_moves = model::only_moves(c.request.collective);
    if (!only_moves) {
      c.request.op =
          *rc::gen::element(model::Op::sum, model::Op::max, model::Op::avg, model::Op::premul_sum);
      c.request.factor = c.request.op == model::Op::premul_sum ? 0.3f : 1;
    }
    c.options.wire = *rc::gen::element(model::kNoWire, model::cast_wire(Format::e4m3fn));
    const std::string algorithm =
        c.request.collective == Collective::all_reduce
            ? *rc::gen::element<std::string>("flat", "tree", "ring", "flat_ll").as("algorithm")
            : "flat";
    c.options.algorithms = {{c.request.collective, 1 << 20, algorithm}};
    c.options.hints["memory"] = *rc::gen::element<std::string>("strong", "gfx942").as("memory");

    const auto chooser =
        choose_by_table(c.options.algorithms, c.options.wire, c.options.accumulate);
    const auto execution = chooser->choose(c.request, c.ranks);
    RC_PRE(bool(execution));
    const RankBuffers inputs = inputs_of(c);
    RC_ASSERT(outputs_of(c, inputs) == expected(c, algorithm, execution->arithmetic, inputs));
  });
}

TEST_CASE("types that only move are moved", "[kernels]") {
  for (const model::Moved type : {model::Moved::int8, model::Moved::int64, model::Moved::f64}) {
    Case c{{Collective::all_gather, 130, type}, 3, {}};
    const RankBuffers inputs = inputs_of(c);
    REQUIRE((outputs_of(c, inputs) == expected(c, "flat", {type}, inputs)));
  }
}

TEST_CASE("a message beyond the staging is cut into pieces, each a call by itself", "[kernels]") {
  Case c{{Collective::all_reduce, 5000}, 3, {}};
  c.options.max_message_bytes = 3500;  // holds 2 units of 128 f32 of each rank, and a rest
  c.options.wire = model::block_wire(Format::e4m3fn, 32, Format::f32, model::ScaleRule::amax);
  c.options.algorithms = {{Collective::all_reduce, 1 << 20, "ring"}};
  const RankBuffers inputs = inputs_of(c);
  const RankBuffers outputs = outputs_of(c, inputs);
  const model::Arithmetic arithmetic{Format::f32, c.options.wire, model::Op::sum,
                                     model::Accumulate::f32};
  RankBuffers wanted(3);
  for (std::int64_t begin = 0; begin < 5000; begin += 768) {
    Case piece = c;
    piece.request.count = std::min<std::int64_t>(768, 5000 - begin);
    RankBuffers part;
    for (const auto& input : inputs) {
      part.emplace_back(input.begin() + 4 * begin,
                        input.begin() + 4 * (begin + piece.request.count));
    }
    const RankBuffers done = expected(piece, "ring", arithmetic, part);
    for (int rank = 0; rank < 3; ++rank) {
      wanted[rank].insert(wanted[rank].end(), done[rank].begin(), done[rank].end());
    }
  }
  REQUIRE((outputs == wanted));
  REQUIRE((outputs != expected(c, "ring", arithmetic, inputs)));  // the chunks are others

  const auto said = on_threads(2, [&](int rank) -> std::string {
    Case gather{{Collective::all_gather, 400}, 2, {}};
    gather.options.max_message_bytes = 3072;
    const auto comm = join(gather, rank);
    std::vector<std::byte> in(1600), out;
    const auto work = issue(**comm, gather, in, out);
    return work ? "" : work.error().what + ", " + work.error().hint;
  });
  REQUIRE(said == std::vector<std::string>(2,
                                           "all_gather: a message of 3200 bytes is longer than "
                                           "3072, Options::max_message_bytes"));
}

TEST_CASE("two works overlap, and end in their order", "[kernels]") {
  const Case c = sums(4);
  const auto said = on_threads(4, [&](int rank) -> std::string {
    const auto comm = join(c, rank);
    std::vector<float> a(300, 1), b(300, static_cast<float>(rank));
    Tensor first{a.data(), 300, Format::f32}, second{b.data(), 300, Format::f32};
    const auto one = (*comm)->all_reduce(first, ReduceOp::SUM, true);
    const auto other = (*comm)->allreduce(second, ReduceOp::MAX, true);
    if ((*other)->wait() || !(*one)->is_completed() || (*one)->wait()) return "an error";
    return std::to_string(a[299]) + ' ' + std::to_string(b[0]);
  });
  REQUIRE(said == std::vector<std::string>(4, "4.000000 3.000000"));
}

TEST_CASE("a work is in progress until the last rank has issued it", "[kernels]") {
  const Case c = sums(2);
  std::atomic<bool> was_seen = false;
  const auto said = on_threads(2, [&](int rank) -> std::string {
    const auto comm = join(c, rank);
    std::vector<float> values(4, 1);
    Tensor tensor{values.data(), 4, Format::f32};
    while (rank == 1 && !was_seen) std::this_thread::yield();
    const auto work = (*comm)->all_reduce(tensor, ReduceOp::SUM, true);
    const bool waits = (*work)->status() == Work::Status::INPROGRESS;
    was_seen = true;
    return (*work)->wait() ? "an error" : waits ? "waited" : "at once";
  });
  REQUIRE(said == std::vector<std::string>{"waited", "at once"});
}

TEST_CASE("counts that lie in memory are moved by, and one beyond the bound is every rank's error",
          "[kernels]") {
  for (const bool is_beyond : {false, true}) {
    const auto said = on_threads(3, [&](int rank) -> std::string {
      const auto comm = join(sums(3), rank);
      std::vector<float> in(30), out(30, -1);
      // Rank r sends r + to elements to each rank, of the value 10 r + to.
      std::vector<std::int64_t> send(3), received(3);
      std::size_t at = 0;
      for (int to = 0; to < 3; ++to) {
        send[to] = rank + to;
        for (int i = 0; i < send[to]; ++i) in[at++] = static_cast<float>(10 * rank + to);
      }
      if (is_beyond && rank == 1) send[2] = 11;
      Tensor input{in.data(), 30, Format::f32}, output{out.data(), 30, Format::f32};
      const auto work =
          (*comm)->all_to_all_v_single(output, input, send.data(), received.data(), 10, false);
      if (!work) return work.error().what + (out == std::vector<float>(30, -1) ? "" : ", written");
      at = 0;
      for (int from = 0; from < 3; ++from) {
        if (received[from] != from + rank) return "a wrong count";
        for (int i = 0; i < received[from]; ++i) {
          if (out[at++] != static_cast<float>(10 * from + rank)) return "a wrong element";
        }
      }
      return out[at] == -1 ? "" : "an element too many";
    });
    REQUIRE(said ==
            std::vector<std::string>(
                3, is_beyond ? "all_to_all_v: rank 1 had counts that are not in 0..10" : ""));
  }
}

TEST_CASE("a barrier holds until all have come", "[kernels]") {
  std::atomic<int> came = 0;
  const auto said = on_threads(5, [&](int rank) -> std::string {
    const auto comm = join(sums(5), rank);
    std::this_thread::sleep_for(Milliseconds(5 * rank));
    ++came;
    const auto work = (*comm)->barrier(false);
    return work && came == 5 ? "" : "too early";
  });
  REQUIRE(said == std::vector<std::string>(5));
}

TEST_CASE("calls that differ are an error on every rank, and the next call is well", "[kernels]") {
  struct Difference {
    const char* what;
    Request of_rank_2;
  };
  const Difference differences[] = {
      {"all_reduce of 301 f32", {Collective::all_reduce, 301}},
      {"all_reduce of 300 bf16", {Collective::all_reduce, 300, Format::bf16}},
      {"all_reduce of 300 f32, max", {Collective::all_reduce, 300, Format::f32, model::Op::max}},
      {"all_gather of 300 f32", {Collective::all_gather, 300}},
      {"all_reduce of 0 f32", {Collective::all_reduce, 0}},
  };
  for (const auto& [what, of_rank_2] : differences) {
    const auto said = on_threads(3, [&, differs = of_rank_2](int rank) -> std::string {
      Case mine = sums(3);
      const auto comm = join(mine, rank);
      if (rank == 2) mine.request = differs;
      std::vector<std::byte> in(
          static_cast<std::size_t>(mine.request.count * mine.request.dtype.bytes())),
          out;
      const auto first = issue(**comm, mine, in, out);
      const auto second = (*comm)->barrier(false);
      return (first ? "nothing" : first.error().what) + (second ? "" : ", and broken");
    });
    CAPTURE(what);
    REQUIRE(said[0].starts_with("the calls differ: rank 0 has all_reduce of 300 f32, sum"));
    REQUIRE(said[0].find(std::string("rank 2 has ") + what) != std::string::npos);
    REQUIRE(said[0].find("broken") == std::string::npos);
    REQUIRE(said == std::vector<std::string>(3, said[0]));
  }
}

TEST_CASE("settings that differ are an error on every rank, which names the setting", "[kernels]") {
  const auto said = on_threads(3, [&](int rank) -> std::string {
    Case c = sums(3);
    c.backend = "rcclx";
    c.options.lookup = [rank](const std::string& name) -> std::optional<std::string> {
      if (rank != 1 || name != "RCCL_DDA_NRANKS") return std::nullopt;
      return "4";
    };
    return two_sums(c, rank);
  });
  REQUIRE(said == std::vector<std::string>(3,
                                           "the ranks' settings differ: rank 0 has "
                                           "RCCL_DDA_NRANKS=8, rank 1 has RCCL_DDA_NRANKS=4"));
  const auto sizes = on_threads(2, [&](int rank) -> std::string {
    Case c = sums(2);
    c.options.max_message_bytes = 8192 + 8192 * rank;
    return two_sums(c, rank);
  });
  REQUIRE(sizes == std::vector<std::string>(
                       2,
                       "the ranks' settings differ: rank 0 has max_message_bytes=8192, rank 1 "
                       "has max_message_bytes=16384"));
}

TEST_CASE("a mistake of one rank is told to all", "[kernels]") {
  const auto said = on_threads(3, [&](int rank) -> std::string {
    Case c = sums(3);
    if (rank == 1) c.options.hints["memmory"] = "strong";
    const auto comm = join(c, rank);
    return comm ? "" : comm.error().where + ": " + comm.error().what + ", " + comm.error().hint;
  });
  REQUIRE(said == std::vector<std::string>(3,
                                           "hint 'memmory': rank 1: there is none of that name, "
                                           "did you mean 'memory'?"));
}

TEST_CASE("a rank that never makes the communicator is named within the timeout", "[kernels]") {
  double seconds = 0;
  std::vector<std::string> said;
  seconds = seconds_of([&] {
    said =
        on_threads(3, [](int i) { return two_sums(sums(4, Milliseconds(1000)), i == 2 ? 3 : i); });
  });
  REQUIRE(said == std::vector<std::string>(3, "rank 2 did not arrive within 1 s"));
  REQUIRE(seconds < 5);
}

TEST_CASE("a rank that never calls is named within the timeout, and by every later call",
          "[kernels]") {
  std::vector<std::string> said;
  std::atomic<int> done = 0;
  const double seconds = seconds_of([&] {
    said = on_threads(4, [&](int rank) -> std::string {
      const Case c = sums(4, Milliseconds(1000));
      if (rank != 2) {
        const std::string told = two_sums(c, rank);
        ++done;
        return told;
      }
      const auto comm = join(c, rank);
      while (done < 3) std::this_thread::yield();
      Tensor tensor{nullptr, 0, Format::f32};
      return (*comm)->all_reduce(tensor, ReduceOp::SUM, false).error().what;
    });
  });
  const std::string late = "rank 2 did not arrive within 1 s";
  const std::string broken = "the communicator is broken: " + late;
  REQUIRE(said == std::vector<std::string>{late + "; " + broken, late + "; " + broken, broken,
                                           late + "; " + broken});
  REQUIRE(seconds < 5);
}

TEST_CASE("a rank that leaves is named at once", "[kernels]") {
  std::vector<std::string> said;
  const double seconds = seconds_of(
      [&] { said = on_threads(3, [](int rank) { return two_sums(sums(3), rank, rank != 1); }); });
  for (const int rank : {0, 2}) {  // rank 1 may have left before the first call or during it
    REQUIRE(said[rank].ends_with("rank 1 left; the communicator is broken: rank 1 left"));
  }
  REQUIRE(seconds < 5);  // of a timeout of 20
}

TEST_CASE("a work says every time why it failed", "[kernels]") {
  std::atomic<bool> has_ended = false;
  const auto said = on_threads(2, [&](int rank) -> std::string {
    const auto comm = join(sums(2, Milliseconds(1000)), rank);
    if (rank == 1) {
      while (!has_ended) std::this_thread::yield();
      return "";
    }
    std::vector<float> values(4, 1);
    Tensor tensor{values.data(), 4, Format::f32};
    const auto work = (*comm)->all_reduce(tensor, ReduceOp::SUM, true);
    const std::string first = (*work)->wait()->what;
    const bool is_late = (*work)->status() == Work::Status::TIMEDOUT;
    const std::string second = (*work)->wait()->what;
    has_ended = true;
    return second == first && is_late ? first : "silent";
  });
  REQUIRE(said[0] == "rank 1 did not arrive within 1 s");
}

TEST_CASE("finalize waits for what was issued, and nothing is issued after it", "[kernels]") {
  const auto said = on_threads(3, [](int rank) -> std::string {
    const auto comm = join(sums(3), rank);
    std::vector<float> values(9, 1);
    Tensor tensor{values.data(), 9, Format::f32};
    const auto work = (*comm)->all_reduce(tensor, ReduceOp::SUM, true);
    if ((*comm)->finalize() || values[8] != 3) return "not done";
    return (*comm)->barrier(false).error().what + ", " +
           (*comm)->all_reduce(tensor, ReduceOp::SUM, false).error().what;
  });
  REQUIRE(said == std::vector<std::string>(3, "it was finalized, it was finalized"));
}

TEST_CASE("tensors that do not fit the call are refused before it is issued", "[kernels]") {
  const auto comm = join(sums(1), 0);
  REQUIRE(comm);
  REQUIRE((*comm)->get_name() == "test");
  REQUIRE((*comm)->get_backend() == "emulator");
  REQUIRE((*comm)->get_rank() == 0);
  REQUIRE((*comm)->get_size() == 1);
  std::vector<float> memory(64);
  const auto of = [&](std::int64_t begin, std::int64_t count,
                      model::ElementType type = Format::f32) {
    return Tensor{memory.data() + begin, count, type};
  };
  const auto gather = [&](Tensor output, Tensor input) {
    const auto work = (*comm)->all_gather_single(output, input, false);
    return work ? "" : work.error().what;
  };
  REQUIRE(gather(of(0, 8), of(32, 8)) == "");
  REQUIRE(gather(of(0, 8), of(0, 8)) == "");
  REQUIRE(gather(of(0, 8), of(4, 8)) == "all_gather: input and output overlap");
  REQUIRE(gather(of(0, 7), of(32, 8)) == "all_gather: an input of 8 elements and an output of 7");
  REQUIRE(gather(of(0, 8), of(32, 8, Format::bf16)) ==
          "all_gather: the output is f32, the input bf16");
  REQUIRE(gather(of(0, -1), of(32, -1)) == "all_gather: a count of -1");
  REQUIRE(gather({nullptr, 8}, of(32, 8)) == "all_gather: a tensor without memory");
  Tensor none{nullptr, 0}, ints = of(0, 8, model::Moved::int32);
  REQUIRE((*comm)->all_reduce(none, ReduceOp::SUM, false));
  REQUIRE((*comm)->all_reduce(ints, ReduceOp::SUM, false).error().what ==
          "int32 is not reduced here");
}

}  // namespace tally::comm
