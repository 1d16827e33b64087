// SPDX-License-Identifier: Apache-2.0
// Operator schemas and the CPU kernel.

#include "checks.h"

#include <torch/csrc/stable/library.h>

#include <cmath>
#include <stdexcept>
#include <string>

namespace gridprobe {
namespace {

// Below this many elements a second thread costs more than it saves.
constexpr int64_t kGrainSize = 16384;

template <typename T>
void run_cpu(const Operands& operands) {
  const T* x = operands.x.const_data_ptr<T>();
  const T* bias = operands.bias.const_data_ptr<T>();
  T* out = operands.out.mutable_data_ptr<T>();
  const int64_t columns = operands.columns;
  const T inv_sqrt2 = static_cast<T>(0.70710678118654752440);
  torch::stable::parallel_for(
      0, operands.total, kGrainSize, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T v = x[i] + bias[i % columns];
          out[i] = static_cast<T>(0.5) * v * (static_cast<T>(1) + std::erf(v * inv_sqrt2));
        }
      });
}

Tensor fused_bias_gelu_cpu(const Tensor& x, const Tensor& bias) {
  check_inputs(x, bias);
  const ScalarType dtype = x.scalar_type();
  STD_TORCH_CHECK(
      dtype == ScalarType::Float || dtype == ScalarType::Double,
      "fused_bias_gelu: the CPU kernel supports float32 and float64, got ",
      torch::headeronly::toString(dtype));
  const Operands operands = prepare(x, bias);
  if (operands.total == 0) {
    return operands.out;
  }
  if (dtype == ScalarType::Float) {
    run_cpu<float>(operands);
  } else {
    run_cpu<double>(operands);
  }
  return operands.out;
}

// Throws a plain C++ exception on purpose. A toolchain that links its own C++ runtime produces an
// extension whose exceptions libtorch cannot catch: it works until the first error and then kills
// the process. Only raising one tells the two apart.
void throw_error(const std::string& message) {
  throw std::runtime_error(message);
}

} // namespace
} // namespace gridprobe

STABLE_TORCH_LIBRARY(gridprobe, m) {
  m.def("fused_bias_gelu(Tensor x, Tensor bias) -> Tensor");
  m.def("throw_error(str message) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(gridprobe, CPU, m) {
  m.impl("fused_bias_gelu", TORCH_BOX(&gridprobe::fused_bias_gelu_cpu));
}

// Without a Tensor argument there is no backend key to dispatch on.
STABLE_TORCH_LIBRARY_IMPL(gridprobe, CompositeExplicitAutograd, m) {
  m.impl("throw_error", TORCH_BOX(&gridprobe::throw_error));
}
