// Goal: the interpreter has the properties that every all-reduce has by definition, and the
// properties can be broken.
// Method: RapidCheck draws the cases; then subjects with one fault each, which properties named
// beside them have to reject.

#include <rapidcheck.h>

#include <array>
#include <map>
#include <set>

#include "reference/run.h"
#include "tests/reference/collective_properties.h"
#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace tally::reference {
namespace {

using model::Accumulate;
using model::Arithmetic;
using model::Format;
using model::Op;
using test::CollectiveProperty;
using test::PropertyCall;
using test::PropertySubject;

const std::vector<std::string> kAlgorithms = {"flat", "tree", "ring"};

std::vector<Arithmetic> arithmetics() {
  std::vector<Arithmetic> all;
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    for (const Op op : {Op::sum, Op::avg}) {
      all.push_back({element, model::kNoWire, op, Accumulate::element});
      all.push_back({element, model::kNoWire, op, Accumulate::f32});
      for (const model::Wire& wire : model::all_wires()) {
        if (!wire.is_none()) all.push_back({element, wire, op, Accumulate::f32});
      }
    }
  }
  return all;
}

/// Whether 200 drawn cases all have the property.
bool holds(const CollectiveProperty& property, const PropertySubject& subject,
           const std::vector<Arithmetic>& among) {
  rc::detail::TestParams params;
  params.maxSuccess = 200;
  params.seed = 1;
  params.disableShrinking = true;
  const auto check = [&] {
    const auto c = test::any_property_case(kAlgorithms, among, 4);
    RC_ASSERT(property.violation(subject, c) == "");
  };
  const auto result = rc::detail::checkTestable(check, rc::detail::TestMetadata(), params);
  return result.is<rc::detail::SuccessResult>();
}

void flip(std::vector<std::byte>& codes, std::size_t index) {
  if (index < codes.size()) codes[index] ^= std::byte{1};
}

/// The interpreter, whose outputs `spoil` then changes.
template <class Spoil>
PropertySubject spoilt(Spoil spoil) {
  return test::subject_of([spoil](const model::Schedule& schedule, const RankBuffers& inputs) {
    RankBuffers outputs = run(schedule, inputs);
    spoil(schedule, inputs, outputs);
    return outputs;
  });
}

/// `spoil` may change the inputs before the interpreter sees them.
template <class Spoil>
PropertySubject misread(Spoil spoil) {
  return test::subject_of([spoil](const model::Schedule& schedule, RankBuffers inputs) {
    spoil(schedule, inputs);
    return run(schedule, inputs);
  });
}

struct Broken {
  const char* fault;
  PropertySubject subject;
  std::vector<std::string_view> rejected_by;  // parts of their claims
};

void zero_codes_beyond(const model::Schedule& schedule, RankBuffers& outputs, std::int64_t kept) {
  const int bytes = model::format(schedule.arithmetic.element).bytes();
  for (auto& output : outputs) {
    std::fill(output.begin() + std::min<std::ptrdiff_t>(std::ssize(output), kept * bytes),
              output.end(), std::byte{});
  }
}

void drop_nans(const model::Schedule& schedule, RankBuffers& inputs) {
  const Format id = schedule.arithmetic.element;
  for (auto& input : inputs) {
    std::vector<std::byte> kept;
    for (std::int64_t i = 0; i < schedule.count; ++i) {
      const std::uint32_t code = test::code_at(id, input, i);
      test::append_code(id, model::format(id).is_nan(code) ? 0 : code, kept);
    }
    input = kept;
  }
}

/// The second of two calls shows the first output that the first one left.
std::vector<RankBuffers> show_the_last_call(std::span<const PropertyCall> calls) {
  std::vector<RankBuffers> outputs;
  for (const PropertyCall& call : calls) outputs.push_back(run(call.schedule, call.inputs));
  if (outputs.size() > 1 && calls[1].schedule.count > 0) {
    const int bytes = model::format(calls[0].schedule.arithmetic.element).bytes();
    for (std::size_t rank = 0; rank < outputs[1].size(); ++rank) {
      std::copy_n(outputs[0][rank].begin(), bytes, outputs[1][rank].begin());
    }
  }
  return outputs;
}

