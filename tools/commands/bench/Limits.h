// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured peak performance of the host, against which bench compares. Limits
// come from short bursts between timed runs. Only the best burst counts, so the
// peak is found even if other programs use the host.
#pragma once
#include <cstdint>
#include <string>

namespace transom::tools {

/// The host's limits with a given thread count.
struct MachineLimits {
  double flops = 0; ///< f32 operations per second, a multiply-add counts as two
  double bf16Flops = 0; ///< the same on bf16, accumulated in f32
  double int8Flops = 0; ///< the same on bytes, accumulated in i32
  /// Bytes per second, read from a cache that holds all data in a call,
  /// otherwise from memory; 0: not measured.
  double bandwidth = 0;

  /// Returns the min time in seconds for `all` operations, including `bf16` and
  /// `int8` operations.
  double getSeconds(double all, double bf16, double int8) const {
    return (all - bf16 - int8) / flops + bf16 / bf16Flops + int8 / int8Flops;
  }
};

/// Measures limits in bursts.
class LimitMeter {
public:
  /// Creates a meter for an instruction set (`avx2`, `avx512`, `avx512vnni`,
  /// `avx512bf16`, `amx`, `neon`) and a thread count. Reads a buffer with the
  /// bytes that a call reads, or a buffer that exceeds all caches if that is
  /// smaller or `callBytes` is 0.
  LimitMeter(const std::string &isa, unsigned threads, int64_t callBytes = 0);
  ~LimitMeter();
  LimitMeter(const LimitMeter &) = delete;
  LimitMeter &operator=(const LimitMeter &) = delete;

  /// Runs each peak loop for some milliseconds on all threads at once.
  void burst();
  /// Repeats bursts until the best stops improving, for up to half a second.
  void finish();
  /// Returns the best result over all bursts.
  const MachineLimits &best() const { return limits; }

private:
  std::string isa;
  unsigned threads;
  int64_t window = 0; // bytes that a thread reads in a burst ...
  int64_t passes = 1; // ... and how often
  int64_t region = 0; // bytes that a thread cycles through
  int64_t at = 0;     // where the next window begins
  char *buffer = nullptr;
  MachineLimits limits;
};

/// Measures all limits at once, in some tenths of a second.
MachineLimits measureLimits(const std::string &isa, unsigned threads);

} // namespace transom::tools
