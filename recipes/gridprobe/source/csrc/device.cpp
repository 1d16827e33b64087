// SPDX-License-Identifier: Apache-2.0
// Host side of the CUDA and HIP kernel. Guard and stream come from the accelerator-neutral part of
// the stable ABI, whose symbols libtorch_cpu exports in every build of torch.

#include "checks.h"
#include "device_kernel.h"

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>

namespace gridprobe {
namespace {

ElementType element_type(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Float:
      return ElementType::Float32;
    case ScalarType::Double:
      return ElementType::Float64;
    case ScalarType::Half:
      return ElementType::Float16;
    case ScalarType::BFloat16:
      return ElementType::BFloat16;
    default:
      STD_TORCH_CHECK(
          false,
          "fused_bias_gelu: the device kernel supports float32, float64, float16 and bfloat16, "
          "got ",
          torch::headeronly::toString(dtype));
  }
}

Tensor fused_bias_gelu_device(const Tensor& x, const Tensor& bias) {
  check_inputs(x, bias);
  // The dispatcher never does this; a redispatch can, and the pointers would be host pointers.
  STD_TORCH_CHECK(x.is_cuda(), "fused_bias_gelu: the device kernel needs tensors on the device");
  const ElementType type = element_type(x.scalar_type());
  // The guard precedes every allocation and the launch: the caller's current device may differ
  // from the tensors' device.
  const auto index = x.get_device_index();
  const torch::stable::accelerator::DeviceGuard guard(index);
  const Operands operands = prepare(x, bias);
  if (operands.total == 0) {
    return operands.out;
  }
  const auto stream = torch::stable::accelerator::getCurrentStream(index);
  const DeviceStatus status = launch_fused_bias_gelu(
      type,
      operands.x.const_data_ptr(),
      operands.bias.const_data_ptr(),
      operands.out.mutable_data_ptr(),
      operands.total,
      operands.columns,
      stream.nativeHandle());
  STD_TORCH_CHECK(
      status.code == 0,
      "fused_bias_gelu: kernel launch failed with status ",
      status.code,
      ": ",
      status.text);
  return operands.out;
}

} // namespace
} // namespace gridprobe

// torch dispatches AMD devices under the CUDA key as well.
STABLE_TORCH_LIBRARY_IMPL(gridprobe, CUDA, m) {
  m.impl("fused_bias_gelu", TORCH_BOX(&gridprobe::fused_bias_gelu_device));
}