std::vector<Broken> broken_subjects() {
  std::vector<Broken> all;
  all.push_back({"the last rank's first element differs",
                 spoilt([](const model::Schedule&, const RankBuffers&, RankBuffers& outputs) {
                   if (outputs.size() > 1) flip(outputs.back(), 0);
                 }),
                 {"all ranks end"}});
  all.push_back({"rank 0 is added in the place of rank 1",
                 misread([](const model::Schedule&, RankBuffers& inputs) {
                   if (inputs.size() > 1) inputs[1] = inputs[0];
                 }),
                 {"the order of the ranks"}});
  all.push_back(
      {"sums start at -0",
       spoilt([](const model::Schedule& schedule, const RankBuffers&, RankBuffers& out) {
         const int bytes = model::format(schedule.arithmetic.element).bytes();
         for (auto& codes : out) {
           const auto begin = codes.begin();
           for (auto code = begin; code != codes.end(); code += bytes) {
             if (std::all_of(code, code + bytes, [](auto b) { return b == std::byte{}; })) {
               code[bytes - 1] = std::byte{0x80};
             }
           }
         }
       }),
       {"zeros sum"}});
  all.push_back({"NaN is read as 0", misread(drop_nans), {"a NaN on any rank"}});
  all.push_back({"the first element depends on all others",
                 spoilt([](const model::Schedule&, const RankBuffers& in, RankBuffers& outputs) {
                   std::byte parity{};
                   for (const std::byte code : in[0]) parity ^= code;
                   for (auto& output : outputs) {
                     if ((parity & std::byte{0x40}) != std::byte{}) flip(output, 0);
                   }
                 }),
                 {"an element changes none", "make the whole", "begin alike"}});
  all.push_back({"a sum in place misses",
                 spoilt([](const model::Schedule& schedule, const RankBuffers&, RankBuffers& out) {
                   for (auto& output : out) {
                     if (schedule.in_place) flip(output, 0);
                   }
                 }),
                 {"in place"}});
  all.push_back({"a second lane misses",
                 spoilt([](const model::Schedule& schedule, const RankBuffers&, RankBuffers& out) {
                   for (auto& output : out) {
                     if (schedule.lanes[0].size() == 2) flip(output, 0);
                   }
                 }),
                 {"the number of lanes"}});
  all.push_back({"the elements beyond a multiple of ranks * 128 are dropped",
                 spoilt([](const model::Schedule& schedule, const RankBuffers&, RankBuffers& out) {
                   const std::int64_t units = schedule.count / (128 * schedule.ranks);
                   zero_codes_beyond(schedule, out, units * 128 * schedule.ranks);
                 }),
                 {"begin alike"}});
  all.push_back({"only the first 300 elements are exchanged",
                 spoilt([](const model::Schedule& schedule, const RankBuffers&, RankBuffers& out) {
                   zero_codes_beyond(schedule, out, 300);
                 }),
                 {"make the whole"}});
  all.push_back({"a call shows the one before", show_the_last_call, {"what a call left"}});
  return all;
}

}  // namespace

TEST_CASE("the interpreter's all-reduce", "[reference]") {
  const std::vector<Arithmetic> all = arithmetics();
  for (const CollectiveProperty& property : test::collective_properties()) {
    test::property(std::string(property.claim), [&] {
      const auto c = test::any_property_case(kAlgorithms, all, 8);
      RC_ASSERT(property.violation(test::subject_of(run), c) == "");
    });
  }
}

TEST_CASE("every property rejects a subject that breaks it", "[reference]") {
  const std::vector<Arithmetic> all = arithmetics();
  std::set<std::string_view> rejecting;
  for (const Broken& broken : broken_subjects()) {
    for (const std::string_view part : broken.rejected_by) {
      for (const CollectiveProperty& property : test::collective_properties()) {
        if (property.claim.find(part) == std::string_view::npos) continue;
        INFO(broken.fault << " | " << property.claim);
        CHECK_FALSE(holds(property, broken.subject, all));
        rejecting.insert(property.claim);
      }
    }
  }
  CHECK(rejecting.size() == test::collective_properties().size());
}

TEST_CASE("the generator of cases reaches every algorithm and kind of count", "[reference]") {
  std::map<std::string, int> reached;
  const std::vector<Arithmetic> all = arithmetics();
  const auto count = [&] {
    const auto c = test::any_property_case(kAlgorithms, all, 8);
    const std::int64_t chunks = c.shape.ranks * c.shape.arithmetic.wire.unit();
    ++reached[c.algorithm];
    ++reached[c.shape.in_place ? "in place" : "out of place"];
    ++reached[c.shape.count == 0 ? "nothing" : c.shape.count < 128 ? "less than a unit" : "more"];
    ++reached[c.shape.count > chunks ? "more than one round" : "at most one round"];
    ++reached[c.shape.count % chunks == 0 ? "whole" : "ragged"];
    ++reached["ranks=" + std::to_string(c.shape.ranks)];
  };
  rc::detail::TestParams params;
  params.maxSuccess = 1000;
  params.seed = 1;
  rc::detail::checkTestable(count, rc::detail::TestMetadata(), params);
  CHECK(reached.size() == 20);
  for (const auto& [what, times] : reached) {
    INFO(what);
    CHECK(times >= 20);
  }
}

TEST_CASE("the generator reaches every class of numbers of each element type", "[reference]") {
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    const Arithmetic a{element, model::cast_wire(Format::e4m3fn), Op::sum, Accumulate::f32};
    test::Random random(1);
    std::array<int, 5> reached{};
    for (int i = 0; i < 10000; ++i) {
      const std::uint32_t code = test::edge_code(a, random);
      ++reached[static_cast<std::size_t>(model::format(element).classify(code))];
    }
    for (const int times : reached) CHECK(times >= 20);
  }
}

}  // namespace tally::reference
