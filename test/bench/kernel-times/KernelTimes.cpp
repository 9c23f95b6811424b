// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times one GEMM with a weight on one thread, for several row counts: the code
// as stored in an artifact, called without a runtime. The command `kernels`
// prints tables from this output.
#include "test/bench/kernel-times/Peak.h"
#include "test/support/KernelHarness.h"
#include "tools/commands/bench/Limits.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace transom::test;

namespace {

/// The command line options.
struct Job {
  std::string isa, dtype, epilogue;
  int64_t k = 0, n = 0;
  int64_t weightBytes =
      0;              ///< total size for weight copies that calls alternate
  double seconds = 0; ///< for each row count
  std::vector<int64_t> rows;
};

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string str(int64_t value) { return std::to_string(value); }

/// Adds a cache line to rows with a stride that is a multiple of 4096 bytes, as
/// the planner does.
int64_t getStride(int64_t columns, int64_t elementBytes) {
  int64_t bytes = columns * elementBytes;
  return (bytes + (bytes % 4096 ? 0 : 64)) / elementBytes;
}

std::string bufferType(int64_t columns, const std::string &dtype) {
  int64_t stride = getStride(columns, dtype == "bf16" ? 2 : 4);
  return "!kern.buffer<[rows, " + str(columns) + "] x " + dtype +
         (stride == columns ? "" : ", stride " + str(stride)) + ">";
}

/// Builds a module with the phase `product`: input, residual, out.
std::string buildModule(const Job &job) {
  std::string input = bufferType(job.k, job.dtype),
              out = bufferType(job.n, "f32"),
              weight = "!kern.weight<[" + str(job.n) + ", " + str(job.k) +
                       "] x " + job.dtype + ", panels32>",
              bias = "!kern.weight<[" + str(job.n) + "] x f32, padded32>";
  bool residual = job.epilogue == "residual";
  std::string attribute = residual || job.epilogue == "none"
                              ? ""
                              : " epilogue <" + job.epilogue + ">";
  return "kern.weight @w : " + weight + " = #weight.expr<file(\"w\")>\n" +
         "kern.weight @b : " + bias + " = #weight.expr<file(\"w\")>\n" +
         "func.func @product(%x: " + input + ", %r: " + out + ", %y: " + out +
         ") attributes {kern.symbols = [\"rows\"]} {\n" +
         "  %w = kern.get_weight @w : " + weight + "\n" +
         "  %b = kern.get_weight @b : " + bias + "\n" +
         "  kern.phase \"product\" {\n    kern.gemm %x, %w bias %b" +
         (residual ? " residual %r" : "") + " outs(%y)" + attribute + " : " +
         input + ", " + weight + ", " + bias + (residual ? ", " + out : "") +
         ", " + out + "\n  }\n  return\n}\n";
}

/// Fills memory with values in [-1, 1), converted to a type.
void fillRandom(void *memory, int64_t bytes, const std::string &dtype,
                uint64_t seed) {
  Random random(seed);
  const int64_t size = dtype == "bf16" ? 2 : 4;
  for (int64_t at = 0; at + size <= bytes; at += size) {
    float number = random.number();
    // The upper half of a little-endian float is a bf16.
    memcpy(static_cast<char *>(memory) + at,
           reinterpret_cast<char *>(&number) + 4 - size, size);
  }
}

/// Copies of the weight and the bias, in the harness's layout.
class WeightCopies {
public:
  WeightCopies(KernelHarness &harness, const Job &job) {
    auto *weight = reinterpret_cast<char *>(harness.weight("w"));
    auto *bias = reinterpret_cast<char *>(harness.weight("b"));
    const size_t size = harness.weightBytes("w");
    fillRandom(weight, size, job.dtype, 1);
    fillRandom(bias, harness.weightBytes("b"), "f32", 2);
    origin = weight;
    const size_t count = 1 + job.weightBytes / size;
    for (size_t i = 0; i < count; ++i) {
      memory.emplace_back(bias + harness.weightBytes("b") - weight + 64);
      memcpy(start(i), weight, size);
      memcpy(start(i) + (bias - weight), bias, harness.weightBytes("b"));
    }
  }
  size_t count() const { return memory.size(); }
  /// Returns the value for `frame.weights` with which a call reads copy `i`.
  const char *moved(const char *weights, size_t i) {
    return weights + (start(i) - origin);
  }

private:
  char *start(size_t i) {
    auto address = reinterpret_cast<uintptr_t>(memory[i].data());
    return reinterpret_cast<char *>((address + 63) / 64 * 64);
  }
  std::vector<std::vector<char>> memory;
  const char *origin;
};

/// Returns the shortest time for one call.
double bestSeconds(KernelHarness &harness, const Job &job, WeightCopies &copies,
                   int64_t rows) {
  const int64_t inputBytes =
      rows * getStride(job.k, job.dtype == "bf16" ? 2 : 4) * 4;
  const int64_t outBytes = rows * getStride(job.n, 4) * 4;
  Guarded<char> input(inputBytes), residual(outBytes), out(outBytes);
  fillRandom(input.data(), inputBytes, job.dtype, 3);
  fillRandom(residual.data(), outBytes, "f32", 4);
  PhaseCall call;
  call.symbols = {{"rows", rows}};
  call.args = {input.data(), residual.data(), out.data()};
  PreparedPhase phase = harness.prepare(job.isa, "product", call);
  const char *weights = phase.frame.weights;
  double best = 1e9;
  size_t next = 0;
  const Clock::time_point start = Clock::now();
  // Short windows, since others may use the core in between.
  while (secondsSince(start) < job.seconds) {
    int64_t calls = 0;
    const Clock::time_point window = Clock::now();
    double took;
    do {
      phase.frame.weights = copies.moved(weights, next++ % copies.count());
      phase.function(&phase.frame, nullptr, 0, 1);
      ++calls;
      took = secondsSince(window);
    } while (took < 50e-6);
    best = std::min(best, took / double(calls));
  }
  return best;
}

/// Denormals as zero, as the runtime sets it.
void flushDenormals() {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(0x1f80 | 1u << 15 | 1u << 6);
#endif
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 9) {
    fprintf(stderr, "usage: kernel-times ISA DTYPE EPILOGUE K N WEIGHT-BYTES "
                    "SECONDS ROWS...\n");
    return 2;
  }
  Job job{argv[1],        argv[2],        argv[3],       atoll(argv[4]),
          atoll(argv[5]), atoll(argv[6]), atof(argv[7]), {}};
  for (int i = 8; i < argc; ++i)
    job.rows.push_back(atoll(argv[i]));
  KernelHarness harness(buildModule(job), job.isa);
  if (harness.isas().empty()) {
    fprintf(stderr, "no code for '%s' that this CPU runs\n", argv[1]);
    return 1;
  }
  flushDenormals();
  WeightCopies copies(harness, job);
  double peak = peakFlops(job.isa, job.dtype);
  for (int64_t rows : job.rows) {
    printf("%lld %.9g\n", static_cast<long long>(rows),
           bestSeconds(harness, job, copies, rows));
    peak = std::max(peak, peakFlops(job.isa, job.dtype));
  }
  // Weights that are read again and again lie in the caches that hold them.
  transom::tools::LimitMeter meter(
      job.isa, 1, job.weightBytes ? 0 : int64_t(harness.weightBytes("w")));
  meter.finish();
  printf("peak %.9g %.9g\n", peak, meter.best().bandwidth);
  return 0;
}
