// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cores come from the affinity mask and sysfs, the quota from cgroup files
// (version 1 or 2).
#include "runtime/execute/Cpu.h"
#include "runtime/base/InstructionSet.h"
#include "runtime/base/Suggest.h"
#include <algorithm>
#include <fstream>
#include <sched.h>
#include <set>
#include <sstream>

using namespace transom;

static size_t indexOf(const std::vector<std::string> &names,
                      const std::string &name) {
  return size_t(std::find(names.begin(), names.end(), name) - names.begin());
}

/// The names of all instruction sets that run here, strongest first.
static std::vector<std::string> getRunnableNames() {
  std::vector<std::string> names;
  for (const InstructionSet *isa : getRunnableInstructionSets())
    names.push_back(isa->name);
  return names;
}

Result<size_t> transom::chooseIsa(const std::vector<std::string> &available,
                                  const std::string &forced,
                                  const std::string &name) {
  const std::vector<std::string> runnable = getRunnableNames();
  const std::string runs = runnable.empty() ? "none" : joinNames(runnable);

  // Without a forced instruction set choose the strongest that runs here.
  if (forced.empty()) {
    for (const std::string &isa : runnable)
      if (size_t index = indexOf(available, isa); index != available.size())
        return index;
    return unsupported(name + ": has no code for this CPU; it has code for: " +
                       joinNames(available) + "; this CPU runs: " + runs);
  }

  // A forced instruction set has to be known, in the artifact and supported by
  // the host.
  const std::vector<std::string> known = getInstructionSetNames();
  if (!findInstructionSet(forced))
    return unsupported("TRANSOM_FORCE_ISA: unknown instruction set '" + forced +
                       "'; supported: " + joinNames(known) +
                       suggest(forced, known));
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
    const size_t size = CPU_ALLOC_SIZE(count);
    std::vector<unsigned char> memory(size);
    auto *set = reinterpret_cast<cpu_set_t *>(memory.data());
    if (sched_getaffinity(0, size, set) != 0)
      continue;
    for (size_t i = 0; i != count; ++i)
      if (CPU_ISSET_S(i, size, set))
        cpus.push_back(unsigned(i));
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

/// The CPU quota that one cgroup folder allows, in CPUs; 0 if unlimited.
static double readQuota(const std::string &folder) {
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

/// The smallest quota in this process's cgroup and its ancestors.
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
      double quota = readQuota(root + path);
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
