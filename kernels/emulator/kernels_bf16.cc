#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

void add_bf16_kernels(KernelList& list) {
  for_each_kernel_of<Element<model::Format::bf16>>(list.adder());
}

}  // namespace tally::kernels::emulator
