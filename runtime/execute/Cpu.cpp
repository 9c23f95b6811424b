// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instruction sets come from cpuid and the registers that the operating system
// saves (XCR0), cores from the affinity mask and sysfs, the quota from the
// cgroup's files of either version.
#include "runtime/execute/Cpu.h"
#include "runtime/base/Suggest.h"
#include <algorithm>
#include <fstream>
#include <sched.h>
#include <set>
#include <sstream>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace transom;

const std::vector<std::string> &transom::knownIsas() {
  static const std::vector<std::string> names = {"avx512bf16", "avx512vnni",
                                                 "avx512", "avx2", "neon"};
  return names;
}

#if defined(__x86_64__)
namespace {
/// The four registers of one cpuid leaf, zero where it does not exist.
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
  Leaf(unsigned leaf, unsigned subleaf) {
    __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d);
  }
};

uint64_t savedRegisters() {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool all(unsigned word, std::initializer_list<int> bits) {
  return std::all_of(bits.begin(), bits.end(),
                     [&](int bit) { return word >> bit & 1; });
}
} // namespace

static std::vector<std::string> detectIsas() {
  std::vector<std::string> found;
  Leaf one(1, 0), seven(7, 0), sevenOne(7, 1), extended(0x80000001, 0);
  constexpr int osxsave = 27, fma = 12, f16c = 29, avx = 28, movbe = 22;
  if (!all(one.c, {osxsave, fma, f16c, avx, movbe}))
    return found;
  uint64_t saved = savedRegisters();
  constexpr int bmi1 = 3, avx2 = 5, bmi2 = 8, lzcnt = 5;
  if ((saved & 0x6) != 0x6 || !all(seven.b, {bmi1, avx2, bmi2}) ||
      !all(extended.c, {lzcnt}))
    return found;
  found.push_back("avx2");
  constexpr int foundation = 16, dq = 17, cd = 28, bw = 30, vl = 31;
  if ((saved & 0xe6) != 0xe6 || !all(seven.b, {foundation, dq, cd, bw, vl}))
    return found;
  found.insert(found.begin(), "avx512");
  constexpr int vnni = 11, bf16 = 5;
  if (!all(seven.c, {vnni}))
    return found;
  found.insert(found.begin(), "avx512vnni");
  if (all(sevenOne.a, {bf16}))
    found.insert(found.begin(), "avx512bf16");
  return found;
}
#elif defined(__aarch64__)
static std::vector<std::string> detectIsas() { return {"neon"}; }
#else
static std::vector<std::string> detectIsas() { return {}; }
#endif

const std::vector<std::string> &transom::runnableIsas() {
  static const std::vector<std::string> names = detectIsas();
  return names;
}

static size_t indexOf(const std::vector<std::string> &names,
                      const std::string &name) {
  return size_t(std::find(names.begin(), names.end(), name) - names.begin());
}

Result<size_t> transom::chooseIsa(const std::vector<std::string> &available,
                                  const std::string &forced,
                                  const std::string &name) {
  const std::vector<std::string> &runnable = runnableIsas();
  std::string runs = runnable.empty() ? "none of ours" : joinNames(runnable);
  if (forced.empty()) {
    for (const std::string &isa : runnable)
      if (size_t index = indexOf(available, isa); index != available.size())
        return index;
    return unsupported(name + ": has no code for this CPU; it has code for: " +
                       joinNames(available) + "; this CPU runs: " + runs);
  }
  if (indexOf(knownIsas(), forced) == knownIsas().size())
    return unsupported("TRANSOM_FORCE_ISA: unknown instruction set '" + forced +
                       "'; known: " + joinNames(knownIsas()) +
                       suggest(forced, knownIsas()));
  size_t index = indexOf(available, forced);
  if (index == available.size())
    return unsupported(
        name + ": has no code for '" + forced +
        "', which TRANSOM_FORCE_ISA asks for; it has code for: " +
        joinNames(available));
  if (indexOf(runnable, forced) == runnable.size())
    return unsupported("this CPU does not run '" + forced +
                       "', which TRANSOM_FORCE_ISA asks for; it runs: " + runs);
  return index;
}

/// The CPUs that this thread may run on.
static std::vector<unsigned> allowedCpus() {
  std::vector<unsigned> cpus;
  for (size_t count = 1024; count <= (1u << 20); count *= 4) {
    cpu_set_t *set = CPU_ALLOC(count);
    if (!set)
      break;
    size_t size = CPU_ALLOC_SIZE(count);
    bool known = sched_getaffinity(0, size, set) == 0;
    for (size_t i = 0; known && i != count; ++i)
      if (CPU_ISSET_S(i, size, set))
        cpus.push_back(unsigned(i));
    CPU_FREE(set);
    if (known)
      break;
  }
  return cpus;
}

unsigned transom::usableCpus() {
  return unsigned(std::max<size_t>(1, allowedCpus().size()));
}

static std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// CPUs' worth of time that one cgroup folder allows; 0 when unlimited.
static double quotaOf(const std::string &folder) {
  std::istringstream both(firstLine(folder + "/cpu.max"));
  double quota = 0, period = 0;
  if (both >> quota >> period && period > 0)
    return quota / period;
  std::istringstream first(firstLine(folder + "/cpu.cfs_quota_us"));
  std::istringstream second(firstLine(folder + "/cpu.cfs_period_us"));
  if (first >> quota && second >> period && quota > 0 && period > 0)
    return quota / period;
  return 0;
}

/// The smallest quota of this process's cgroup and those above it.
static double cgroupQuota() {
  double smallest = 0;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string root = "/sys/fs/cgroup";
    if (controllers.find("cpu") != std::string::npos)
      root += "/" + controllers;
    else if (!controllers.empty())
      continue;
    for (std::string path = line.substr(second + 1);;
         path.resize(path.rfind('/'))) {
      double quota = quotaOf(root + path);
      if (quota > 0 && (smallest == 0 || quota < smallest))
        smallest = quota;
      if (path.empty() || path.rfind('/') == std::string::npos)
        break;
    }
  }
  return smallest;
}

unsigned transom::usableCores() {
  std::set<std::string> cores;
  for (unsigned cpu : allowedCpus()) {
    std::string siblings =
        firstLine("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                  "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? "cpu" + std::to_string(cpu) : siblings);
  }
  size_t count = std::max<size_t>(1, cores.size());
  double quota = cgroupQuota();
  if (quota > 0)
    count = std::min(count, std::max<size_t>(1, size_t(quota + 0.5)));
  return unsigned(count);
}
