// SPDX-License-Identifier: Apache-2.0
// Device kernel for CUDA and HIP: the two differ in runtime names only.

#include "device_kernel.h"

#if defined(GRIDPROBE_USE_HIP)
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#define GRIDPROBE_RUNTIME(name) hip##name
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define GRIDPROBE_RUNTIME(name) cuda##name
#endif

namespace gridprobe {

#if defined(GRIDPROBE_USE_HIP)
using BFloat16 = hip_bfloat16;
#else
using BFloat16 = __nv_bfloat16;
#endif

// Half types are computed in float: erf in half precision would lose most of its digits.
__device__ inline float load(float v) {
  return v;
}
__device__ inline double load(double v) {
  return v;
}
__device__ inline float load(__half v) {
  return __half2float(v);
}
__device__ inline float load(BFloat16 v) {
  return static_cast<float>(v);
}

__device__ inline void store(float* p, float v) {
  *p = v;
}
__device__ inline void store(double* p, double v) {
  *p = v;
}
__device__ inline void store(__half* p, float v) {
  *p = __float2half(v);
}
__device__ inline void store(BFloat16* p, float v) {
  *p = BFloat16(v);
}

__device__ inline float gelu(float v) {
  return 0.5f * v * (1.0f + erff(v * 0.70710678118654752440f));
}
__device__ inline double gelu(double v) {
  return 0.5 * v * (1.0 + erf(v * 0.70710678118654752440));
}

constexpr int kThreads = 256;
// Enough blocks to fill any current device; the grid-stride loop covers the rest.
constexpr int64_t kMaxBlocks = 65535;

// Not in an anonymous namespace: nvcc would name it after the source path, and two builds of the
// same source in different folders would differ.
template <typename T>
__global__ void fused_bias_gelu_kernel(
    const T* x, const T* bias, T* out, int64_t total, int64_t columns) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += stride) {
    store(out + i, gelu(load(x[i]) + load(bias[i % columns])));
  }
}

template <typename T>
DeviceStatus launch(
    const void* x, const void* bias, void* out, int64_t total, int64_t columns, void* stream) {
  const int64_t needed = (total + kThreads - 1) / kThreads;
  const int blocks = static_cast<int>(needed < kMaxBlocks ? needed : kMaxBlocks);
  fused_bias_gelu_kernel<T>
      <<<blocks, kThreads, 0, static_cast<GRIDPROBE_RUNTIME(Stream_t)>(stream)>>>(
          static_cast<const T*>(x),
          static_cast<const T*>(bias),
          static_cast<T*>(out),
          total,
          columns);
  // Catches a launch that was refused, for example because the binary has no code for this GPU.
  const GRIDPROBE_RUNTIME(Error_t) status = GRIDPROBE_RUNTIME(GetLastError)();
  return {static_cast<int>(status), GRIDPROBE_RUNTIME(GetErrorString)(status)};
}

DeviceStatus launch_fused_bias_gelu(
    ElementType type,
    const void* x,
    const void* bias,
    void* out,
    int64_t total,
    int64_t columns,
    void* stream) {
  switch (type) {
    case ElementType::Float32:
      return launch<float>(x, bias, out, total, columns, stream);
    case ElementType::Float64:
      return launch<double>(x, bias, out, total, columns, stream);
    case ElementType::Float16:
      return launch<__half>(x, bias, out, total, columns, stream);
    case ElementType::BFloat16:
      return launch<BFloat16>(x, bias, out, total, columns, stream);
  }
  return {-1, "unknown element type"};
}

} // namespace gridprobe
