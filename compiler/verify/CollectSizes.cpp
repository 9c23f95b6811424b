// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each operation that relates different sizes. Operations with
// the same sizes as their operands add no relation, since a size has one new
// value wherever it occurs.
#include "compiler/verify/CollectSizes.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "dialects/weights/WeightNode.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace transom {

namespace {

/// Collects sizes from one module.
class SizeCollector {
public:
  SizeCollector(const TensorShapes::Map &shapes,
                const std::set<int64_t> &groups)
      : source(shapes), groups(groups) {}

  Result<SizeRelations> run(ModuleOp module);

private:
  using Dims = ArrayRef<Polynomial>;
  /// Group size for logit summaries (`attn.row_summary`).
  static constexpr int64_t summaryGroup = 64;

  void addLength(int64_t most) {
    relations.addNamed(most, "longest input");
    relations.lengths.insert(most);
  }
  void addShape(Dims dims);
  void addType(Type type);
  void addOperation(Operation *op);
  void addGrouped(int64_t size, int64_t group) {
    relations.groups[size].insert(group);
  }
  void addWidth(Value value, std::vector<int64_t> factors);
  void addReshape(Dims from, Dims to);
  void addConcat(attn::ConcatOp op);
  void addSlice(attn::SliceOp op);
  void addHeads(int64_t heads, int64_t keyHeads);
  void addAttention(attn::SdpaOp op);
  Result<std::vector<int64_t>> addExpression(const WeightExpr &e);
  void addMoves(const WeightExpr::Node &node,
                ArrayRef<std::vector<int64_t>> operands,
                const std::vector<int64_t> &shape);

  const TensorShapes source;
  const std::set<int64_t> &groups;
  SizeRelations relations;
};

} // namespace

/// The factor if a size is one monomial; otherwise 0.
static int64_t getFactor(const Polynomial &size) {
  return size.terms().size() == 1 ? size.terms().begin()->second : 0;
}

/// The last dimension if it is constant, otherwise 0.
static int64_t getWidth(Value value) {
  auto dims = attn::getSymbolicShape(value.getType());
  return dims.empty() ? 0 : dims.back().constant().value_or(0);
}

void SizeCollector::addShape(Dims dims) {
  for (const Polynomial &dim : dims)
    for (const auto &[monomial, factor] : dim.terms())
      relations.add(factor);
}

void SizeCollector::addType(Type type) {
  if (isa<RankedTensorType>(type))
    addShape(attn::getSymbolicShape(type));
  auto cache = dyn_cast<attn::CacheType>(type);
  if (!cache)
    return;
  relations.heads.insert(cache.getHeads());
  for (int64_t size : {cache.getHeads(), cache.getKey(), cache.getValue()})
    relations.add(size);
}

/// The width equals the product over the factors.
void SizeCollector::addWidth(Value value, std::vector<int64_t> factors) {
  if (int64_t width = getWidth(value))
    relations.addProduct({{width}, std::move(factors)});
}

void SizeCollector::addReshape(Dims from, Dims to) {
  SizeProduct product;
  for (const Polynomial &dim : from)
    product.left.push_back(getFactor(dim));
  for (const Polynomial &dim : to)
    product.right.push_back(getFactor(dim));
  if (llvm::is_contained(product.left, 0) ||
      llvm::is_contained(product.right, 0))
    return; // checked by shape inference only
  relations.addProduct(std::move(product));
}

void SizeCollector::addConcat(attn::ConcatOp op) {
  SizeSum sum;
  for (Value input : op.getInputs()) {
    auto dims = attn::getSymbolicShape(input.getType());
    auto size = dims[op.getAxis()].constant();
    if (!size)
      return;
    sum.terms.push_back(*size);
    sum.total += *size;
  }
  relations.addSum(std::move(sum));
}

