// Goal: a library with NCCL's C API is run and judged: what is right passes, each fault is caught
// by the check that should. Method: a fake library that really computes, on a fake runtime in host
// memory, with one fault planted at a time (fake_nccl.cc).

#include "verify/nccl_subject.h"

#include <dlfcn.h>

#include <algorithm>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/verify/fake_gpu_runtime.h"
#include "verify/campaign.h"
#include "verify/report.h"

namespace {

using namespace tally;
using model::Collective;
using model::Format;
using model::Op;
using verify::CaseResult;
using verify::Detector;
using verify::Placement;
using verify::Verdict;

constexpr Collective kCollectives[] = {Collective::all_reduce, Collective::reduce_scatter,
                                       Collective::all_gather, Collective::all_to_all};

/// The subject on four devices, with a fault in the library for as long as this lives.
class Library {
 public:
  explicit Library(const char* fault = "none", const char* file = TALLY_FAKE_NCCL,
                   std::size_t memory_bytes = std::size_t{1} << 30, std::vector<int> devices = {})
      : runtime_(test::fake_gpu_runtime(4, memory_bytes)) {
    void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle != nullptr);
    set_fault_ = reinterpret_cast<void (*)(const char*)>(dlsym(handle, "fakeNcclSetFault"));
    set_fault_(fault);
    const auto api = kernels::hardware::nccl::Api::open(file);
    REQUIRE(api);
    // A clock that passes a second each time that it is looked at.
    subject_ = verify::nccl_subject(*runtime_, *api, {3, [this] { return ++now_; }, devices});
  }
  ~Library() { set_fault_("none"); }

  void set_fault(const char* fault) const { set_fault_(fault); }
  const verify::Subject& subject() const { return *subject_; }
  CaseResult run(const verify::Case& c) const { return verify::run_case(c, *subject_); }

 private:
  double now_ = 0;
  std::unique_ptr<kernels::hardware::GpuRuntime> runtime_;
  std::unique_ptr<verify::Subject> subject_;
  void (*set_fault_)(const char*) = nullptr;
};

verify::Case library_case(Collective collective = Collective::all_reduce, int ranks = 4,
                          const char* input = "normal") {
  verify::Case c;
  c.collective = collective;
  c.algorithm = verify::kLibrarysChoice;
  c.ranks = ranks;
  c.counts = {129, 40, 7};
  c.input = *reference::open_input(input);
  return c;
}

bool matches(const CaseResult& result, const char* name) {
  const auto& all = result.judgement.matches;
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// Every case of a collective with this arithmetic that the library runs has to pass.
int pass_all(const Library& library, Collective collective, model::Arithmetic arithmetic) {
  int cases = 0;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (const char* input : {"order_free", "normal", "cancel", "corner"}) {
      for (const Placement placement : verify::all_placements()) {
        verify::Case c = library_case(collective, ranks, input);
        c.arithmetic = arithmetic;
        c.placement = placement;
        c.counts = {129, 0, 1, 40};
        if (library.subject().cannot_run(c)) continue;
        const CaseResult result = library.run(c);
        CAPTURE(c.text(), result.judgement.reason);
        REQUIRE(result.judgement.verdict == Verdict::ok);
        REQUIRE(result.judgement.max_err_over_bound.value_or(0) <= 1);
        ++cases;
      }
    }
  }
  return cases;
}

}  // namespace

TEST_CASE("a healthy library passes, whatever it is asked to reduce", "[verify]") {
  const Library library;
  for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter}) {
    for (const Op op : model::all_ops()) {
      for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
        model::Arithmetic arithmetic;
        arithmetic.element = element;
        arithmetic.op = op;
        arithmetic.factor = op == Op::premul_sum ? 0.3f : 1;
        CHECK(pass_all(library, collective, arithmetic) == 4 * 4 * 3);
      }
    }
  }
}

TEST_CASE("a healthy library passes, whatever it is asked to move", "[verify]") {
  const Library library;
  for (const Collective collective : {Collective::all_gather, Collective::all_to_all}) {
    for (const model::ElementType element :
         {model::ElementType(Format::f32), model::ElementType(Format::bf16),
          model::ElementType(model::Moved::int8), model::ElementType(model::Moved::int32),
          model::ElementType(model::Moved::int64), model::ElementType(model::Moved::f64)}) {
      model::Arithmetic arithmetic;
      arithmetic.element = element;
      const int placements = collective == Collective::all_gather ? 3 : 2;
      CHECK(pass_all(library, collective, arithmetic) == 4 * 4 * placements);
    }
  }
}

TEST_CASE("a healthy library passes when its calls are captured and replayed", "[verify]") {
  const Library library;
  for (const Collective collective : kCollectives) {
    for (const Placement placement : verify::all_placements()) {
      verify::Case c = library_case(collective, 3);
      c.graph = true;
      c.counts = {40, 40, 40};
      c.placement = placement;
      if (library.subject().cannot_run(c)) continue;
      const CaseResult result = library.run(c);
      CAPTURE(c.text(), result.judgement.reason);
      CHECK(result.judgement.verdict == Verdict::ok);
    }
  }
}

