#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

void add_f32_kernels(KernelList& list) { list.add_element<Element<model::Format::f32>>(); }

}  // namespace tally::kernels::emulator
