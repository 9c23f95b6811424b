// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds the summary of the logits to the results of a decoder's step.
#include "passes/Remarks.h"
#include "passes/graph/GraphSupport.h"
#include "passes/graph/Passes.h"

#define DEBUG_TYPE "attn-summarize-logits"

using namespace mlir;
using namespace transom::attn;

namespace transom {

#define GEN_PASS_DEF_SUMMARIZELOGITSPASS
#include "passes/graph/Passes.h.inc"

namespace {

class SummarizeLogitsPass
    : public impl::SummarizeLogitsPassBase<SummarizeLogitsPass> {
public:
  void runOnOperation() override {
    Remarks remarks(getOperation());
    for (func::FuncOp entry : getEntries(getOperation()))
      if (givesLogits(entry)) {
        addSummary(entry);
        auto vocabulary =
            entry->getAttrOfType<IntegerAttr>("transom.vocabulary");
        remarks.report(entry, {RemarkId::LogitsSummarized,
                               {{"entry", entry.getName()},
                                {"vocabulary", vocabulary.getInt()}}});
      }
  }

private:
  /// Whether an entry is a step whose one result is the logits of the
  /// vocabulary.
  static bool givesLogits(func::FuncOp entry) {
    auto vocabulary = entry->getAttrOfType<IntegerAttr>("transom.vocabulary");
    if (!vocabulary || entry.getOps<DecodeBatchOp>().empty() ||
        entry.getNumResults() != 1)
      return false;
    auto name = entry.getResultAttrOfType<StringAttr>(0, "attn.name");
    Dims dims = getDims(entry.front().getTerminator()->getOperand(0));
    return name && name.getValue() == "logits" && dims.size() == 2 &&
           dims[1] == Polynomial(vocabulary.getInt());
  }

  void addSummary(func::FuncOp entry) {
    Operation *terminator = entry.front().getTerminator();
    Value logits = terminator->getOperand(0);
    OpBuilder builder(terminator);
    Type open = UnrankedTensorType::get(builder.getF32Type());
    auto summary =
        builder.create<RowSummaryOp>(logits.getLoc(), open, open, logits);
    (void)setInferredTypes(summary);
    terminator->insertOperands(1, summary.getResults());
    entry.setType(builder.getFunctionType(entry.getArgumentTypes(),
                                          terminator->getOperandTypes()));
    entry.setResultAttr(1, "attn.name", builder.getStringAttr("maxima"));
    entry.setResultAttr(2, "attn.name", builder.getStringAttr("sums"));
    ++summarized;
  }
};

} // namespace
} // namespace transom
