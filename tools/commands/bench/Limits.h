// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the machine can do at most, measured: the yardstick of bench. Short
// bursts between timed runs, of which the best counts, find the peak also on a
// machine that others use.
#pragma once
#include <cstdint>
#include <string>

namespace transom::tools {

/// The machine's limits with so many threads.
struct MachineLimits {
  double flops = 0;     ///< f32 operations a second, multiply-add counts two
  double bf16Flops = 0; ///< the same on bf16, accumulated in f32
  double int8Flops = 0; ///< the same on bytes, accumulated in i32
  /// Bytes a second read from where the data of a call lies: from a cache that
  /// holds it all, else from memory; 0: not measured.
  double bandwidth = 0;

  /// The least time of so many operations, of which some multiply bf16 and some
  /// bytes.
  double getSeconds(double all, double bf16, double int8) const {
    return (all - bf16 - int8) / flops + bf16 / bf16Flops + int8 / int8Flops;
  }
};

/// Measures limits in bursts.
class LimitMeter {
public:
  /// For the vectors of an instruction set (`avx2`, `avx512`, `avx512vnni`,
  /// `avx512bf16`, `amx`, `neon`), on so many threads. Reads a buffer of the
  /// bytes that a call reads, or one that no cache holds if that is smaller or
  /// `callBytes` is 0.
  LimitMeter(const std::string &isa, unsigned threads, int64_t callBytes = 0);
  ~LimitMeter();
  LimitMeter(const LimitMeter &) = delete;
  LimitMeter &operator=(const LimitMeter &) = delete;

  /// Some milliseconds of each peak loop, on all threads at once.
  void burst();
  /// Bursts until the best does not get better, for up to half a second.
  void finish();
  /// The best of the bursts.
  const MachineLimits &best() const { return limits; }

private:
  std::string isa;
  unsigned threads;
  int64_t window = 0; // bytes that a thread reads in a burst ...
  int64_t passes = 1; // ... so often
  int64_t region = 0; // bytes that a thread goes round in
  int64_t at = 0;     // where the next window begins
  char *buffer = nullptr;
  MachineLimits limits;
};

/// Measures all limits at once; takes some tenths of a second.
MachineLimits measureLimits(const std::string &isa, unsigned threads);

} // namespace transom::tools
