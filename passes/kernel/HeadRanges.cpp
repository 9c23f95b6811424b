// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few rows, a GEMM divides the column tiles of each out evenly among the
// workers, and attention with one sequence divides its heads evenly. A worker's
// tiles of queries, keys and values then belong to its own heads if the ends of
// both divisions are panel borders.
#include "passes/kernel/HeadRanges.h"
#include "passes/kernel/BufferUses.h"
#include <numeric>

using namespace mlir;
using namespace transom;

namespace {

/// Determines the head ranges for the phases in one module.
class HeadRangeFinder {
public:
  explicit HeadRangeFinder(ModuleOp module) {
    SymbolTable symbols(module);
    module.walk([&](kern::LayersOp layers) {
      for (kern::LayerAttr layer : layers.getLayerRange())
        callers[layers.getBody(layer, symbols)] = layers;
    });
  }

  /// Returns the remark for a phase and sets its range count, 0 if every call
  /// has a barrier. Nullopt unless the phase is a single attention without a
  /// cache.
  std::optional<RemarkReason> find(kern::PhaseOp phase, int64_t &ranges) const;

private:
  bool hasTokensOf(Value ragged, kern::BufferType buffer) const;

  DenseMap<Operation *, kern::LayersOp> callers; ///< by body
};

} // namespace

/// Whether a GEMM divides the column tiles of its outs among the workers, for
/// an attention's tokens.
static bool dividesTilesFor(kern::AttentionOp attention, kern::GemmOp op) {
  auto rows = [](Value buffer) {
    return cast<kern::BufferType>(buffer.getType()).getRowCount();
  };
  return !op.getColumns() && !op.getGlu() && !op.getNormGamma() &&
         !op.getOutScales() && op.getSummary().empty() &&
         rows(op.getInput()) == rows(attention.getQuery()) &&
         (!op.getRagged() ||
          op.getRagged().getType() == attention.getKeyRagged().getType());
}

/// Whether the attention needs only queries, keys and values from an operation,
/// as GEMM results.
static bool needsColumnsOnly(kern::BufferOp earlier,
                             kern::AttentionOp attention) {
  auto gemm = dyn_cast<kern::GemmOp>(*earlier);
  auto isColumns = [&](Value buffer) {
    return gemm && dividesTilesFor(attention, gemm) &&
           llvm::is_contained(gemm.getOuts(), buffer) &&
           (buffer == attention.getQuery() || buffer == attention.getKey() ||
            buffer == attention.getValue());
  };
  auto touch = [](ArrayRef<Value> some, Value buffer) {
    return llvm::any_of(some, [&](Value other) {
      return kern::getStorage(other) == kern::getStorage(buffer);
    });
  };
  auto later = cast<kern::BufferOp>(attention.getOperation());
  SmallVector<Value> read = earlier.readBuffers(),
                     written = earlier.writtenBuffers();
  return !isa<kern::OneDnnOp>(*earlier) && !earlier.getWrittenSize() &&
         llvm::all_of(later.readBuffers(),
                      [&](Value buffer) {
                        return !touch(written, buffer) || isColumns(buffer);
                      }) &&
         llvm::none_of(later.writtenBuffers(), [&](Value buffer) {
           return touch(written, buffer) || touch(read, buffer);
         });
}

/// The maximum number of head ranges whose columns are whole panels; 0 if every
/// division into ranges splits a panel.
static int64_t countRanges(kern::AttentionOp op, int64_t dk, int64_t dv) {
  int64_t perRange = std::lcm(panelWidth / std::gcd(panelWidth, dk),
                              panelWidth / std::gcd(panelWidth, dv));
  auto kvHeads = static_cast<int64_t>(op.getKvHeads());
  return kvHeads % perRange ? 0 : kvHeads / perRange;
}

/// Whether a buffer's rows are the tokens in a ragged batch.
bool HeadRangeFinder::hasTokensOf(Value ragged, kern::BufferType buffer) const {
  while (auto argument = dyn_cast<BlockArgument>(ragged)) {
    kern::LayersOp layers = callers.lookup(argument.getOwner()->getParentOp());
    if (!layers || argument.getArgNumber() >= layers->getNumOperands())
      return false;
    ragged = layers->getOperand(argument.getArgNumber());
  }
  auto batch = ragged.getDefiningOp<kern::RaggedBatchOp>();
  if (!batch)
    return false;
  const Polynomial rows = buffer.getRowCount();
  if (rows == Polynomial::symbol(batch.getRows().str()))
    return true;
  Result<Polynomial> sequences = Polynomial::parse(batch.getBatch().str()),
                     columns = Polynomial::parse(batch.getColumns().str());
  return !batch.getMask() && sequences && columns &&
         rows == *sequences * *columns;
}

std::optional<RemarkReason> HeadRangeFinder::find(kern::PhaseOp phase,
                                                  int64_t &ranges) const {
  auto earlier = dyn_cast_or_null<kern::PhaseOp>(phase->getPrevNode());
  Block &body = phase.getBody().front();
  auto attention = dyn_cast<kern::AttentionOp>(body.front());
  if (!earlier || !attention || attention.getCache() ||
      !llvm::hasSingleElement(body))
    return std::nullopt;

  // The attention needs only GEMM columns from the previous phase.
  for (auto op : earlier.getBody().getOps<kern::BufferOp>())
    if (!needsColumnsOnly(op, attention))
      return RemarkReason(RemarkId::AttentionNeedsOtherWorkers,
                          {{"phase", phase.getName()},
                           {"operation", attention.getOperation()},
                           {"earlier", op.getOperation()}});

  // Both phases divide the same tokens.
  auto query = cast<kern::BufferType>(attention.getQuery().getType());
  if (attention.getQueryRagged().getType() !=
          attention.getKeyRagged().getType() ||
      !hasTokensOf(attention.getQueryRagged(), query))
    return RemarkReason(
        RemarkId::AttentionHasOtherTokens,
        {{"phase", phase.getName()}, {"operation", attention.getOperation()}});

  // The ranges end at panel borders.
  auto getHeadColumns = [&](kern::BufferType rows) {
    return *rows.getDims().back().constant() /
           static_cast<int64_t>(attention.getHeads());
  };
  int64_t dk = getHeadColumns(query),
          dv = getHeadColumns(
              cast<kern::BufferType>(attention.getOuts().getType()));
  ranges = countRanges(attention, dk, dv);
  if (ranges < 2) {
    ranges = 0;
    return RemarkReason(RemarkId::HeadsSharePanels,
                        {{"phase", phase.getName()},
                         {"heads", attention.getKvHeads()},
                         {"key", dk},
                         {"value", dv},
                         {"panel", panelWidth}});
  }
  return RemarkReason(RemarkId::HeadsFollowColumns,
                      {{"phase", phase.getName()},
                       {"earlier", earlier.getName()},
                       {"ranges", ranges},
                       {"rows", ownRows}});
}

void transom::setHeadRanges(ModuleOp module, Remarks &remarks) {
  HeadRangeFinder finder(module);
  module.walk([&](kern::PhaseOp phase) {
    int64_t ranges = 0;
    std::optional<RemarkReason> reason = finder.find(phase, ranges);
    if (!reason)
      return;
    if (ranges)
      phase.setHeadRanges(ranges);
    remarks.report(phase, *reason);
  });
}
