// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs the items that two explanations share and stores the differences.
#include "tools/commands/explain/Comparison.h"
#include "runtime/json/FieldJson.h"
#include "tools/commands/explain/ExplainFormat.h"
#include <algorithm>
#include <cmath>
#include <map>

using namespace transom;
using namespace transom::tools;

namespace {

/// Compares two explanations and collects the differences.
class Comparer {
public:
  Comparer(const MeasuredCompile &a, const MeasuredCompile &b)
      : a(a.explanation), b(b.explanation), measuredA(a), measuredB(b) {}

  Comparison run();

private:
  void addNotes();
  void compareTexts();
  void compareNumbers();
  void compareEntry(const std::string &name, const ExplainedEntry *entryA,
                    const ExplainedEntry *entryB);
  void comparePaddedCalls(const std::string &name, const ExplainedEntry *entryA,
                          const ExplainedEntry *entryB);
  void comparePasses();
  void compareRemarks();
  void comparePhases(const std::string &name, const ExplainedEntry *entryA,
                     const ExplainedEntry *entryB);
  void findCalls(const ExplainedEntry *entryA, const ExplainedEntry *entryB);
  void addText(const std::string &name, const std::string &textA,
               const std::string &textB);

  const Explanation &a, &b;
  const MeasuredCompile &measuredA, &measuredB;
  /// Calls whose times are compared for the current entry; null without one.
  const MeasuredCall *callA = nullptr, *callB = nullptr;
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

static std::string getDisabledPasses(const Explanation &explanation) {
  std::vector<std::string> flags;
  for (const DisabledPass &pass : explanation.compile.disabledPasses)
    flags.push_back(pass.pass);
  return join(flags);
}

void Comparer::addNotes() {
  const std::pair<const char *, const std::string &> notes[] = {
      {"A: ", a.formatNote}, {"B: ", b.formatNote}};
  for (const auto &[side, note] : notes)
    if (!note.empty())
      result.notes.push_back(side + note);
}

void Comparer::compareTexts() {
  addText("model", a.model.name, b.model.name);
  addText("architecture", a.model.architecture, b.model.architecture);
  addText("transom", a.compile.transom, b.compile.transom);
  addText("instruction sets", join(a.compile.isas), join(b.compile.isas));
  addText("cache", a.compile.kvDtype, b.compile.kvDtype);
  addText("disabled passes", getDisabledPasses(a), getDisabledPasses(b));
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

/// Returns the entry with this name, or null.
static const ExplainedEntry *findEntry(const Explanation &explanation,
                                       const std::string &name) {
  for (const ExplainedEntry &entry : explanation.entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

/// Returns the entry names in either explanation, `a` first.
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

/// Returns the weight and buffer bytes that all phase runs move.
static std::optional<int64_t> getBytes(const ExplainedPhase &phase) {
  if (!phase.bytes.value)
    return std::nullopt;
  return (*phase.bytes.value + phase.weightBytes) * phase.runs;
}

static int64_t toNs(double ms) {
  return static_cast<int64_t>(std::llround(ms * 1e6));
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
  // Costs that each compile reports for the entry.
  const std::tuple<const char *, const char *, Get> numbers[] = {
      {"operations of a call", "FLOP",
       [](const ExplainedEntry &entry) { return entry.flops.value; }},
      {"of them in bf16", "FLOP",
       [](const ExplainedEntry &entry) { return entry.bf16Flops.value; }},
      {"of them of whole numbers", "FLOP",
       [](const ExplainedEntry &entry) { return entry.int8Flops.value; }},
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
  // Store them next to each other, with null for a missing entry.
  for (const auto &[what, unit, get] : numbers)
    result.numbers.push_back({name, what, unit,
                              entryA ? get(*entryA) : std::nullopt,
                              entryB ? get(*entryB) : std::nullopt});
  comparePaddedCalls(name, entryA, entryB);
  // Measured times follow if either compile has a profile.
  if (callA || callB)
    result.numbers.push_back(
        {name, "time of " + (callA ? callA : callB)->getSizes(), "ns",
         callA ? std::optional(toNs(callA->ms)) : std::nullopt,
         callB ? std::optional(toNs(callB->ms)) : std::nullopt});
}

/// Compares calls with equal lengths only; otherwise models with different
/// batches would be compared.
void Comparer::comparePaddedCalls(const std::string &name,
                                  const ExplainedEntry *entryA,
                                  const ExplainedEntry *entryB) {
  const PaddedCall *paddedA =
      entryA && entryA->padded ? &*entryA->padded : nullptr;
  const PaddedCall *paddedB =
      entryB && entryB->padded ? &*entryB->padded : nullptr;
  if ((!paddedA && !paddedB) ||
      (paddedA && paddedB && paddedA->lengths != paddedB->lengths))
    return;
  const std::string call = formatCall(*(paddedA ? paddedA : paddedB));
  const std::tuple<const char *, const char *,
                   std::optional<int64_t> PaddedCall::*>
      numbers[] = {
          {"operations of ", "FLOP", &PaddedCall::flops},
          {"weights and buffers moved by ", "bytes", &PaddedCall::bytes},
          {"memory of ", "bytes", &PaddedCall::arenaBytes},
      };
  for (const auto &[what, unit, member] : numbers)
    result.numbers.push_back({name, what + call, unit,
                              paddedA ? paddedA->*member : std::nullopt,
                              paddedB ? paddedB->*member : std::nullopt});
}

void Comparer::findCalls(const ExplainedEntry *entryA,
                         const ExplainedEntry *entryB) {
  callA = entryA ? findCall(measuredA.calls, *entryA) : nullptr;
  callB = entryB ? findCall(measuredB.calls, *entryB) : nullptr;
  if (!callA || !callB || callA->getSizes() == callB->getSizes())
    return;
  // Find a pair with equal sizes.
  for (const MeasuredCall &first : measuredA.calls)
    for (const MeasuredCall &second : measuredB.calls)
      if (first.entry == entryA->name && second.entry == entryB->name &&
          first.getSizes() == second.getSizes()) {
        callA = &first;
        callB = &second;
        return;
      }
  callA = callB = nullptr;
}

void Comparer::compareNumbers() {
  result.numbers.push_back(
      {"", "parameters", "", a.model.parameters, b.model.parameters});
  result.numbers.push_back(
      {"", "packed weights", "bytes", a.weightBytes, b.weightBytes});
  for (const std::string &name : getEntryNames(a, b)) {
    const ExplainedEntry *entryA = findEntry(a, name);
    const ExplainedEntry *entryB = findEntry(b, name);
    findCalls(entryA, entryB);
    compareEntry(name, entryA, entryB);
    comparePhases(name, entryA, entryB);
  }
}

//===----------------------------------------------------------------------===//
// Passes and remarks
//===----------------------------------------------------------------------===//

/// Returns the outcome for each pass run; repeated runs get a number.
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

namespace {

/// Sums over the phases that one compile has at one location.
struct PhaseSum {
  std::vector<std::string> texts;
  std::optional<int64_t> flops = 0, bytes = 0, ns;
  int64_t runs = 0;

  void add(const ExplainedPhase &phase, const MeasuredCall *call);
};

/// Phases that both compiles have at one location, in all layers.
struct PhaseGroup {
  std::string path; ///< without a layer, as the first phase names it
  std::vector<std::string> titles; ///< phase titles
  std::set<int64_t> layers;

  /// Returns the common module path, otherwise the titles of all phases.
  std::string getTitle() const {
    const std::string common = getCommonPath(path);
    return common.empty() ? join(titles, "; ") : common;
  }

  PhaseSum a, b;
};

} // namespace

/// Adds a number; the sum is unknown if either operand is.
static void addKnown(std::optional<int64_t> &sum,
                     std::optional<int64_t> number) {
  sum = sum && number ? std::optional(*sum + *number) : std::nullopt;
}

void PhaseSum::add(const ExplainedPhase &phase, const MeasuredCall *call) {
  const std::string text = describePhase(phase);
  if (std::find(texts.begin(), texts.end(), text) == texts.end())
    texts.push_back(text);
  addKnown(flops, getFlops(phase));
  addKnown(bytes, getBytes(phase));
  if (const PhaseTime *time = call ? call->find(phase.name) : nullptr)
    ns = ns.value_or(0) + toNs(time->ms);
  runs += phase.runs;
}

/// Adds the phases in an entry to the groups for their locations.
static void addPhases(const ExplainedEntry *entry, const MeasuredCall *call,
                      PhaseSum PhaseGroup::*side,
                      std::vector<PhaseGroup> &groups) {
  if (!entry)
    return;
  for (const ExplainedPhase &phase : entry->phases) {
    const LayerPath path = splitLayer(phase.place.location);
    auto group = std::find_if(
        groups.begin(), groups.end(), [&](const PhaseGroup &other) {
          return other.layers.empty() == path.layers.empty() &&
                 nameCommonModule(other.path, path.rest);
        });
    if (group == groups.end())
      group =
          groups.insert(groups.end(), PhaseGroup{path.rest, {}, {}, {}, {}});
    group->layers.insert(path.layers.begin(), path.layers.end());
    if (std::string title = describePlace(phase);
        std::find(group->titles.begin(), group->titles.end(), title) ==
        group->titles.end())
      group->titles.push_back(std::move(title));
    ((*group).*side).add(phase, call);
  }
}

void Comparer::comparePhases(const std::string &name,
                             const ExplainedEntry *entryA,
                             const ExplainedEntry *entryB) {
  std::vector<PhaseGroup> groups;
  addPhases(entryA, callA, &PhaseGroup::a, groups);
  addPhases(entryB, callB, &PhaseGroup::b, groups);
  for (const PhaseGroup &group : groups) {
    ComparedPhase phase;
    phase.entry = name;
    phase.place = joinPlace(group.getTitle(), group.layers);
    phase.a = join(group.a.texts, "; ");
    phase.b = join(group.b.texts, "; ");
    phase.runsA = group.a.runs;
    phase.runsB = group.b.runs;
    phase.flopsA = group.a.flops;
    phase.flopsB = group.b.flops;
    phase.bytesA = group.a.bytes;
    phase.bytesB = group.b.bytes;
    phase.nsA = group.a.ns;
    phase.nsB = group.b.ns;
    // Measured times always differ slightly, so list each timed phase.
    if (phase.a != phase.b || phase.runsA != phase.runsB ||
        phase.flopsA != phase.flopsB || phase.bytesA != phase.bytesB ||
        (phase.nsA && phase.nsB))
      result.phases.push_back(std::move(phase));
  }
}

Comparison Comparer::run() {
  addNotes();
  compareTexts();
  compareNumbers();
  comparePasses();
  compareRemarks();
  return std::move(result);
}

Comparison tools::compare(const MeasuredCompile &a, const MeasuredCompile &b) {
  return Comparer(a, b).run();
}

std::string tools::toJson(const Comparison &comparison) {
  return writeFields(comparison);
}