void SizeCollector::addSlice(attn::SliceOp op) {
  auto dims = attn::getSymbolicShape(op.getInput().getType());
  const auto whole = dims[op.getAxis()].constant(),
             size = op.getSize().getPolynomial().constant();
  if (whole && size)
    relations.addRange(*whole, op.getStart(), op.getStart() + *size);
}

/// Query heads and key-value heads keep their ratio.
void SizeCollector::addHeads(int64_t heads, int64_t keyHeads) {
  relations.addNamed(heads, "heads");
  relations.addNamed(keyHeads, "key-value heads");
  relations.heads.insert({heads, keyHeads});
  if (heads != keyHeads)
    relations.addProduct({{heads}, {keyHeads}, keyHeads, heads});
}

void SizeCollector::addAttention(attn::SdpaOp op) {
  const int64_t heads = op.getHeads(), keyHeads = op.getKvHeads();
  const int64_t width = getWidth(op.getKey()) / keyHeads,
                valueWidth = getWidth(op.getValue()) / keyHeads;
  addHeads(heads, keyHeads);
  relations.addNamed(width, "head width");
  relations.addNamed(valueWidth, "head width of values");
  relations.addNamed(getWidth(op.getKey()), "keys");
  relations.addNamed(getWidth(op.getQuery()), "queries");
  relations.widths.insert({width, valueWidth});
  addWidth(op.getQuery(), {heads, width});
  addWidth(op.getKey(), {keyHeads, width});
  addWidth(op.getValue(), {keyHeads, valueWidth});
  addWidth(op.getResult(), {heads, valueWidth});
  if (Value bias = op.getRelativeBias())
    relations.fixed.insert(getWidth(bias)); // by distance
  for (Value positions : {op.getPositionKeys(), op.getPositionQueries()})
    if (positions) {
      const int64_t rows =
          cast<RankedTensorType>(positions.getType()).getDimSize(0);
      relations.addProduct({{rows}, {heads, rows / heads}});
    }
}

void SizeCollector::addOperation(Operation *op) {
  for (Type type : op->getResultTypes())
    addType(type);
  // Each case adds the relations between its operands, attributes and results.
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](attn::ReshapeOp reshape) {
        auto to = reshape.getShape().getDims();
        addShape(to);
        addReshape(attn::getSymbolicShape(reshape.getInput().getType()), to);
      })
      .Case([&](attn::ConcatOp concat) { addConcat(concat); })
      .Case([&](attn::SliceOp slice) { addSlice(slice); })
      .Case([&](attn::SdpaOp sdpa) { addAttention(sdpa); })
      .Case([&](attn::CrossSdpaOp cross) {
        auto cache = cast<attn::CacheType>(cross.getCache().getType());
        const auto heads = static_cast<int64_t>(cross.getHeads());
        addHeads(heads, cache.getHeads());
        addWidth(cross.getQuery(), {heads, cache.getKey()});
        addWidth(cross.getResult(), {heads, cache.getValue()});
      })
      .Case([&](attn::AppendOp append) {
        auto cache = cast<attn::CacheType>(append.getCache().getType());
        addWidth(append.getKey(), {cache.getHeads(), cache.getKey()});
        addWidth(append.getValue(), {cache.getHeads(), cache.getValue()});
      })
      .Case([&](attn::RopeOp rope) {
        const int64_t heads = rope.getHeads();
        relations.add(heads);
        relations.heads.insert(heads);
        addWidth(rope.getInput(), {heads, getWidth(rope.getInput()) / heads});
      })
      .Case([&](attn::NeighborsOp neighbors) {
        const auto reach = static_cast<int64_t>(neighbors.getReach());
        relations.addProduct({{getWidth(neighbors.getResult())},
                              {getWidth(neighbors.getInput())},
                              1,
                              2 * reach + 1});
      })
      .Case([&](attn::LinearOp linear) {
        relations.addNamed(getWidth(linear.getResult()),
                           getModulePath(linear.getLoc()));
        const int64_t depth = getWidth(linear.getWeight());
        relations.widths.insert({depth, getWidth(linear.getResult())});
        for (int64_t group : groups)
          addGrouped(depth, group);
      })
      .Case([&](attn::EmbeddingOp embedding) {
        relations.addNamed(getWidth(embedding.getResult()), "hidden");
        for (int64_t group : groups)
          addGrouped(getWidth(embedding.getTable()), group);
      });
}

