// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs what two explanations have in common, and keeps what differs.
#include "tools/commands/explain/Comparison.h"
#include "compiler/explain/FieldJson.h"
#include "tools/commands/explain/ExplainFormat.h"
#include <algorithm>
#include <map>

using namespace transom;
using namespace transom::tools;

namespace {

/// Two explanations and what is found.
class Comparer {
public:
  Comparer(const Explanation &a, const Explanation &b) : a(a), b(b) {}

  Comparison run();

private:
  void compareTexts();
  void compareNumbers();
  void compareEntry(const std::string &name, const ExplainedEntry *entryA,
                    const ExplainedEntry *entryB);
  void comparePasses();
  void compareRemarks();
  void comparePhases(const std::string &name, const ExplainedEntry *entryA,
                     const ExplainedEntry *entryB);
  void addText(const std::string &name, const std::string &textA,
               const std::string &textB);

  const Explanation &a, &b;
  Comparison result;
};

} // namespace

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

void Comparer::addText(const std::string &name, const std::string &textA,
                       const std::string &textB) {
  if (textA != textB)
    result.texts.push_back({name, textA, textB});
}

void Comparer::compareTexts() {
  addText("model", a.model.name, b.model.name);
  addText("architecture", a.model.architecture, b.model.architecture);
  addText("transom", a.compile.transom, b.compile.transom);
  addText("instruction sets", join(a.compile.isas), join(b.compile.isas));
  addText("cache", a.compile.kvDtype, b.compile.kvDtype);
  addText("disabled passes", join(a.compile.disabledPasses),
          join(b.compile.disabledPasses));
  std::map<std::string, std::pair<std::string, std::string>> options;
  for (const ExplainedArgument &option : a.compile.options)
    options[option.key].first = option.value;
  for (const ExplainedArgument &option : b.compile.options)
    options[option.key].second = option.value;
  for (const auto &[name, values] : options)
    addText("--" + name, values.first, values.second);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The entry of that name, or null.
static const ExplainedEntry *findEntry(const Explanation &explanation,
                                       const std::string &name) {
  for (const ExplainedEntry &entry : explanation.entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

/// The names of both, those of `a` first.
static std::vector<std::string> getEntryNames(const Explanation &a,
                                              const Explanation &b) {
  std::vector<std::string> names;
  for (const Explanation *explanation : {&a, &b})
    for (const ExplainedEntry &entry : explanation->entries)
      if (std::find(names.begin(), names.end(), entry.name) == names.end())
        names.push_back(entry.name);
  return names;
}

static std::optional<int64_t> getFlops(const ExplainedPhase &phase) {
  if (!phase.flops.value)
    return std::nullopt;
  return *phase.flops.value * phase.runs;
}

/// Weights and buffers of all runs of a phase.
static std::optional<int64_t> getBytes(const ExplainedPhase &phase) {
  if (!phase.bytes.value)
    return std::nullopt;
  return (*phase.bytes.value + phase.weightBytes) * phase.runs;
}

static std::optional<int64_t> getMovedBytes(const ExplainedEntry &entry) {
  int64_t sum = 0;
  for (const ExplainedPhase &phase : entry.phases) {
    std::optional<int64_t> bytes = getBytes(phase);
    if (!bytes)
      return std::nullopt;
    sum += *bytes;
  }
  return sum;
}

void Comparer::compareEntry(const std::string &name,
                            const ExplainedEntry *entryA,
                            const ExplainedEntry *entryB) {
  using Get = std::optional<int64_t> (*)(const ExplainedEntry &);
  const std::tuple<const char *, const char *, Get> numbers[] = {
      {"operations of a call", "FLOP",
       [](const ExplainedEntry &entry) { return entry.flops.value; }},
      {"of them in bf16", "FLOP",
       [](const ExplainedEntry &entry) { return entry.bf16Flops.value; }},
      {"weights read", "bytes",
       [](const ExplainedEntry &entry) {
         return std::optional(entry.streamedBytes);
       }},
      {"weights and buffers moved", "bytes", getMovedBytes},
      {"memory of a call", "bytes",
       [](const ExplainedEntry &entry) { return entry.arenaBytes.value; }},
      {"barriers", "",
       [](const ExplainedEntry &entry) {
         return std::optional(entry.barriers);
       }},
  };
  for (const auto &[what, unit, get] : numbers)
    result.numbers.push_back({name, what, unit,
                              entryA ? get(*entryA) : std::nullopt,
                              entryB ? get(*entryB) : std::nullopt});
}

void Comparer::compareNumbers() {
  result.numbers.push_back(
      {"", "parameters", "", a.model.parameters, b.model.parameters});
  result.numbers.push_back(
      {"", "packed weights", "bytes", a.weightBytes, b.weightBytes});
  for (const std::string &name : getEntryNames(a, b)) {
    const ExplainedEntry *entryA = findEntry(a, name);
    const ExplainedEntry *entryB = findEntry(b, name);
    compareEntry(name, entryA, entryB);
    comparePhases(name, entryA, entryB);
  }
}

//===----------------------------------------------------------------------===//
// Passes and remarks
//===----------------------------------------------------------------------===//

/// What each run of a pass did; runs of one flag are numbered.
static std::vector<std::pair<std::string, std::string>>
getPasses(const Explanation &explanation) {
  std::vector<std::pair<std::string, std::string>> passes;
  std::map<std::string, int> runs;
  for (const ExplainedPass &pass : explanation.passes) {
    if (!pass.isa.empty())
      continue;
    const int run = ++runs[pass.pass];
    passes.emplace_back(
        pass.pass + (run > 1 ? " (run " + std::to_string(run) + ")" : ""),
        pass.changed ? "changed" : "no change");
  }
  return passes;
}

void Comparer::comparePasses() {
  const auto passesA = getPasses(a), passesB = getPasses(b);
  auto find = [](const auto &passes, const std::string &name) {
    for (const auto &[pass, what] : passes)
      if (pass == name)
        return what;
    return std::string("not run");
  };
  for (const auto &[name, what] : passesA)
    if (std::string other = find(passesB, name); other != what)
      result.passes.push_back({name, what, other});
  for (const auto &[name, what] : passesB)
    if (find(passesA, name) == "not run")
      result.passes.push_back({name, "not run", what});
}

static std::vector<RemarkGroup> getGroups(const Explanation &explanation) {
  std::vector<const ExplainedRemark *> remarks;
  for (const ExplainedRemark &remark : explanation.remarks)
    remarks.push_back(&remark);
  return groupRemarks(remarks);
}

void Comparer::compareRemarks() {
  auto toRemark = [](const char *in, const RemarkGroup &group) {
    const ExplainedRemark &first = *group.first;
    return ComparedRemark{in, first.kind, first.category, group.getPlace(),
                          group.getMessage()};
  };
  auto key = [](const ComparedRemark &remark) {
    return std::tie(remark.kind, remark.category, remark.place, remark.message);
  };
  std::vector<ComparedRemark> remarksA, remarksB;
  for (const RemarkGroup &group : getGroups(a))
    remarksA.push_back(toRemark("a", group));
  for (const RemarkGroup &group : getGroups(b))
    remarksB.push_back(toRemark("b", group));
  auto addMissing = [&](const std::vector<ComparedRemark> &remarks,
                        const std::vector<ComparedRemark> &others) {
    for (const ComparedRemark &remark : remarks)
      if (std::none_of(others.begin(), others.end(),
                       [&](const ComparedRemark &other) {
                         return key(other) == key(remark);
                       }))
        result.remarks.push_back(remark);
  };
  addMissing(remarksA, remarksB);
  addMissing(remarksB, remarksA);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// Phases by place; a second one of the same place is numbered.
static std::vector<std::pair<std::string, const ExplainedPhase *>>
getPhases(const ExplainedEntry *entry) {
  std::vector<std::pair<std::string, const ExplainedPhase *>> phases;
  std::map<std::string, int> known;
  if (!entry)
    return phases;
  for (const ExplainedPhase &phase : entry->phases) {
    std::string place = formatPlace(phase.place.location);
    const int number = ++known[place];
    if (number > 1)
      place += " (" + std::to_string(number) + ")";
    phases.emplace_back(std::move(place), &phase);
  }
  return phases;
}

void Comparer::comparePhases(const std::string &name,
                             const ExplainedEntry *entryA,
                             const ExplainedEntry *entryB) {
  const auto phasesA = getPhases(entryA), phasesB = getPhases(entryB);
  auto find = [](const auto &phases,
                 const std::string &place) -> const ExplainedPhase * {
    for (const auto &[other, phase] : phases)
      if (other == place)
        return phase;
    return nullptr;
  };
  auto add = [&](const std::string &place, const ExplainedPhase *phaseA,
                 const ExplainedPhase *phaseB) {
    ComparedPhase phase{name,
                        place,
                        phaseA ? describePhase(*phaseA) : "",
                        phaseB ? describePhase(*phaseB) : "",
                        {},
                        {},
                        {},
                        {}};
    if (phaseA) {
      phase.flopsA = getFlops(*phaseA);
      phase.bytesA = getBytes(*phaseA);
    }
    if (phaseB) {
      phase.flopsB = getFlops(*phaseB);
      phase.bytesB = getBytes(*phaseB);
    }
    if (phase.a != phase.b || phase.flopsA != phase.flopsB ||
        phase.bytesA != phase.bytesB)
      result.phases.push_back(std::move(phase));
  };
  for (const auto &[place, phase] : phasesA)
    add(place, phase, find(phasesB, place));
  for (const auto &[place, phase] : phasesB)
    if (!find(phasesA, place))
      add(place, nullptr, phase);
}

Comparison Comparer::run() {
  compareTexts();
  compareNumbers();
  comparePasses();
  compareRemarks();
  return std::move(result);
}

Comparison tools::compare(const Explanation &a, const Explanation &b) {
  return Comparer(a, b).run();
}

std::string tools::toJson(const Comparison &comparison) {
  return writeFields(comparison);
}
