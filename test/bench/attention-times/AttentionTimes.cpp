// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times one attention under each schedule, alternately, for several shapes: the
// code as stored in an artifact, called without a runtime. Workers run one
// after another and the slowest one counts, so that thread counts above the
// core count can be evaluated. The command `attention` prints tables from this
// output.
#include "dialects/kern/AttentionSchedule.h"
#include "runtime/base/InstructionSet.h"
#include "test/bench/kernel-times/Peak.h"
#include "test/support/KernelHarness.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace transom::kern;
using namespace transom::test;

namespace {

/// The command line options.
struct Job {
  std::string isa, dtype;
  int64_t heads = 0, kvHeads = 0, dk = 0, dv = 0;
  bool causal = false;
  double seconds = 0;                 ///< for each schedule and shape
  std::vector<std::string> schedules; ///< as `--attention-schedule` takes them
};

/// Sequences with one length, or with mixed lengths around it.
struct Shape {
  int64_t batch = 1, queries = 0, keys = 0, workers = 1;
  bool mixed = false;
};

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string str(int64_t value) { return std::to_string(value); }

std::string buffer(const std::string &rows, int64_t columns,
                   const std::string &type, const std::string &more = "") {
  return "!kern.buffer<[" + rows + ", " + str(columns) + "] x " + type + more +
         ">";
}

bool suitsAmx(const Job &job) {
  return job.dtype == "bf16" && !job.causal &&
         job.dk % transom::amxBf16Depth == 0;
}
int64_t getScratchFloats(const AttentionSchedule &schedule, const Job &job) {
  return getAttentionScratchFloats(schedule, job.dv, suitsAmx(job));
}
int64_t getSlotFloats(const Job &job) {
  return getAttentionSlotFloats(job.dv, suitsAmx(job));
}

/// A phase for each schedule: query, key, value, memory, out.
std::string buildModule(const Job &job) {
  // Operand types; scratch and partial results are sized for all schedules.
  std::string q = buffer("rows0", job.heads * job.dk, job.dtype),
              k = buffer("keys1", job.kvHeads * job.dk, job.dtype,
                         ", key_panels"),
              v = buffer("rows1", job.kvHeads * job.dv, job.dtype),
              y = buffer("rows0", job.heads * job.dv, job.dtype),
              p = buffer("parts", kSplitKvSlots * getSlotFloats(job), "f32"),
              c = buffer("parts", kSplitKvSlots, "i64"), text;
  // One function per schedule; the queries and keys have separate tables.
  for (size_t i = 0; i < job.schedules.size(); ++i) {
    AttentionSchedule schedule = *AttentionSchedule::parse(job.schedules[i]);
    std::string t = buffer("parts", getScratchFloats(schedule, job), "f32");
    text += "func.func @a" + str(i) + "(%q: " + q + ", %k: " + k +
            ", %v: " + v + ", %t: " + t + ", %p: " + p + ", %c: " + c +
            ", %y: " + y +
            ") attributes {kern.symbols = [\"batch\", \"keys0\", \"keys1\", "
            "\"parts\", \"rows0\", \"rows1\", \"seq0\", \"seq1\"]} {\n";
    for (const char *s : {"0", "1"})
      text += std::string("  %s") + s +
              " = kern.ragged_batch {batch = \"batch\", columns = \"seq" + s +
              "\", rows = \"rows" + s + "\", keys = \"keys" + s +
              "\"} : !kern.ragged<" + s + ">\n";
    text += "  kern.phase \"a" + str(i) +
            "\" {\n    kern.attention %q, %k, %v ragged %s0, %s1 scratch %t "
            "partials %p counters %c outs(%y) heads " +
            str(job.heads) + " kv_heads " + str(job.kvHeads) +
            " scale 0.125 {schedule = #kern.schedule<" +
            schedule.getAttrText() + ">" + (job.causal ? ", causal" : "") +
            "} : " + q + ", " + k + ", " + v +
            ", !kern.ragged<0>, !kern.ragged<1>, " + t + ", " + p + ", " + c +
            ", " + y + "\n  }\n  return\n}\n";
  }
  return text;
}

/// Random operands for a shape and a frame for each schedule.
class Operands {
public:
  Operands(KernelHarness &harness, const Job &job, const Shape &shape)
      : workers(shape.workers), queries(makeTable(shape, shape.queries)),
        keys(makeTable(shape, shape.keys)) {
    // Scratch memory must suffice for the largest schedule.
    int64_t size = job.dtype == "bf16" ? 2 : 4, rows = queries.rows();
    int64_t scratch = 0;
    for (const std::string &name : job.schedules)
      scratch = std::max(
          scratch, getScratchFloats(*AttentionSchedule::parse(name), job));
    // Allocate the seven operands at cache line borders and fill the inputs.
    int64_t bytes[] = {rows * job.heads * job.dk * size,
                       keys.keys() * job.kvHeads * job.dk * size,
                       keys.rows() * job.kvHeads * job.dv * size,
                       workers * scratch * 4,
                       workers * kSplitKvSlots * getSlotFloats(job) * 4,
                       workers * kSplitKvSlots * 8,
                       rows * job.heads * job.dv * size};
    for (int i = 0; i < 7; ++i) {
      memory.emplace_back(bytes[i] / 4 + 32);
      auto address = reinterpret_cast<uintptr_t>(memory.back().data());
      call.args.push_back(reinterpret_cast<void *>((address + 63) / 64 * 64));
      if (i < 3)
        fill(call.args.back(), bytes[i], size, i);
    }
    // Symbols and row tables are shared by all phases.
    call.numWorkers = workers;
    call.symbols = {
        {"batch", queries.batch()},    {"rows0", rows},
        {"keys0", queries.keys()},     {"seq0", queries.table().columns},
        {"rows1", keys.rows()},        {"keys1", keys.keys()},
        {"seq1", keys.table().columns}};
    call.ragged = {queries.table(), keys.table()};
    for (size_t i = 0; i < job.schedules.size(); ++i)
      phases.push_back(harness.prepare(job.isa, "a" + str(i), call));
    // Count the FLOP for visible pairs only.
    for (int64_t b = 0; b < queries.batch(); ++b) {
      double pairs =
          double(queries.sequence(b).num_tokens) * keys.sequence(b).num_keys;
      flops +=
          2 * pairs * job.heads * (job.dk + job.dv) * (job.causal ? 0.5 : 1);
    }
  }

