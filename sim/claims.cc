#include "sim/claims.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/claim_samples.h"

namespace tally::sim {
namespace {

const char* const kRcclx =
    "Meta, RCCLX: Innovating GPU communications on AMD platforms (24 Feb 2026)";
const char* const kG7e = "AWS News Blog, Amazon EC2 G7e instances (Jan 2026)";

const char* const kDecode =
    "batch 1 to 64 of llama3-70b and llama3-405b on 8x MI300X, context 2048, bf16; with graphs and "
    "without; RCCL 2.22.3";
const char* const kRequests =
    "1 to 64 requests to llama3-70b and llama3-405b on 8x MI300X, bf16; prompts of 128 to 8192 "
    "tokens, one after the other, and 256 new tokens each, in graphs; ";

const char* const kServed =
    "llama3-8b and llama3-70b where they fit both, bf16 and fp8 weights; decode with batch 1 to 64 "
    "and context 2048, prefill of 128 to 8192 tokens; NCCL";
constexpr int kOneGpu[] = {1}, kSeveralGpus[] = {2, 4, 8};

std::vector<Claim> rcclx_claims(Asker& ask) {
  return {
      {"all-reduce, share of a request's latency", kRcclx, kRequests + std::string("RCCL 2.22.3"),
       "%", Claimed::at_most, 0, 30, share_of_all_reduce(ask),
       "Nothing overlaps here, and every kernel attains its roofline, so that all-reduces weigh "
       "more than beside slower kernels. Which requests Meta means is not said."},
      {"DDA against RCCL, all-reduces of decode: faster by", kRcclx, kDecode, "%", Claimed::within,
       10, 50, dda_against_rccl(ask, InferencePhase::decode),
       "What RCCL does decides: 2.22.3 has kernels of its own that do without a ring, MSCCL++ in "
       "graphs, which leaves little to gain, and MSCCL outside."},
      {"DDA against RCCL, all-reduces of prefill: faster by", kRcclx,
       "prompts of 128 to 8192 tokens to llama3-70b and llama3-405b on 8x MI300X, bf16, whose sum "
       "RCCLX gives to DDA (at most 29 MiB); RCCL 2.22.3",
       "%", Claimed::within, 10, 30, dda_against_rccl(ask, InferencePhase::prefill),
       "Two shots move as many bytes as a ring, so that what is gained are hops: less the larger "
       "the call."},
      {"RCCLX against RCCL, time to the next token: less by", kRcclx, kDecode, "%", Claimed::within,
       10, 10, less_time_to_next_token(ask),
       "The gain of the all-reduces, times their share of the step."},
      {"low precision, latency of a request: less by", kRcclx, kRequests + std::string("RCCLX"),
       "%", Claimed::within, 9, 10, low_precision_requests(ask, percent_less),
       "Low precision reaches prefill alone, since decode sends less than 16 MiB: the gain falls "
       "with the share of prefill in a request, which is not published."},
      {"low precision, tokens a second: more by", kRcclx, kRequests + std::string("RCCLX"), "%",
       Claimed::within, 7, 7, low_precision_requests(ask, percent_faster),
       "Of the same requests 9..10 % less latency is 9.9..11.1 % more tokens a second; the two "
       "published figures are therefore not of one run."},
      {"low precision, takes less time from", kRcclx, "8x MI300X and 8x MI350X, f32 and bf16",
       "MiB", Claimed::within, 16, 16, low_precision_from(ask),
       "16 MiB is a constant of RCCLX's dispatch, whatever the GPU and the element type; below it "
       "nothing is encoded. Computed is where, from there on, it pays."},
  };
}

std::vector<Claim> g7e_claims(Asker& ask) {
  return {
      {"G7e against G6e, memory bandwidth: times", kG7e, "the presets", "x", Claimed::within, 1.85,
       1.85, memory_ratio(ask), "An input: the peaks of both data sheets."},
      {"G7e against G6e, bandwidth from GPU to GPU: times", kG7e, "the presets", "x",
       Claimed::at_most, 0, 4, link_ratio(ask),
       "An input: nobody measured G6e in public, and its preset takes a fourth of G7e's from this "
       "claim."},
      {"G7e against G6e, tokens a second on one GPU: times", kG7e, kServed, "x", Claimed::at_most,
       0, 2.3, throughput_ratio(ask, kOneGpu),
       "One GPU gains as its memory does in decode, and its matrix units in prefill; AWS does not "
       "say what it measured, nor whether software or number formats changed too."},
      {"G7e against G6e, tokens a second on 2 to 8 GPUs: times", kG7e, kServed, "x",
       Claimed::at_most, 0, 2.3, throughput_ratio(ask, kSeveralGpus),
       "The larger the sums, the more the links' ratio counts; but G6e's links are the claim of "
       "four times itself, and nobody measured NCCL on them."},
  };
}

}  // namespace

const Sample& Claim::nearest() const {
  const double low = kind == Claimed::at_most ? claimed_high : claimed_low;
  const auto distance = [&](const Sample& sample) {
    return std::abs(sample.value - std::clamp(sample.value, low, claimed_high));
  };
  return *std::min_element(samples.begin(), samples.end(), [&](const Sample& a, const Sample& b) {
    return distance(a) < distance(b);
  });
}

double Claim::differs_by() const {
  if (kind == Claimed::at_most) return most() - claimed_high;
  return median() - std::clamp(median(), claimed_low, claimed_high);
}

model::Result<std::vector<Claim>> claims(const World& world) {
  Asker ask(world);
  std::vector<Claim> all = rcclx_claims(ask);
  for (Claim claim : g7e_claims(ask)) all.push_back(std::move(claim));
  if (ask.error) return *ask.error;
  for (Claim& claim : all) {
    std::sort(claim.samples.begin(), claim.samples.end(), [](const Sample& a, const Sample& b) {
      return std::tie(a.value, a.setting) < std::tie(b.value, b.setting);
    });
  }
  return all;
}

model::Result<std::vector<Claim>> claims() {
  return claims({[](const std::string& machine) { return model::find_machine(machine); }, predict});
}

}  // namespace tally::sim
