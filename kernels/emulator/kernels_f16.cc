#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

void add_f16_kernels(KernelList& list) {
  for_each_kernel_of<Element<model::Format::f16>>(list.adder());
}

}  // namespace tally::kernels::emulator