TEST_CASE("results are judged exactly where order cannot matter, else by their bound", "[verify]") {
  const Library library;
  const CaseResult free = library.run(library_case(Collective::all_reduce, 4, "order_free"));
  CHECK(free.judgement.is_exact);
  CHECK_FALSE(free.judgement.max_err_over_bound);
  for (const char* name : {"ascending", "ring", "exact"}) CHECK(matches(free, name));
  CHECK(library.run(library_case(Collective::all_reduce, 2)).judgement.is_exact);

  verify::Case c = library_case();
  c.arithmetic.element = Format::bf16;
  const CaseResult bounded = library.run(c);
  CHECK_FALSE(bounded.judgement.is_exact);
  REQUIRE(bounded.judgement.max_err_over_bound);
  CHECK(*bounded.judgement.max_err_over_bound > 0);
  CHECK(bounded.judgement.max_abs_err > 0);
  CHECK(matches(bounded, "ring"));
  CHECK_FALSE(matches(bounded, "ascending"));
  CHECK_FALSE(matches(bounded, "exact"));
}

TEST_CASE("a report says by what was judged, and what the bits match", "[verify]") {
  const auto report = [](const CaseResult& result) {
    std::ostringstream out;
    verify::json_report(out)->add(result);
    return out.str();
  };
  const Library library;
  verify::Case c = library_case(Collective::all_reduce, 4, "order_free");
  const std::string exact = report(library.run(c));
  CHECK(exact.find(R"("judge":"exact")") != std::string::npos);
  CHECK(exact.find(R"("max_err_over_bound":null)") != std::string::npos);
  CHECK(exact.find(R"("matches":["ascending","ring","exact"])") != std::string::npos);
  const std::string bounded = report(library.run(library_case()));
  CHECK(bounded.find(R"("judge":"bound")") != std::string::npos);
  CHECK(bounded.find(R"("max_err_over_bound":0.)") != std::string::npos);
  CHECK(bounded.find(R"("matches":["ring"])") != std::string::npos);
}

TEST_CASE("what NCCL leaves open may be either way, and the result says which", "[verify]") {
  verify::Case mean = library_case();
  mean.arithmetic.op = Op::avg;
  const CaseResult premultiplied = Library().run(mean);
  CHECK(matches(premultiplied, "premultiplied"));
  CHECK(matches(premultiplied, "ring"));
  mean.ranks = 3;
  const CaseResult divided = Library("divided").run(mean);
  CHECK(divided.judgement.verdict == Verdict::ok);
  CHECK(matches(divided, "divided"));

  verify::Case factor = library_case(Collective::all_reduce, 2);
  factor.arithmetic.op = Op::premul_sum;
  factor.arithmetic.factor = 0.3f;
  CHECK(Library().run(factor).judgement.is_exact);
  const CaseResult fused = Library("fused").run(factor);
  CHECK(fused.judgement.verdict == Verdict::ok);
  CHECK(matches(fused, "fused"));
  CHECK_FALSE(matches(fused, "premultiplied"));
  CHECK(Library("beyond_bound").run(factor).judgement.verdict == Verdict::mismatch);

  verify::Case least = library_case(Collective::all_reduce, 4, "corner");
  least.arithmetic.op = Op::min;
  CHECK(matches(Library().run(least), "nan_dropped"));
  CHECK_FALSE(matches(Library().run(least), "nan_kept"));
  const CaseResult kept = Library("nan_kept").run(least);
  CHECK(kept.judgement.verdict == Verdict::ok);
  CHECK(matches(kept, "nan_kept"));

  verify::Case wider = library_case();
  wider.arithmetic.element = Format::bf16;
  CHECK(Library("f32_accumulate").run(wider).judgement.verdict == Verdict::ok);
  CHECK(Library("at_bound").run(wider).judgement.verdict == Verdict::ok);
}

TEST_CASE("each fault in the library is caught, by the check that should", "[verify]") {
  struct Row {
    const char* fault;
    Detector detector;
    Collective collective = Collective::all_reduce;
    Op op = Op::sum;
    const char* input = "normal";
  };
  for (const Row& row : {
           Row{"lost_tail", Detector::value},
           Row{"beyond_bound", Detector::value},
           Row{"f16_accumulate", Detector::value},
           Row{"nan_dropped", Detector::value, Collective::all_reduce, Op::sum, "corner"},
           Row{"nan_by_rank", Detector::value, Collective::all_reduce, Op::min, "corner"},
           Row{"guard_overwrite", Detector::bounds},
           Row{"input_modified", Detector::bounds},
           Row{"ranks_differ", Detector::identity},
           Row{"hang", Detector::hang},
           Row{"remote_error", Detector::hang},
           Row{"wrong_rank_order", Detector::value, Collective::all_gather},
           Row{"wrong_rank_order", Detector::value, Collective::all_to_all},
           Row{"lost_tail", Detector::value, Collective::reduce_scatter},
           Row{"input_modified", Detector::bounds, Collective::all_to_all},
       }) {
    verify::Case c = library_case(row.collective, 4, row.input);
    c.arithmetic.op = row.op;
    const Library library(row.fault);
    const CaseResult result = library.run(c);
    CAPTURE(row.fault, result.judgement.reason);
    CHECK(result.judgement.verdict != Verdict::ok);
    CHECK(result.judgement.caught_by == row.detector);
    // A hang does not outlive the case.
    library.set_fault("none");
    CHECK(library.run(c).judgement.verdict == Verdict::ok);
  }
}

