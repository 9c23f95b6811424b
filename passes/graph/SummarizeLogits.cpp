// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds a logits summary to a decoder step's results.
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

/// Adds a result after the others.
void addResult(func::FuncOp entry, StringRef name, Value value) {
  Operation *terminator = entry.front().getTerminator();
  const unsigned index = terminator->getNumOperands();
  terminator->insertOperands(index, value);
  Builder b(entry.getContext());
  entry.setType(b.getFunctionType(entry.getArgumentTypes(),
                                  terminator->getOperandTypes()));
  entry.setResultAttr(index, "attn.name", b.getStringAttr(name));
}

class SummarizeLogitsPass
    : public impl::SummarizeLogitsPassBase<SummarizeLogitsPass> {
public:
  void runOnOperation() override {
    Remarks remarks(getOperation());
    for (func::FuncOp entry : getEntries(getOperation())) {
      auto vocabulary = entry->getAttrOfType<IntegerAttr>("transom.vocabulary");
      if (!vocabulary || entry.getOps<DecodeBatchOp>().empty())
        continue; // the entry returns no token logits
      const int64_t size = vocabulary.getInt();
      if (!givesLogits(entry, size)) {
        remarks.report(entry, {RemarkId::LogitsNotSummarized,
                               {{"entry", entry.getName()},
                                {"results", describeResults(entry)},
                                {"vocabulary", size}}});
        continue;
      }
      addSummary(entry);
      remarks.report(entry,
                     {RemarkId::LogitsSummarized,
                      {{"entry", entry.getName()}, {"vocabulary", size}}});
    }
  }

private:
  static StringRef getResultName(func::FuncOp entry, unsigned index) {
    auto name = entry.getResultAttrOfType<StringAttr>(index, "attn.name");
    return name ? name.getValue() : StringRef();
  }

  /// Whether the step's only result, besides listed logits, is the logits for
  /// the vocabulary.
  static bool givesLogits(func::FuncOp entry, int64_t vocabulary) {
    if (entry.getNumResults() != 1 + unsigned(findListedLogits(entry) != 0))
      return false;
    Dims dims = getDims(entry.front().getTerminator()->getOperand(0));
    return getResultName(entry, 0) == "logits" && dims.size() == 2 &&
           dims[1] == Polynomial(vocabulary);
  }

  /// `'logits' [rows, 100], 'states' [rows, 8]`.
  static std::string describeResults(func::FuncOp entry) {
    std::vector<std::string> results;
    for (auto [index, value] :
         llvm::enumerate(entry.front().getTerminator()->getOperands()))
      results.push_back("'" + getResultName(entry, index).str() + "' " +
                        getRemarkText(getDims(value)));
    return listTexts(std::move(results));
  }

  void addSummary(func::FuncOp entry) {
    Operation *terminator = entry.front().getTerminator();
    Value logits = terminator->getOperand(0);
    OpBuilder builder(terminator);
    Type open = UnrankedTensorType::get(builder.getF32Type());
    auto summary =
        builder.create<RowSummaryOp>(logits.getLoc(), open, open, logits);
    (void)setInferredTypes(summary);
    for (auto [name, value] : {std::pair("maxima", summary.getMaxima()),
                               std::pair("sums", summary.getSums())})
      addResult(entry, name, value);
    ++summarized;
  }
};

} // namespace
} // namespace transom
