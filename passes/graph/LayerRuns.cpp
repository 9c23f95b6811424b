// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group is described by the role of each operand: a weight with its ordinal
// in the group, a value in the group with its offset, the carried tensor, or a
// value defined before the run. Equal operations with equal descriptions are
// equal computations.
#include "passes/graph/LayerRuns.h"
#include "dialects/common/Location.h"
#include "passes/graph/GraphSupport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using namespace transom::attn;

namespace transom {

/// Maximum number of operations per layer.
static constexpr size_t maxPeriod = 512;
/// Maximum number of starts per repeat that are compared in full.
static constexpr size_t maxPhases = 16;

RemarkReason LayerProblem::getReason() const {
  if (id == RemarkId::GroupsCarryNoTensor)
    return {id, {{"groups", groups}, {"operations", operations}}};
  RemarkReason reason(id, {{"operation", op}, {"value", value}});
  if (other)
    reason.args.emplace_back("other", other);
  return reason;
}

LayerFinder::LayerFinder(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!givesParameter(&op) && !isa<ConstantOp>(op)) {
      positions[&op] = order.size();
      order.push_back(&op);
    }
  numbers = layerNumbers();
  findFormats(block);
}

/// Layers share a body only if their weights get the same format: the same
/// format for pre-quantized weights, or none.
void LayerFinder::findFormats(Block &block) {
  auto module = block.getParentOp()->getParentOfType<ModuleOp>();
  if (!module)
    return;
  SymbolTable symbols(module);
  llvm::StringMap<size_t> ids;
  for (auto get : block.getOps<GetWeightOp>()) {
    auto weight = symbols.lookup<WeightOp>(get.getWeight());
    std::string format = weight ? getStoredFormat(weight) : "";
    if (!format.empty())
      formats[get] = ids.try_emplace(format, ids.size() + 1).first->second;
  }
}

std::string getNumberedPath(Location loc) {
  std::string path = getModulePath(loc), prefix;
  SmallVector<StringRef> words;
  StringRef(path).split(words, '.');
  for (StringRef word : words) {
    prefix += (prefix.empty() ? "" : ".") + word.str();
    if (llvm::all_of(word, llvm::isDigit))
      return prefix;
  }
  return {};
}

std::vector<size_t> LayerFinder::layerNumbers() const {
  llvm::StringMap<size_t> ids;
  std::vector<size_t> result;
  for (Operation *op : order)
    result.push_back(ids.try_emplace(getNumberedPath(op->getLoc()), ids.size())
                         .first->second);
  return result;
}

/// One integer per operation. Operations with equal integers differ at most in
/// the values that they read.
std::vector<int> LayerFinder::signatures() const {
  std::map<std::vector<const void *>, int> ids;
  std::vector<int> result;
  for (Operation *op : order) {
    std::vector<const void *> key = {
        op->getName().getAsOpaquePointer(),
        op->getAttrDictionary().getAsOpaquePointer()};
    if (op->getNumRegions()) // never equal to another one
      key.push_back(op);
    for (Type type : op->getResultTypes())
      key.push_back(type.getAsOpaquePointer());
    for (Value operand : op->getOperands()) {
      key.push_back(operand.getType().getAsOpaquePointer());
      auto constant = operand.getDefiningOp<ConstantOp>();
      bool weight = givesParameter(operand.getDefiningOp());
      key.push_back(constant ? constant.getValue().getAsOpaquePointer()
                    : weight ? &maxPeriod
                             : nullptr);
    }
    result.push_back(ids.try_emplace(key, ids.size()).first->second);
  }
  return result;
}

void LayerFinder::find() {
  // Take the repeats that match, the best first.
  std::vector<Repeat> repeats = findRepeats(signatures(), maxPeriod);
  std::vector<NoLayerRun> ended; // runs followed by equal layers
  for (size_t i = 0; i < repeats.size(); ++i) {
    Repeat repeat = repeats[i];
    if (!isFree(repeat))
      continue;
    Problem problem;
    std::optional<LayerRun> run = match(repeat, problem);
    if (!run) {
      if (problem)
        missed.push_back({repeat, *problem});
      continue;
    }
    found.push_back(*run);
    if (problem)
      ended.push_back(
          {{repeat.period, run->end(), run->end() + repeat.period}, *problem});
    // If the run ended early, search the rest of the repeat again.
    Repeat rest = {repeat.period, run->end(), repeat.end};
    if (rest.end >= rest.begin + 2 * rest.period)
      repeats.push_back(rest);
  }
  llvm::sort(found, [](const LayerRun &a, const LayerRun &b) {
    return a.begin < b.begin;
  });
  // Report a failed candidate only if it overlaps no run.
  std::vector<NoLayerRun> all = std::move(missed);
  missed.clear();
  for (const NoLayerRun &miss : all) {
    bool covered = !isFree(miss.repeat);
    for (const NoLayerRun &kept : missed)
      covered |= miss.repeat.begin < kept.repeat.end &&
                 kept.repeat.begin < miss.repeat.end;
    if (!covered)
      missed.push_back(miss);
  }
  llvm::append_range(missed, ended);
}