  /// Returns the slowest worker's seconds under a schedule.
  double run(size_t schedule) {
    double slowest = 0;
    for (int64_t worker = 0; worker < workers; ++worker) {
      Clock::time_point start = Clock::now();
      phases[schedule].function(&phases[schedule].frame, nullptr, worker,
                                workers);
      slowest = std::max(slowest, secondsSince(start));
    }
    return slowest;
  }

  double flops = 0; ///< that an ideal implementation does
  int64_t workers;

private:
  static RaggedTable makeTable(const Shape &shape, int64_t columns) {
    std::vector<std::vector<int>> mask;
    for (int64_t b = 0; b < shape.batch; ++b) {
      // Mixed: a few long ones among many short ones.
      int64_t length = !shape.mixed || b % 8 == 0
                           ? columns
                           : std::max<int64_t>(1, columns * (b % 8) / 32);
      mask.emplace_back(columns, 0);
      std::fill_n(mask.back().begin(), length, 1);
    }
    return RaggedTable(mask);
  }

  /// Fills memory with random values; the upper half of a float is a bf16.
  static void fill(void *target, int64_t bytes, int64_t size, uint64_t seed) {
    Random random(seed + 1);
    for (int64_t at = 0; at + size <= bytes; at += size) {
      float number = random.number() * 2;
      memcpy(static_cast<char *>(target) + at,
             reinterpret_cast<char *>(&number) + 4 - size, size);
    }
  }

  RaggedTable queries, keys;
  std::vector<std::vector<float>> memory;
  PhaseCall call;
  std::vector<PreparedPhase> phases;
};

/// `4x128`, `1x16x4096` (queries, keys), `mixed:32x256`, each perhaps `@PARTS`.
Shape parseShape(std::string text) {
  Shape shape;
  if (size_t at = text.find('@'); at != std::string::npos) {
    shape.workers = atoll(text.c_str() + at + 1);
    text.resize(at);
  }
  if (text.rfind("mixed:", 0) == 0) {
    shape.mixed = true;
    text = text.substr(6);
  }
  std::stringstream stream(text);
  std::vector<int64_t> numbers;
  for (std::string number; std::getline(stream, number, 'x');)
    numbers.push_back(atoll(number.c_str()));
  shape.batch = numbers.at(0);
  shape.queries = numbers.at(1);
  shape.keys = numbers.size() > 2 ? numbers[2] : numbers[1];
  return shape;
}

/// Returns the shortest time for each schedule; schedules alternate.
std::vector<double> bestSeconds(const Job &job, Operands &operands) {
  std::vector<double> best(job.schedules.size(), 1e9);
  Clock::time_point start = Clock::now();
  do
    for (size_t i = 0; i < best.size(); ++i)
      best[i] = std::min(best[i], operands.run(i));
  while (secondsSince(start) < job.seconds * double(best.size()));
  return best;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 11) {
    fprintf(stderr, "usage: attention-times ISA DTYPE HEADS KV-HEADS DK DV "
                    "CAUSAL SECONDS SCHEDULE,... SHAPE...\n");
    return 2;
  }
  // Parse the job and its schedules.
  Job job{argv[1],
          argv[2],
          atoll(argv[3]),
          atoll(argv[4]),
          atoll(argv[5]),
          atoll(argv[6]),
          atoi(argv[7]) != 0,
          atof(argv[8]),
          {}};
  std::stringstream names(argv[9]);
  for (std::string name; std::getline(names, name, ',');) {
    if (!AttentionSchedule::parse(name)) {
      fprintf(stderr, "unknown schedule '%s'\n", name.c_str());
      return 2;
    }
    job.schedules.push_back(name);
  }
  // Compile all schedules, and measure the peak in the runtime's float mode.
  KernelHarness harness(buildModule(job), job.isa);
  if (harness.isas().empty()) {
    fprintf(stderr, "no code for '%s' that this CPU runs\n", argv[1]);
    return 1;
  }
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(0x1f80 | 1u << 15 | 1u << 6); // as the runtime sets it
#endif
  double peak = peakFlops(job.isa, job.dtype);
  // Print a row per shape: seconds and the share of the peak per schedule.
  for (int i = 10; i < argc; ++i) {
    Operands operands(harness, job, parseShape(argv[i]));
    std::vector<double> best = bestSeconds(job, operands);
    peak = std::max(peak, peakFlops(job.isa, job.dtype));
    printf("%s", argv[i]);
    for (double seconds : best)
      printf(" %.9g %.4f", seconds,
             operands.flops / (peak * double(operands.workers)) / seconds);
    printf("\n");
    fflush(stdout);
  }
  printf("peak %.9g\n", peak);
  return 0;
}