//===----------------------------------------------------------------------===//
// Weight expressions
//===----------------------------------------------------------------------===//

/// The relations in a node that moves elements.
void SizeCollector::addMoves(const WeightExpr::Node &node,
                             ArrayRef<std::vector<int64_t>> operands,
                             const std::vector<int64_t> &shape) {
  auto asDims = [](const std::vector<int64_t> &sizes) {
    return std::vector<Polynomial>(sizes.begin(), sizes.end());
  };
  auto addTerms = [&](int64_t axis) {
    SizeSum sum{shape[axis], {}};
    for (const std::vector<int64_t> &operand : operands)
      sum.terms.push_back(operand[axis]);
    relations.addSum(std::move(sum));
  };
  switch (node.kind) {
  case WeightExpr::Kind::Reshape:
    return addReshape(asDims(operands[0]), asDims(shape));
  case WeightExpr::Kind::Slice:
    return relations.addRange(operands[0][node.axis], node.start,
                              node.start + node.size);
  case WeightExpr::Kind::Concat:
    return addTerms(node.axis);
  case WeightExpr::Kind::Interleave:
    return addTerms(0);
  default:
    return;
  }
}

Result<std::vector<int64_t>> SizeCollector::addExpression(const WeightExpr &e) {
  const WeightExpr::Node &node = *e;
  std::vector<std::vector<int64_t>> operands;
  for (const WeightExpr &operand : node.operands) {
    TRANSOM_ASSIGN(std::vector<int64_t> shape, addExpression(operand));
    operands.push_back(std::move(shape));
  }
  TRANSOM_ASSIGN(std::vector<int64_t> shape, e.shape(source));
  for (int64_t size : shape)
    relations.add(size);
  if (node.stored) {
    relations.add(node.stored->depth);
    addGrouped(node.stored->depth, node.stored->group);
  }
  addMoves(node, operands, shape);
  return shape;
}

Result<SizeRelations> SizeCollector::run(ModuleOp module) {
  for (auto weight : module.getOps<attn::WeightOp>()) {
    addType(weight.getType());
    TRANSOM_TRY(addExpression(weight.getExpr().getExpr()));
  }
  for (auto cache : module.getOps<attn::CacheOp>())
    addType(cache.getType());
  // Length limits, which are also the row counts in position tables.
  if (auto symbols = module->getAttrOfType<DictionaryAttr>("attn.symbols"))
    for (NamedAttribute symbol : symbols)
      if (auto most =
              cast<DictionaryAttr>(symbol.getValue()).getAs<IntegerAttr>("max"))
        addLength(most.getInt());
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (entry.isExternal())
      continue;
    if (auto context = entry->getAttrOfType<IntegerAttr>("transom.context"))
      addLength(context.getInt());
    if (auto size = entry->getAttrOfType<IntegerAttr>("transom.vocabulary")) {
      relations.addNamed(size.getInt(), "vocabulary");
      addGrouped(size.getInt(), summaryGroup);
    }
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      addType(entry.getArgument(i).getType());
      if (auto bound = entry.getArgAttrOfType<IntegerAttr>(i, "attn.bound"))
        relations.names.emplace(bound.getInt(), "vocabulary");
    }
    for (Operation &op : entry.getBody().front().without_terminator())
      addOperation(&op);
  }
  relations.finish();
  return std::move(relations);
}

Result<SizeRelations> collectSizes(ModuleOp module,
                                   const TensorShapes::Map &shapes,
                                   const std::set<int64_t> &groups) {
  return SizeCollector(shapes, groups).run(module);
}

} // namespace transom