bool LayerFinder::isFree(const Repeat &repeat) const {
  return llvm::none_of(found, [&](const LayerRun &run) {
    return repeat.begin < run.end() && run.begin < repeat.end;
  });
}

/// The operations at which groups in a repeat may start, the best first: a
/// group whose operations have the same numbered module path, a group that
/// begins such a path, more groups, a later start.
SmallVector<size_t> LayerFinder::phases(const Repeat &repeat) const {
  struct Phase {
    bool uniform, aligned;
    size_t groups, begin;
  };
  std::vector<Phase> all;
  // Compute the criteria for each start.
  for (size_t shift = 0; shift < repeat.period; ++shift) {
    size_t begin = repeat.begin + shift;
    size_t groups = (repeat.end - begin) / repeat.period;
    if (groups < 2)
      break;
    size_t second = begin + repeat.period;
    bool uniform = std::all_of(
        numbers.begin() + second, numbers.begin() + second + repeat.period,
        [&](size_t number) { return number == numbers[second]; });
    bool aligned = numbers[second] != numbers[second - 1];
    all.push_back({uniform, aligned, groups, begin});
  }
  // Sort by the criteria.
  llvm::sort(all, [](const Phase &a, const Phase &b) {
    if (a.uniform != b.uniform)
      return a.uniform;
    if (a.aligned != b.aligned)
      return a.aligned;
    return a.groups != b.groups ? a.groups > b.groups : a.begin > b.begin;
  });
  SmallVector<size_t> begins;
  for (const Phase &phase : all)
    begins.push_back(phase.begin);
  return begins;
}

/// Equal groups, none of which reads a result from the previous group.
static LayerProblem getUncarried(size_t groups, size_t period) {
  return {RemarkId::GroupsCarryNoTensor, nullptr, {}, {}, groups, period};
}

std::optional<LayerRun> LayerFinder::match(const Repeat &repeat,
                                           Problem &problem) {
  size_t tried = 0;
  for (size_t begin : phases(repeat)) {
    Group second = describe(begin + repeat.period, repeat.period, begin);
    if (second.weights.empty())
      return std::nullopt; // not a layer: equal computations without weights
    if (second.problem || !second.carried) {
      if (!problem)
        problem = second.problem
                      ? second.problem
                      : getUncarried((repeat.end - begin) / repeat.period,
                                     repeat.period);
      continue;
    }
    if (++tried > maxPhases)
      break;
    if (auto run = matchFrom(begin, repeat.end, repeat.period, problem))
      return run;
  }
  return std::nullopt;
}

/// The first run that begins at `begin` or some groups later. `problem` is the
/// reason why the run ended, if an equal group follows.
std::optional<LayerRun> LayerFinder::matchFrom(size_t begin, size_t end,
                                               size_t period,
                                               Problem &problem) {
  for (; begin + 2 * period <= end; begin += period) {
    Problem ended;
    LayerRun run = extend(begin, end, period, ended);
    if (!problem || run.count >= 2)
      problem = ended;
    if (run.count >= 2)
      return run;
  }
  return std::nullopt;
}

/// Adds groups while they equal the second one and only the carried tensor is
/// read outside.
LayerRun LayerFinder::extend(size_t begin, size_t end, size_t period,
                             Problem &problem) {
  // Compare the first two groups, which also determines the carried tensor.
  LayerRun run;
  run.begin = begin;
  run.period = period;
  Group first = describe(begin, period, begin);
  Group second = describe(begin + period, period, begin);
  if (second.problem || !second.carried) {
    problem = second.problem ? second.problem
                             : getUncarried((end - begin) / period, period);
    return run;
  }
  if (!startsRun(first, second, run.state)) {
    problem = findDifference(first, second, begin, period);
    return run;
  }

  // Add groups until one differs or another value in it is read outside.
  run.carried = positions.lookup(second.carried.getDefiningOp()) - begin;
  run.invariants = second.outside;
  for (size_t at = begin; at + period <= end; at += period) {
    Group group = at == begin ? first : describe(at, period, begin);
    if (at != begin && (group.problem || group.slots != second.slots)) {
      problem = group.problem
                    ? *group.problem
                    : findDifference(second, group, at - period, period);
      break;
    }
    Escape escape = findEscape(at, period, run.carried);
    if (escape.kind == Escape::Other) {
      problem = {RemarkId::InsideOfLayerIsRead, escape.reader, escape.value};
      break;
    }
    run.weights.push_back(group.weights);
    ++run.count;
    if (escape.kind == Escape::CarriedFurther) {
      if (at + 2 * period <= end)
        problem = {RemarkId::LayerResultIsRead, escape.reader, escape.value};
      break;
    }
  }
  return run;
}

