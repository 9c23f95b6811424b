// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product that gives the logits is there twice: with all columns of its
// weight, and with those of an input. It is a change of the imported module,
// not a pass, so that a check of passes has the input from the beginning.
#include "compiler/import/ListedLogits.h"
#include "compiler/import/Import.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace transom {

/// The most tokens of a call: their columns are copied into memory that a
/// session keeps.
static constexpr int64_t maxListed = 8192;

/// The product that gives the logits of a step, its only result; null for
/// another step.
static attn::LinearOp findHead(func::FuncOp step, int64_t vocabulary) {
  Operation *terminator = step.front().getTerminator();
  auto name = step.getNumResults() == 1
                  ? step.getResultAttrOfType<StringAttr>(0, "attn.name")
                  : StringAttr();
  if (!name || name != "logits")
    return {};
  auto head = terminator->getOperand(0).getDefiningOp<attn::LinearOp>();
  const bool isOfWeight =
      head && !head.getColumns() &&
      head.getWeight().getDefiningOp<attn::GetWeightOp>() &&
      (!head.getBias() || head.getBias().getDefiningOp<attn::GetWeightOp>());
  auto type = isOfWeight ? dyn_cast<RankedTensorType>(head.getType())
                         : RankedTensorType();
  return type && type.getRank() == 2 && type.getDimSize(1) == vocabulary
             ? head
             : attn::LinearOp();
}

/// A name that no size of the module has.
static std::string declareSymbol(ModuleOp module, int64_t most) {
  Builder b(module.getContext());
  NamedAttrList symbols(module->getAttrOfType<DictionaryAttr>("attn.symbols"));
  std::string name = "listed";
  for (int i = 1; symbols.get(name); ++i)
    name = "listed" + std::to_string(i);
  symbols.set(name, b.getDictionaryAttr(
                        b.getNamedAttr("max", b.getI64IntegerAttr(most))));
  module->setAttr("attn.symbols", symbols.getDictionary(module.getContext()));
  return name;
}

std::string addListedLogits(ModuleOp module) {
  func::FuncOp step = getStepEntry(module);
  auto vocabulary = step
                        ? step->getAttrOfType<IntegerAttr>("transom.vocabulary")
                        : IntegerAttr();
  auto head =
      vocabulary ? findHead(step, vocabulary.getInt()) : attn::LinearOp();
  if (!head)
    return "translations multiply the whole output head: the logits of the "
           "step are not the result of one product with a weight";

  // The input.
  Builder b(module.getContext());
  const std::string listed =
      declareSymbol(module, std::min(vocabulary.getInt(), maxListed));
  Polynomial dims[] = {Polynomial::symbol(listed)};
  const unsigned index = step.getNumArguments();
  step.insertArgument(
      index, attn::getTensorType(dims, b.getI64Type()),
      b.getDictionaryAttr(
          {b.getNamedAttr("attn.name", b.getStringAttr("columns")),
           b.getNamedAttr("attn.role", b.getStringAttr("ids")),
           b.getNamedAttr("attn.bound", vocabulary)}),
      head.getLoc());

  // The product.
  Operation *terminator = step.front().getTerminator();
  OpBuilder builder(terminator);
  Value logits = builder.create<attn::LinearOp>(
      head.getLoc(), head.getInput(), head.getWeight(), head.getBias(),
      step.getArgument(index));
  terminator->insertOperands(1, logits);
  step.setType(builder.getFunctionType(step.getArgumentTypes(),
                                       terminator->getOperandTypes()));
  step.setResultAttr(0, "attn.optional", b.getUnitAttr());
  step.setResultAttr(1, "attn.name", b.getStringAttr("listed_logits"));
  return {};
}

} // namespace transom
