#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

void add_raw_kernels(KernelList& list) { for_each_raw_kernel(list.adder()); }

}  // namespace tally::kernels::emulator
