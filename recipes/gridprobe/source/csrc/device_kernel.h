// SPDX-License-Identifier: Apache-2.0
// The only interface between the host code, which knows torch, and the device code, which does
// not: nvcc and hipcc never parse a torch header, so the device compiler's C++ level and memory
// use are independent of torch, and a CPU build of torch is enough to build either wheel.
#pragma once

#include <cstdint>

namespace gridprobe {

enum class ElementType { Float32, Float64, Float16, BFloat16 };

// The runtime's own status: 0 is success in both CUDA and HIP. The text is a static string.
struct DeviceStatus {
  int code;
  const char* text;
};

// Enqueues the kernel on the stream (a cudaStream_t or hipStream_t) of the current device.
DeviceStatus launch_fused_bias_gelu(
    ElementType type,
    const void* x,
    const void* bias,
    void* out,
    int64_t total,
    int64_t columns,
    void* stream);

} // namespace gridprobe
