// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces sizes in weights, caches, inputs and attributes; shape rules infer
// all result types, and the verifier checks the rest.
#include "compiler/verify/ShrinkModule.h"
#include "compiler/verify/CollectSizes.h"
#include "compiler/verify/ShrinkWeights.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/FirstError.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace transom {

/// Infers the result types in all functions by the shape rules.
static LogicalResult inferTypes(ModuleOp module) {
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (entry.isExternal())
      continue;
    Block &block = entry.getBody().front();
    for (Operation &op : block.without_terminator()) {
      auto inferable = dyn_cast<attn::ShapeInferable>(&op);
      if (!inferable)
        continue;
      auto types = inferable.inferShapes([&] { return op.emitOpError(); });
      if (failed(types))
        return failure();
      for (auto [result, type] : llvm::zip_equal(op.getResults(), *types))
        result.setType(type);
    }
    entry.setType(FunctionType::get(entry.getContext(),
                                    block.getArgumentTypes(),
                                    block.getTerminator()->getOperandTypes()));
  }
  return success();
}

namespace {

/// Replaces the sizes in one module.
class ModuleShrinker {
public:
  ModuleShrinker(ModuleOp module, const SizeMap &sizes,
                 const TensorShapes &shapes)
      : module(module), sizes(sizes), shapes(shapes),
        builder(module.getContext()) {}

  Result<void> run();

private:
  Polynomial shrink(const Polynomial &size) const;
  Type shrink(Type type) const;
  void shrinkNumber(Operation *op, StringRef name);
  void shrinkSymbols();
  void shrinkEntry(func::FuncOp entry);
  void shrinkAttributes(Operation *op);
  Result<void> shrinkResult(Operation *op);
  Result<void> shrinkConstant(attn::ConstantOp op);
  void shrinkSlice(attn::SliceOp op);
  void shrinkFrequencies(attn::RopeTableOp op);

  ModuleOp module;
  const SizeMap &sizes;
  const TensorShapes &shapes;
  Builder builder;
};

} // namespace

Polynomial ModuleShrinker::shrink(const Polynomial &size) const {
  Polynomial result;
  for (const auto &[monomial, factor] : size.terms()) {
    Polynomial term(sizes.get(factor));
    for (const std::string &symbol : monomial)
      term = term * Polynomial::symbol(symbol);
    result = result + term;
  }
  return result;
}

Type ModuleShrinker::shrink(Type type) const {
  if (auto cache = dyn_cast<attn::CacheType>(type))
    return attn::CacheType::get(type.getContext(), sizes.get(cache.getHeads()),
                                sizes.get(cache.getKey()),
                                sizes.get(cache.getValue()), cache.getWindow(),
                                cache.getPositions());
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  SmallVector<Polynomial> dims;
  for (const Polynomial &dim : attn::getSymbolicShape(type))
    dims.push_back(shrink(dim));
  return attn::getTensorType(dims, tensor.getElementType());
}

/// Replaces an integer attribute that is a size.
void ModuleShrinker::shrinkNumber(Operation *op, StringRef name) {
  if (auto number = op->getAttrOfType<IntegerAttr>(name))
    op->setAttr(name, builder.getI64IntegerAttr(sizes.get(number.getInt())));
}

/// Replaces the max lengths.
void ModuleShrinker::shrinkSymbols() {
  auto symbols = module->getAttrOfType<DictionaryAttr>("attn.symbols");
  if (!symbols)
    return;
  NamedAttrList changed;
  for (NamedAttribute symbol : symbols) {
    NamedAttrList limits(cast<DictionaryAttr>(symbol.getValue()));
    if (auto most = dyn_cast_or_null<IntegerAttr>(limits.get("max")))
      limits.set("max", builder.getI64IntegerAttr(sizes.get(most.getInt())));
    changed.set(symbol.getName(), limits.getDictionary(builder.getContext()));
  }
  module->setAttr("attn.symbols", changed.getDictionary(builder.getContext()));
}

/// Replaces argument types, and limits for ids and lengths.
void ModuleShrinker::shrinkEntry(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    argument.setType(shrink(argument.getType()));
    const unsigned index = argument.getArgNumber();
    if (auto bound = entry.getArgAttrOfType<IntegerAttr>(index, "attn.bound"))
      entry.setArgAttr(index, "attn.bound",
                       builder.getI64IntegerAttr(sizes.get(bound.getInt())));
  }
  shrinkNumber(entry, "transom.context");
  shrinkNumber(entry, "transom.vocabulary");
}

/// Truncates a literal tensor to the first elements in each dimension.
Result<void> ModuleShrinker::shrinkConstant(attn::ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto changed = cast<RankedTensorType>(shrink(type));
  if (changed == type)
    return {};
  auto values = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!values)
    return unsupported("a constant that is not dense");
  auto valueType = RankedTensorType::get(changed.getShape(),
                                         values.getType().getElementType());
  if (values.isSplat()) {
    op.setValueAttr(values.resizeSplat(valueType));
  } else {
    auto all = values.getValues<Attribute>();
    SmallVector<Attribute> kept;
    for (int64_t element : getKeptElements(sizes, type.getShape().vec()))
      kept.push_back(all[element]);
    op.setValueAttr(DenseElementsAttr::get(valueType, kept));
  }
  op.getResult().setType(changed);
  return {};
}

