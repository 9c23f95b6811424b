// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies the memory before a dispatch; after it, evaluates the phase on the
// copy and compares.
#include "compiler/verify/CheckDispatches.h"
#include "dialects/common/Location.h"
#include "dialects/kern/PhaseLocation.h"
#include "runtime/base/InstructionSet.h"

using namespace mlir;

namespace transom {

CheckDispatches::CheckDispatches(ModuleOp module, const TensorSource &source,
                                 const Manifest &manifest)
    : manifest(manifest), evaluator(module, source) {
  for (const ManifestEntry &entry : manifest.entries)
    if (auto function = evaluator.getSymbols().lookup<func::FuncOp>(entry.name))
      sites[entry.name] = listPhases(function, evaluator.getSymbols());
}

Result<void> CheckDispatches::prepare(const SteppedDispatch &dispatch) {
  current = {};
  current.entry = manifest.findEntry(dispatch.entry);
  const std::vector<PhaseSite> &all = sites[dispatch.entry];
  if (!current.entry || static_cast<size_t>(dispatch.dispatch) >= all.size())
    return internalError("entry '" + dispatch.entry + "' has no dispatch " +
                         std::to_string(dispatch.dispatch));
  current.site = all[static_cast<size_t>(dispatch.dispatch)];
  if (dispatch.dispatch == 0) {
    knownSizes.clear();
    ++getEntry(dispatch).calls;
  }
  TRANSOM_ASSIGN(current.before,
                 MachineSnapshot::take(dispatch, *current.entry));
  MachineState state(dispatch, *current.entry, evaluator.getSymbols());
  current.state = state.makeState(current.before, knownSizes);
  state.readCaches(current.site, current.state, false, current.caches);
  state.readCaches(current.site, current.state, true, current.bitsCaches);
  return {};
}

void CheckDispatches::willRun(const SteppedDispatch &dispatch) {
  if (outcome)
    outcome = prepare(dispatch);
}

Bits &CheckDispatches::getBits(const std::string &isa) {
  const InstructionSet *set = findInstructionSet(isa);
  if (!set) // from another version: uses the weakest
    set = &getInstructionSets().front();
  return bits.try_emplace(isa, *set).first->second;
}

CheckedEntry &CheckDispatches::getEntry(const SteppedDispatch &dispatch) {
  for (CheckedEntry &entry : result.entries)
    if (entry.isa == dispatch.isa && entry.entry == dispatch.entry)
      return entry;
  CheckedEntry entry;
  entry.isa = dispatch.isa;
  entry.entry = dispatch.entry;
  return result.entries.emplace_back(std::move(entry));
}

void CheckDispatches::addDifferences(std::vector<CodeDifference> found) {
  for (CodeDifference &difference : found)
    if (result.differences.size() < maxDifferences)
      result.differences.push_back(std::move(difference));
}

/// Adds an error from a call and layer.
static void add(Accuracy &known, const MeasuredError &error,
                const std::string &call, int64_t layer) {
  known.numbers += error.numbers;
  known.absolute = std::max(known.absolute, error.absolute);
  const double relative =
      error.largest > 0 ? error.absolute / error.largest : error.absolute;
  if (relative < known.relative || (relative == 0 && !known.buffer.empty()))
    return;
  known.relative = relative;
  known.buffer = error.buffer;
  known.call = call;
  known.layer = layer;
}

/// The accuracy for the phase operation that is or contains `writer`; null if
/// it does not exist.
static OperationAccuracy *
findOperation(PhaseAccuracy &accuracy, kern::PhaseOp phase, Operation *writer) {
  if (writer)
    writer = phase.getBody().findAncestorOpInRegion(*writer);
  int64_t index = 0;
  for (auto op : phase.getBody().getOps<kern::BufferOp>()) {
    if (op == writer) {
      auto known =
          llvm::find_if(accuracy.operations, [&](const OperationAccuracy &one) {
            return one.index >= index;
          });
      if (known != accuracy.operations.end() && known->index == index)
        return &*known;
      OperationAccuracy one;
      one.index = index;
      one.operation = writer->getName().getStringRef().str();
      one.location = getModulePath(writer->getLoc());
      return &*accuracy.operations.insert(known, std::move(one));
    }
    ++index;
  }
  return nullptr;
}

void CheckDispatches::addErrors(const SteppedDispatch &dispatch,
                                const std::vector<MeasuredError> &errors) {
  kern::PhaseOp phase = current.site.phase;
  const std::string name = phase.getName().str();
  auto known = llvm::find_if(result.accuracies, [&](const PhaseAccuracy &a) {
    return a.isa == dispatch.isa && a.entry == dispatch.entry &&
           a.phase == name;
  });
  if (known == result.accuracies.end()) {
    PhaseAccuracy accuracy;
    accuracy.isa = dispatch.isa;
    accuracy.entry = dispatch.entry;
    accuracy.phase = name;
    accuracy.location = getModulePath(kern::getPhaseLocation(phase));
    known = result.accuracies.insert(known, std::move(accuracy));
  }
  for (const MeasuredError &error : errors) {
    if (!error.isInteger)
      add(*known, error, dispatch.call, current.site.layerIndex);
    if (OperationAccuracy *one = findOperation(*known, phase, error.writer))
      add(*one, error, dispatch.call, current.site.layerIndex);
  }
}

Result<void> CheckDispatches::check(const SteppedDispatch &dispatch) {
  MachineState state(dispatch, *current.entry, evaluator.getSymbols());
  MemoryComparison comparison(dispatch, *current.entry, current.site,
                              current.before, state, evaluator.getSymbols());
  // The error against float64.
  current.state.caches = &current.caches;
  TRANSOM_ASSIGN(PhaseResult exact,
                 evaluator.evaluate(current.site, current.state, nullptr));
  const std::vector<MeasuredError> errors = comparison.measure(exact);
  addErrors(dispatch, errors);
  CheckedEntry &entry = getEntry(dispatch);
  ++entry.dispatches;
  // The bits, unless a library computes the phase.
  std::vector<CodeDifference> found;
  kern::PhaseOp phase = current.site.phase;
  if (phase.getCall()) {
    result.whyNotBits = "oneDNN, which computes some phases, has no defined "
                        "order of sums";
    found = comparison.findLargeErrors(errors);
  } else {
    current.state.caches = &current.bitsCaches;
    TRANSOM_ASSIGN(PhaseResult computed,
                   evaluator.evaluate(current.site, current.state,
                                      &getBits(dispatch.isa)));
    found = comparison.compareBits(computed, entry.numbers);
  }
  // Stray writes.
  std::vector<CodeDifference> strays = comparison.findStrays(exact);
  found.insert(found.end(), strays.begin(), strays.end());
  entry.differences += !found.empty();
  addDifferences(std::move(found));
  // Sizes that later dispatches of the call may use.
  for (const auto &[size, value] : exact.sizes)
    knownSizes.insert(size);
  return {};
}

void CheckDispatches::didRun(const SteppedDispatch &dispatch) {
  if (!outcome)
    return;
  outcome = check(dispatch);
  if (outcome)
    return;
  Error error = outcome.takeError();
  kern::PhaseOp phase = current.site.phase;
  error.message = "entry '" + dispatch.entry + "', " + dispatch.call +
                  ", phase '" + phase.getName().str() + "': " + error.message;
  outcome = std::move(error);
}

Result<CodeVerification> CheckDispatches::take() {
  if (!outcome)
    return outcome.takeError();
  return std::move(result);
}

} // namespace transom