TEST_CASE("a replay that does not read its inputs again is caught", "[verify]") {
  verify::Case c = library_case();
  c.graph = true;
  c.counts = {40, 40, 40};
  CHECK(Library("first_replay_only").run(c).judgement.caught_by == Detector::value);
}

TEST_CASE("a hang and an error are told in words", "[verify]") {
  const auto reason = [](const char* fault) {
    return Library(fault).run(library_case()).judgement.reason;
  };
  CHECK(reason("hang").find("rank 0 has not ended in time; rank 1") != std::string::npos);
  CHECK(reason("remote_error").find("rank 0 has not ended: remote process") != std::string::npos);
  CHECK(
      reason("invalid_usage").find("ncclAllReduce: invalid usage (the fake library's own words)") !=
      std::string::npos);
  CHECK(reason("no_communicator").find("ncclCommInitAll: system error") != std::string::npos);
}

TEST_CASE("an older library's all_to_all is sends and receives", "[verify]") {
  const Library older("none", TALLY_FAKE_NCCL_2_27);
  const CaseResult result = older.run(library_case(Collective::all_to_all, 3));
  CAPTURE(result.judgement.reason);
  CHECK(result.judgement.verdict == Verdict::ok);
  older.set_fault("lost_tail");
  CHECK(older.run(library_case(Collective::all_to_all, 3)).judgement.wrong > 0);
}

TEST_CASE("what does not fit into memory is said, and judged as a failure", "[verify]") {
  const Library library("none", TALLY_FAKE_NCCL, 4096);
  const CaseResult result = library.run(library_case());
  CHECK(result.judgement.verdict == Verdict::mismatch);
  CHECK(result.judgement.reason.find("do not fit into a GPU's memory") != std::string::npos);
}

TEST_CASE("the library is given the devices that are named, and no others", "[verify]") {
  const Library two("none", TALLY_FAKE_NCCL, std::size_t{1} << 30, {3, 1});
  CHECK(two.run(library_case(Collective::all_reduce, 2)).judgement.verdict == Verdict::ok);
  CHECK(two.subject().cannot_run(library_case(Collective::all_reduce, 3)) ==
        "NCCL takes one rank for each GPU: 2 GPUs here");
}

TEST_CASE("what the library cannot run is skipped for a reason", "[verify]") {
  const Library library;
  const auto why = [&](auto change) {
    verify::Case c = library_case();
    change(c);
    return library.subject().cannot_run(c).value_or("");
  };
  CHECK(why([](verify::Case&) {}) == "");
  CHECK(why([](verify::Case& c) { c.ranks = 5; }) ==
        "NCCL takes one rank for each GPU: 4 GPUs here");
  CHECK(why([](verify::Case& c) { c.algorithm = "ring"; }).find("auto") != std::string::npos);
  CHECK(why([](verify::Case& c) {
          c.arithmetic.wire = *model::parse_wire("e5m2");
        }).find("--wire") != std::string::npos);
  CHECK(why([](verify::Case& c) {
          c.arithmetic.accumulate = model::Accumulate::f32;
        }).find("--accumulate") != std::string::npos);
  CHECK(why([](verify::Case& c) { c.interleavings = 2; }).find("emulator") != std::string::npos);
  CHECK(why([](verify::Case& c) {
          c.collective = Collective::all_to_all;
          c.placement = Placement::in_place;
        }) == "NCCL has no all_to_all in place");
  CHECK(why([](verify::Case& c) { c.collective = Collective::all_to_all_v; }) ==
        "NCCL has no all_to_all_v");
}

TEST_CASE("--subject nccl=LIBRARY finds the library, or says why it is not available", "[verify]") {
  const auto runtime = test::fake_gpu_runtime(2);
  const std::string name = std::string("nccl=") + TALLY_FAKE_NCCL;
  const auto found = verify::find_subject(name, {runtime.get(), {}});
  REQUIRE(found);
  REQUIRE(found->subject != nullptr);
  CHECK_FALSE(found->subject->fixes_order());
  const std::string description = found->subject->description();
  CHECK(description.starts_with("Host x 2, host driver 1, runtime 2, "));
  CHECK(description.ends_with(std::string(TALLY_FAKE_NCCL) + " 2.28.9"));
  CHECK_FALSE(found->subject->cannot_run(library_case(Collective::all_reduce, 2)));
  const auto absent = verify::find_subject("nccl=libabsent.so", {runtime.get(), {}});
  REQUIRE(absent);
  CHECK(absent->subject == nullptr);
  CHECK(absent->unavailable.find("libabsent.so") != std::string::npos);
  CHECK(verify::find_subject(name, {})->unavailable.find("without kernels") != std::string::npos);
  CHECK(verify::find_subject(name, {runtime.get(), {2}})->unavailable.find("no device 2") !=
        std::string::npos);
}