LayerFinder::Group LayerFinder::describe(size_t begin, size_t period,
                                         size_t runBegin) const {
  Group group;
  for (Operation *op : ArrayRef(order).slice(begin, period))
    for (Value operand : op->getOperands())
      describeOperand(operand, begin, period, runBegin, group);
  return group;
}

void LayerFinder::describeOperand(Value operand, size_t begin, size_t period,
                                  size_t runBegin, Group &group) const {
  auto add = [&](Role role, const void *key) {
    group.slots.push_back({role, reinterpret_cast<size_t>(key)});
  };

  // Weights and caches by ordinal, constants by value.
  Operation *op = operand.getDefiningOp();
  if (givesParameter(op)) {
    auto *at = llvm::find(group.weights, op);
    const auto number = static_cast<size_t>(at - group.weights.begin());
    group.slots.push_back(
        {Role::Weight, number * (formats.size() + 1) + formats.lookup(op)});
    if (at == group.weights.end())
      group.weights.push_back(op);
    return;
  }
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return add(Role::Constant, constant.getValue().getAsOpaquePointer());

  // Values from before the run by identity, values in the group by offset.
  size_t at = op ? positions.lookup(op) : 0;
  if (!op || at < runBegin) {
    if (!llvm::is_contained(group.outside, operand))
      group.outside.push_back(operand);
    return add(Role::Outside, operand.getAsOpaquePointer());
  }
  if (at >= begin) {
    group.slots.push_back({Role::Local, at - begin});
    return;
  }

  // Any other value must be the one tensor that the previous group carries.
  if (at + period < begin)
    group.problem = {RemarkId::LayerResultIsRead, order[begin], operand};
  if (group.carried && group.carried != operand)
    group.problem = {RemarkId::LayersCarrySeveralTensors, order[begin], operand,
                     group.carried};
  group.carried = operand;
  group.slots.push_back({Role::Carried, at + period - begin});
}

/// Whether the first group equals the second, except that it reads one value
/// from before the run, `state`, instead of the carried tensor.
bool LayerFinder::startsRun(const Group &first, const Group &second,
                            Value &state) const {
  for (auto [a, b] : llvm::zip_equal(first.slots, second.slots)) {
    if (b.role != Role::Carried) {
      if (a == b)
        continue;
      return false;
    }
    if (a.role != Role::Outside)
      return false;
    Value value = Value::getFromOpaquePointer(reinterpret_cast<void *>(a.key));
    if (state && state != value)
      return false;
    state = value;
  }
  return static_cast<bool>(state);
}

/// The first operand in which two adjacent groups differ.
LayerProblem LayerFinder::findDifference(const Group &first,
                                         const Group &second, size_t begin,
                                         size_t period) const {
  LayerProblem problem = {RemarkId::LayersDiffer, order[begin + period]};
  Value state;
  size_t slot = 0;
  // Compare the operands in order; the state and the carried tensor correspond.
  for (auto [i, op] : llvm::enumerate(ArrayRef(order).slice(begin, period)))
    for (auto [index, value] : llvm::enumerate(op->getOperands())) {
      Slot a = first.slots[slot], b = second.slots[slot];
      ++slot;
      bool isState = b.role == Role::Carried && a.role == Role::Outside &&
                     (!state || state == value);
      if (isState)
        state = value;
      if (a == b || isState)
        continue;
      problem.op = order[begin + period + i];
      problem.value = problem.op->getOperand(index);
      problem.other = value;
      return problem;
    }
  return problem;
}

LayerFinder::Escape LayerFinder::findEscape(size_t begin, size_t period,
                                            size_t carried) const {
  Escape escape;
  for (size_t i = begin; i < begin + period; ++i)
    for (Operation *user : order[i]->getUsers()) {
      auto it = positions.find(user);
      size_t at = it == positions.end() ? order.size() : it->second;
      if (at < begin + period)
        continue;
      if (i != begin + carried)
        return {Escape::Other, order[i]->getResult(0), user};
      if (at >= begin + 2 * period)
        escape = {Escape::CarriedFurther, order[i]->getResult(0), user};
    }
  return escape;
}

} // namespace transom
