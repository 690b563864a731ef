// Code that fuses a multiplication with an addition: the rule for the emulator must reject it.

namespace tally::kernels::assembly {

float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

}  // namespace tally::kernels::assembly
