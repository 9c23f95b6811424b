// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups projections by their input and by the attention or `attn.append` that
// reads them, and replaces each group by one GEMM. Between a projection and the
// attention, rope, head norms and reshapes are allowed. The new weight is an
// expression of the old ones; no data is read. Weights with several readers,
// shared by layers or entries, are joined if each reader is in a group with the
// same weights: then the groups also share the new weight.
#include "dialects/weights/WeightExpr.h"
#include "passes/Remarks.h"
#include "passes/graph/GraphSupport.h"
#include "passes/graph/Passes.h"

#define DEBUG_TYPE "attn-fuse-projections"

using namespace mlir;
using namespace transom::attn;

namespace transom {

#define GEN_PASS_DEF_FUSEPROJECTIONSPASS
#include "passes/graph/Passes.h.inc"

namespace {

/// Linears with the same input that one operation reads.
struct Siblings {
  Value input;
  SmallVector<LinearOp> projections;
};

/// Joins siblings in one module.
class ProjectionJoiner {
public:
  ProjectionJoiner(ModuleOp module, Remarks &remarks)
      : module(module), symbols(module), remarks(remarks),
        builder(module.getContext()) {}

  void run();
  int64_t joinedProjections() const { return joined; }

private:
  void countReads();
  /// Joins the projections among an operation's operands.
  void join(Operation *op, ValueRange operands);
  /// The reason why a projection stays separate, or nullopt.
  std::optional<RemarkReason> obstacle(LinearOp linear, StringRef group);
  bool isReadByEqualGroups(Value weight, StringRef group);
  int64_t countReads(Value weight);
  std::string getGroupName(ArrayRef<LinearOp> projections);
  void addGroups(Operation *op, const Siblings &siblings,
                 SmallVector<Siblings> &groups);
  void reportGroups(Operation *op, ArrayRef<Siblings> groups);
  void reportOthers(Operation *op, ArrayRef<Siblings> groups,
                    ArrayRef<Value> others);
  void join(const Siblings &siblings);
  Value joinWeights(ArrayRef<Value> weights);
  Value joinBiases(const Siblings &siblings);
  Value createWeight(std::string name, RankedTensorType type,
                     const WeightExpr &expr, WeightOp before);
  WeightOp getWeight(Value value);