void ModuleShrinker::shrinkSlice(attn::SliceOp op) {
  auto size = op.getSize().getPolynomial().constant();
  auto whole =
      attn::getSymbolicShape(op.getInput().getType())[op.getAxis()].constant();
  if (!size || !whole)
    return;
  const int64_t begin = sizes.getBoundary(*whole, op.getStart()),
                end = sizes.getBoundary(*whole, op.getStart() + *size);
  op.setStart(begin);
  op.setSizeAttr(
      attn::SizeAttr::get(builder.getContext(), Polynomial(end - begin)));
}

/// Truncates the frequencies.
void ModuleShrinker::shrinkFrequencies(attn::RopeTableOp op) {
  ArrayRef<double> all = op.getFrequencies();
  const int64_t width = sizes.get(2 * static_cast<int64_t>(all.size()));
  op.setFrequencies(all.take_front(width / 2));
}

/// Replaces attributes; operands and results still have their old types.
void ModuleShrinker::shrinkAttributes(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](attn::ReshapeOp reshape) {
        SmallVector<Polynomial> dims;
        for (const Polynomial &dim : reshape.getShape().getDims())
          dims.push_back(shrink(dim));
        reshape.setShapeAttr(attn::ShapeAttr::get(builder.getContext(), dims));
      })
      .Case([&](attn::SliceOp slice) { shrinkSlice(slice); })
      .Case([&](attn::RopeTableOp table) { shrinkFrequencies(table); })
      .Case<attn::RopeOp, attn::CrossSdpaOp>(
          [&](auto heads) { heads.setHeads(sizes.get(heads.getHeads())); })
      .Case([&](attn::SdpaOp sdpa) {
        sdpa.setHeads(sizes.get(sdpa.getHeads()));
        sdpa.setKvHeads(sizes.get(sdpa.getKvHeads()));
      });
}

/// Replaces types that no shape rule infers.
Result<void> ModuleShrinker::shrinkResult(Operation *op) {
  if (auto constant = dyn_cast<attn::ConstantOp>(op))
    return shrinkConstant(constant);
  if (isa<attn::GetWeightOp, attn::GetCacheOp>(op)) {
    OpResult result = op->getResult(0);
    result.setType(shrink(result.getType()));
  }
  return {};
}

Result<void> ModuleShrinker::run() {
  shrinkSymbols();
  for (auto weight : module.getOps<attn::WeightOp>()) {
    Result<WeightExpr> expr =
        shrinkExpression(sizes, weight.getExpr().getExpr(), shapes);
    if (!expr)
      return unsupported("weight '" + weight.getSymName().str() +
                         "': " + expr.error().message);
    weight.setExprAttr(weights::ExprAttr::get(builder.getContext(), *expr));
    weight.setTypeAttr(TypeAttr::get(shrink(weight.getType())));
  }
  for (auto cache : module.getOps<attn::CacheOp>())
    cache.setTypeAttr(TypeAttr::get(shrink(cache.getType())));
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (entry.isExternal())
      continue;
    Block &block = entry.getBody().front();
    for (Operation &op : block.without_terminator())
      shrinkAttributes(&op);
    for (Operation &op : block.without_terminator())
      TRANSOM_TRY(shrinkResult(&op));
    shrinkEntry(entry);
  }
  return {};
}

Result<ShrunkModel> shrinkModule(ModuleOp module,
                                 const TensorShapes::Map &shapes,
                                 const std::set<int64_t> &groups,
                                 const SizeRules &rules) {
  FirstError error(*module.getContext());
  ShrunkModel shrunk;
  shrunk.module = module.clone();
  if (failed(inferTypes(*shrunk.module)))
    return unsupported(error.text);
  TRANSOM_ASSIGN(SizeRelations relations,
                 collectSizes(*shrunk.module, shapes, groups));
  std::optional<SizeMap> sizes = solveSizes(relations, rules);
  if (!sizes || sizes->isIdentity())
    return unsupported("no smaller sizes keep the products, sums and ratios "
                       "of the model's sizes");
  shrunk.sizes = std::move(*sizes);
  shrunk.names = std::move(relations.names);
  const TensorShapes original(shapes);
  TRANSOM_TRY(ModuleShrinker(*shrunk.module, shrunk.sizes, original).run());
  for (const auto &[name, shape] : shapes)
    shrunk.shapes[name] = shrinkShape(shrunk.sizes, shape);
  if (failed(inferTypes(*shrunk.module)) || failed(verify(*shrunk.module)))
    return unsupported(error.text);
  return Result<ShrunkModel>(std::move(shrunk));
}

WeightWork countWeightWork(ModuleOp module) {
  WeightWork work;
  auto count = [](Type type) {
    uint64_t elements = 1;
    for (int64_t size : cast<RankedTensorType>(type).getShape())
      elements *= static_cast<uint64_t>(size);
    return elements;
  };
  for (auto weight : module.getOps<attn::WeightOp>())
    work.elements += count(weight.getType());
  module.walk([&](attn::LinearOp linear) {
    work.products += count(linear.getWeight().getType());
  });
  return work;
}

} // namespace transom
