// SPDX-License-Identifier: Apache-2.0
// Input validation and allocation shared by the CPU and the device kernel.
#pragma once

#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

namespace gridprobe {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Contiguous operands, an uninitialized result and the extents that the kernels loop over.
struct Operands {
  Tensor x;
  Tensor bias;
  Tensor out;
  int64_t total;
  int64_t columns;
};

inline void check_inputs(const Tensor& x, const Tensor& bias) {
  const auto x_device = x.device();
  const auto bias_device = bias.device();
  // The dispatcher picks the kernel from the highest-priority operand, so the other operand can
  // live anywhere: reading its pointer unchecked would be a wild access.
  STD_TORCH_CHECK(
      x_device.type() == bias_device.type() && x_device.index() == bias_device.index(),
      "fused_bias_gelu: x and bias must be on the same device");
  STD_TORCH_CHECK(
      x.scalar_type() == bias.scalar_type(),
      "fused_bias_gelu: x and bias must have the same dtype, got ",
      torch::headeronly::toString(x.scalar_type()),
      " and ",
      torch::headeronly::toString(bias.scalar_type()));
  STD_TORCH_CHECK(x.dim() >= 1, "fused_bias_gelu: x must have at least one dimension");
  STD_TORCH_CHECK(
      bias.dim() == 1, "fused_bias_gelu: bias must have one dimension, got ", bias.dim());
  const int64_t columns = x.size(x.dim() - 1);
  STD_TORCH_CHECK(
      bias.size(0) == columns,
      "fused_bias_gelu: shape mismatch, bias has ",
      bias.size(0),
      " elements but the last dimension of x is ",
      columns);
}

// Call after check_inputs and, on a device, under a guard: it allocates.
inline Operands prepare(const Tensor& x, const Tensor& bias) {
  // new_empty, not empty_like: the result is contiguous whatever the strides of x are, which is
  // what the fake implementation in Python promises to torch.compile.
  return Operands{
      torch::stable::contiguous(x),
      torch::stable::contiguous(bias),
      torch::stable::new_empty(x, x.sizes()),
      x.numel(),
      x.size(x.dim() - 1)};
}

} // namespace gridprobe