  ModuleOp module;
  SymbolTable symbols;
  Remarks &remarks;
  OpBuilder builder;
  llvm::StringMap<int64_t> reads; // operations that read a symbol
  /// By group name, then symbol: groups that read the symbol once.
  llvm::StringMap<llvm::StringMap<int64_t>> groupReads;
  llvm::StringMap<WeightOp> newWeights; // by name and expression
  int64_t joined = 0;
};

WeightOp ProjectionJoiner::getWeight(Value value) {
  auto get = value.getDefiningOp<GetWeightOp>();
  return get ? symbols.lookup<WeightOp>(get.getWeight()) : WeightOp();
}

/// Number of operations that read a value; for a weight, all readers of its
/// definition.
int64_t ProjectionJoiner::countReads(Value weight) {
  WeightOp op = getWeight(weight);
  return op ? reads.lookup(op.getSymName())
            : int64_t(llvm::range_size(weight.getUses()));
}

/// Whether a weight is read only by projections in groups with this name, once
/// in each.
bool ProjectionJoiner::isReadByEqualGroups(Value weight, StringRef group) {
  WeightOp op = getWeight(weight);
  if (!op)
    return false;
  auto found = groupReads.find(group);
  return found != groupReads.end() &&
         found->second.lookup(op.getSymName()) == countReads(weight);
}

std::optional<RemarkReason> ProjectionJoiner::obstacle(LinearOp linear,
                                                       StringRef group) {
  Operation *op = linear;
  if (!linear->hasOneUse())
    return RemarkReason(
        RemarkId::ProjectionHasOtherReader,
        {{"projection", op}, {"readers", getReaders(linear.getResult())}});
  if (Value weight = linear.getWeight(); !isReadByEqualGroups(weight, group))
    return RemarkReason(RemarkId::ProjectionWeightIsShared,
                        {{"projection", op},
                         {"weight", weight},
                         {"reads", countReads(weight)}});
  if (Value bias = linear.getBias(); bias && !isReadByEqualGroups(bias, group))
    return RemarkReason(
        RemarkId::ProjectionBiasIsShared,
        {{"projection", op}, {"bias", bias}, {"reads", countReads(bias)}});
  return std::nullopt;
}

/// The maximum number of operations to search between a GEMM and an attention.
static constexpr int maxLinks = 8;

/// Whether an operation may be between a projection and the attention: it works
/// on each row alone and has no other reader.
static bool isBetween(Operation *op) {
  return isa<RopeOp, RmsNormOp, LayerNormOp, ReshapeOp, ScaleOp>(op) &&
         op->hasOneUse();
}

/// The GEMM that an operand comes from, through operations that work on each
/// row alone and have no other reader.
static LinearOp findProjection(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto linear = dyn_cast<LinearOp>(op))
      return linear;
    if (!isBetween(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// Visits each operation whose projections may be joined, with these operands.
static void forEachReader(ModuleOp module,
                          function_ref<void(Operation *, ValueRange)> visit) {
  module.walk([&](SdpaOp op) {
    visit(op, {op.getQuery(), op.getKey(), op.getValue()});
  });
  module.walk([&](AppendOp op) { visit(op, {op.getKey(), op.getValue()}); });
}

/// The projections among these operands, by input.
static SmallVector<Siblings> findSiblings(ValueRange operands) {
  SmallVector<Siblings> groups;
  for (Value value : operands) {
    LinearOp linear = findProjection(value);
    if (!linear)
      continue;
    auto *group = llvm::find_if(groups, [&](Siblings &siblings) {
      return siblings.input == linear.getInput();
    });
    if (group == groups.end())
      group = &groups.emplace_back(Siblings{linear.getInput(), {}});
    group->projections.push_back(linear);
  }
  return groups;
}

/// Equal for groups with the same weights and biases in the same order.
std::string ProjectionJoiner::getGroupName(ArrayRef<LinearOp> projections) {
  std::string name;
  for (LinearOp projection : projections)
    for (Value value : {projection.getWeight(), projection.getBias()}) {
      WeightOp weight = value ? getWeight(value) : WeightOp();
      name += (weight ? weight.getSymName() : StringRef()).str() + "\n";
    }
  return name;
}

/// Counts the readers of each weight, and the groups that read it.
void ProjectionJoiner::countReads() {
  module.walk([&](GetWeightOp op) {
    reads[op.getWeight()] += int64_t(llvm::range_size(op->getUses()));
  });
  forEachReader(module, [&](Operation *, ValueRange operands) {
    for (const Siblings &siblings : findSiblings(operands)) {
      llvm::StringMap<int64_t> ofGroup;
      for (LinearOp projection : siblings.projections)
        for (Value value : {projection.getWeight(), projection.getBias()})
          if (WeightOp weight = value ? getWeight(value) : WeightOp())
            ++ofGroup[weight.getSymName()];
      auto &counts = groupReads[getGroupName(siblings.projections)];
      for (auto &entry : ofGroup)
        counts[entry.getKey()] += entry.getValue() == 1;
    }
  });
}

void ProjectionJoiner::run() {
  countReads();
  forEachReader(
      module, [&](Operation *op, ValueRange operands) { join(op, operands); });
}

void ProjectionJoiner::join(Operation *op, ValueRange operands) {
  // Remove projections that must stay separate.
  SmallVector<Value> others(llvm::make_filter_range(
      operands, [](Value value) { return !findProjection(value); }));
  SmallVector<Siblings> groups;
  for (Siblings &siblings : findSiblings(operands)) {
    std::string name = getGroupName(siblings.projections);
    llvm::erase_if(siblings.projections, [&](LinearOp linear) {
      std::optional<RemarkReason> reason = obstacle(linear, name);
      if (reason)
        remarks.report(op, *reason);
      return reason.has_value();
    });
    if (!siblings.projections.empty())
      addGroups(op, siblings, groups);
  }

  // Join each group of two or three.
  reportOthers(op, groups, others);
  reportGroups(op, groups);
  for (const Siblings &siblings : groups)
    if (siblings.projections.size() > 1)
      join(siblings);
}

/// Adds siblings as one group, or as one group per weight format, because a
/// joined weight has only one format.
void ProjectionJoiner::addGroups(Operation *op, const Siblings &siblings,
                                 SmallVector<Siblings> &groups) {
  SmallVector<std::string> formats;
  for (LinearOp projection : siblings.projections) {
    WeightOp weight = getWeight(projection.getWeight());
    std::string format = weight ? getStoredFormat(weight) : "";
    auto *known = llvm::find(formats, format);
    const size_t number = known - formats.begin();
    if (known == formats.end()) {
      formats.push_back(format);
      groups.push_back({siblings.input, {}});
    }
    Siblings &group = *(groups.end() - formats.size() + number);
    group.projections.push_back(projection);
  }
  if (formats.size() > 1) {
    for (std::string &format : formats)
      format = format.empty() ? "f32" : format;
    remarks.report(op, {RemarkId::ProjectionFormatsDiffer,
                        {{"formats", llvm::join(formats, " and ")}}});
  }
}

/// The operand of an operation on one activation; all others are weights,
/// constants, or a rope table.
static Value findOnlyActivation(Operation *op) {
  if (isa<RopeOp>(op))
    return op->getOperand(0);
  Value activation;
  for (Value operand : op->getOperands()) {
    if (isa_and_nonnull<GetWeightOp, ConstantOp>(operand.getDefiningOp()))
      continue;
    if (activation)
      return {};
    activation = operand;
  }
  return activation;
}

/// Reports operands that come from a GEMM through operations that a projection
/// does not allow, if another operand is a projection.
void ProjectionJoiner::reportOthers(Operation *op, ArrayRef<Siblings> groups,
                                    ArrayRef<Value> others) {
  for (Value value : others) {
    Operation *obstacle = nullptr;
    for (int links = 0; value && links < maxLinks; ++links) {
      Operation *definition = value.getDefiningOp();
      if (!definition || groups.empty())
        break;
      if (isa<LinearOp>(definition)) {
        remarks.report(op,
                       {RemarkId::ProjectionIsInterrupted,
                        {{"projection", definition}, {"operation", obstacle}}});
        break;
      }
      if (!obstacle && !isBetween(definition))
        obstacle = definition;
      value = findOnlyActivation(definition);
    }
  }
}

/// Reports which projections are joined, and the reason why several groups
/// remain separate.
void ProjectionJoiner::reportGroups(Operation *op, ArrayRef<Siblings> groups) {
  std::vector<std::string> inputs;
  for (const Siblings &siblings : groups) {
    if (!llvm::is_contained(inputs, getRemarkText(siblings.input)))
      inputs.push_back(getRemarkText(siblings.input));
    if (siblings.projections.size() == 1)
      continue;
    int64_t columns = 0;
    for (LinearOp projection : siblings.projections)
      columns += cast<RankedTensorType>(projection.getWeight().getType())
                     .getDimSize(0);
    remarks.report(op, {RemarkId::ProjectionsJoined,
                        {{"projections", siblings.projections.size()},
                         {"input", siblings.input},
                         {"columns", columns}}});
  }
  if (inputs.size() > 1)
    remarks.report(op, {RemarkId::ProjectionInputsDiffer,
                        {{"inputs", llvm::join(inputs, " and ")}}});
}

/// `a.query.weight`, `a.key.weight` -> `a.query+key.weight`.
std::string joinedName(ArrayRef<StringRef> names) {
  SmallVector<SmallVector<StringRef>> words;
  for (StringRef name : names) {
    name.split(words.emplace_back(), '.');
    if (words.back().size() != words.front().size())
      return llvm::join(names, "+");
  }
  SmallVector<std::string> joined;
  for (size_t i = 0; i < words.front().size(); ++i) {
    SmallVector<StringRef> distinct;
    for (ArrayRef<StringRef> name : words)
      if (!llvm::is_contained(distinct, name[i]))
        distinct.push_back(name[i]);
    joined.push_back(llvm::join(distinct, "+"));
  }
  return llvm::join(joined, ".");
}

/// Reads a new weight, which is created once for all groups with the same
/// weights. It is inserted before an old one, so that files are read in order.
Value ProjectionJoiner::createWeight(std::string name, RankedTensorType type,
                                     const WeightExpr &expr, WeightOp before) {
  WeightOp &weight = newWeights[name + "\n" + expr.str()];
  if (!weight) {
    OpBuilder atModule(builder.getContext());
    weight = atModule.create<WeightOp>(before.getLoc(), name, type, expr);
    symbols.insert(weight, before->getIterator());
  }
  return builder.create<GetWeightOp>(before.getLoc(), type,
                                     FlatSymbolRefAttr::get(weight));
}

Value ProjectionJoiner::joinWeights(ArrayRef<Value> weights) {
  // Collect expressions, names and the size along the joined axis.
  std::vector<WeightExpr> exprs;
  SmallVector<StringRef> names;
  int64_t size = 0;
  for (Value value : weights) {
    WeightOp weight = getWeight(value);
    exprs.push_back(weight.getExpr().getExpr());
    names.push_back(weight.getSymName());
    size += cast<RankedTensorType>(value.getType()).getDimSize(0);
  }

  // The type is the first weight's type with the new size.
  auto first = cast<RankedTensorType>(weights.front().getType());
  SmallVector<int64_t> shape(first.getShape());
  shape[0] = size;
  return createWeight(
      joinedName(names), RankedTensorType::get(shape, first.getElementType()),
      WeightExpr::concat(0, std::move(exprs)), getWeight(weights.front()));
}

/// A projection without a bias gets zeros if another one has a bias.
Value ProjectionJoiner::joinBiases(const Siblings &siblings) {
  if (llvm::none_of(siblings.projections,
                    [](LinearOp op) { return op.getBias(); }))
    return {};
  SmallVector<Value> biases;
  for (LinearOp projection : siblings.projections) {
    Value bias = projection.getBias();
    if (!bias) {
      WeightOp weight = getWeight(projection.getWeight());
      auto type = cast<RankedTensorType>(projection.getWeight().getType());
      int64_t size = type.getDimSize(0);
      bias = createWeight(weight.getSymName().str() + ".zeros",
                          RankedTensorType::get({size}, type.getElementType()),
                          WeightExpr::fill({size}, 0.0), weight);
    }
    biases.push_back(bias);
  }
  return joinWeights(biases);
}

void ProjectionJoiner::join(const Siblings &siblings) {
  // Insert before the first projection: the input is defined there, and the new
  // weights then dominate all projections.
  SmallVector<LinearOp> projections = siblings.projections;
  LinearOp first = *std::min_element(
      projections.begin(), projections.end(),
      [](LinearOp a, LinearOp b) { return a->isBeforeInBlock(b); });
  builder.setInsertionPoint(first);

  // Create the joined GEMM.
  SmallVector<Location> locations;
  SmallVector<Value> weights;
  for (LinearOp projection : projections) {
    locations.push_back(projection.getLoc());
    weights.push_back(projection.getWeight());
  }
  Location loc = fuseLocations(builder.getContext(), locations);
  Value weight = joinWeights(weights);
  Value bias = joinBiases(siblings);
  Value product =
      createInferred<LinearOp>(builder, loc, siblings.input, weight, bias);

  // Replace each projection by its slice of the GEMM result.
  int64_t axis = getDims(product).size() - 1, start = 0;
  for (LinearOp projection : projections) {
    Polynomial size = getDims(projection.getResult()).back();
    Value slice = createInferred<SliceOp>(
        builder, projection.getLoc(), product, builder.getI64IntegerAttr(axis),
        builder.getI64IntegerAttr(start),
        SizeAttr::get(builder.getContext(), size));
    projection.getResult().replaceAllUsesWith(slice);
    start += *size.constant();
    ++joined;
  }
  for (LinearOp projection : projections)
    projection.erase();
}

class FuseProjectionsPass
    : public impl::FuseProjectionsPassBase<FuseProjectionsPass> {
public:
  void runOnOperation() override {
    Remarks remarks(getOperation());
    ProjectionJoiner joiner(getOperation(), remarks);
    joiner.run();
    joined += joiner.joinedProjections();
    for (func::FuncOp entry : getEntries(getOperation()))
      eraseDeadOps(entry.getBody().front());
  }
};

} // namespace
} // namespace transom
