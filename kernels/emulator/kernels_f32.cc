#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

void add_f32_kernels(KernelList& list) {
  for_each_kernel_of<Element<model::Format::f32>>(list.adder());
}

}  // namespace tally::kernels::emulator
