// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuses the elementwise operations of a GEMM's only reader into its epilogue.
#include "dialects/common/Location.h"
#include "dialects/kern/KBlockLimits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Remarks.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "kern-fuse-epilogues"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

/// The other operand if the region only adds `product` to a buffer with the
/// same dimensions; null otherwise.
static Value findResidual(kern::ElementwiseOp op, Value product) {
  Block &block = op.getBody().front();
  if (op.getInputs().size() != 2 || block.getOperations().size() != 2 ||
      !isa<arith::AddFOp>(block.front()))
    return {};
  Value other = op.getInputs()[op.getInputs()[0] == product ? 1 : 0];
  if (other == product || !isa<kern::BufferType>(other.getType()))
    return {};
  return getBufferType(other).getDims() == getBufferType(op.getOuts()).getDims()
             ? other
             : Value();
}

namespace {

struct FuseEpiloguesPass
    : public transom::impl::FuseEpiloguesPassBase<FuseEpiloguesPass> {
  using FuseEpiloguesPassBase::FuseEpiloguesPassBase;

  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<kern::GemmOp> gemms;
    getOperation().walk([&](kern::GemmOp gemm) {
      // A GEMM with a GLU or listed columns has no other epilogue.
      if (!gemm.getGlu() && !gemm.getColumns())
        gemms.push_back(gemm);
    });
    for (kern::GemmOp gemm : gemms)
      while (fuseElementwise(gemm, remarks))
        ;
    fuseAllSlices(gemms, remarks);
    for (kern::GemmOp gemm : gemms) {
      if (fuseSummary(gemm, remarks))
        remarks.report(gemm, RemarkId::ProductSummarizesRows);
      // Adding a ragged operand moves the others, so they are accessed by
      // index.
      for (size_t i = 0; i < gemm.getOuts().size(); ++i)
        if (keyPanels && fuseKeys(gemm, gemm.getOutsMutable()[i], remarks))
          remarks.report(gemm, RemarkId::ProductWritesKeyPanels);
    }
  }

  /// Moves the GEMM to its reader. Its inputs do not change until there,
  /// because buffers are written once.
  static void moveTo(kern::GemmOp gemm, Operation *reader, Value newOut) {
    auto old = gemm.getOuts()[0].getDefiningOp();
    gemm->moveBefore(reader);
    gemm->setLoc(
        fuseLocations(gemm.getContext(), {gemm.getLoc(), reader->getLoc()}));
    gemm.getOutsMutable()[0].set(newOut);
    reader->erase();
    old->erase();
  }

  /// Reports operations that would be fused if the GEMM had no other reader.
  static void reportOtherReaders(Value product, Remarks &remarks) {
    for (Operation *user : product.getUsers()) {
      auto reader = dyn_cast<kern::ElementwiseOp>(user);
      if (reader && reader.getOuts() != product &&
          (getActivation(reader) || findResidual(reader, product)))
        remarks.report(reader, {RemarkId::ProductHasOtherReaders,
                                {{"reader", user},
                                 {"readers", getBufferReaders(product)}}});
    }
  }

  bool fuseElementwise(kern::GemmOp gemm, Remarks &remarks) {
    if (gemm.getOuts().size() != 1)
      return false; // slices have readers of their own
    // Check the reader, its sizes and its output buffer.
    Value product = gemm.getOuts()[0];
    auto reader = dyn_cast_or_null<kern::ElementwiseOp>(onlyReader(product));
    if (gemm.getResidual()) {
      if (reader && getActivation(reader))
        remarks.report(reader, {RemarkId::ActivationAfterResidual,
                                {{"reader", reader.getOperation()},
                                 {"residual", gemm.getResidual()}}});
      return false;
    }
    if (!reader || reader->getBlock() != gemm->getBlock()) {
      if (!onlyReader(product))
        reportOtherReaders(product, remarks);
      return false;
    }
    Operation *op = reader;
    if (getBufferType(reader.getOuts()).getDims() !=
        getBufferType(product).getDims()) {
      remarks.report(reader,
                     {RemarkId::ProductIsBroadcast,
                      {{"reader", op},
                       {"product", getBufferType(product).getDims()},
                       {"result", getBufferType(reader.getOuts()).getDims()}}});
      return false;
    }
    if (kern::getStorage(gemm.getInput()) ==
        kern::getStorage(reader.getOuts())) {
      remarks.report(reader, {RemarkId::EpilogueOverwritesInput,
                              {{"reader", op}, {"input", gemm.getInput()}}});
      return false;
    }
    // Fuse an activation.
    if (std::optional<Activation> activation = getActivation(reader);
        activation && !gemm.getActivation()) {
      gemm.setEpilogueAttr(
          kern::EpilogueAttr::get(gemm.getContext(), *activation));
      moveTo(gemm, reader, reader.getOuts());
      ++activations;
      remarks.report(gemm, {RemarkId::ActivationJoinedProduct,
                            {{"activation", getActivationName(*activation)}}});
      return true;
    }
    // Fuse a residual.
    Value residual = findResidual(reader, product);
    if (!residual) {
      remarks.report(reader, {RemarkId::EpilogueUnsupported, {{"reader", op}}});
      return false;
    }
    bool inPlace =
        kern::getStorage(residual) == kern::getStorage(reader.getOuts());
    if (inPlace &&
        (gemm.getActivation() || gemm.getWeight().getType().getShape()[1] >
                                     kern::getMaxKBlockOfBits(32))) {
      remarks.report(reader,
                     {RemarkId::TilesOverwriteResidual,
                      {{"reader", op},
                       {"activation", gemm.getActivation() ? "yes" : "no"},
                       {"k", gemm.getWeight().getType().getShape()[1]},
                       {"limit", kern::getMaxKBlockOfBits(32)}}});
      return false;
    }
    gemm.getResidualMutable().assign(residual);
    moveTo(gemm, reader, reader.getOuts());
    ++residuals;
    remarks.report(gemm,
                   {RemarkId::ResidualJoinedProduct, {{"residual", residual}}});
    return true;
  }

  using Slices = SmallVector<kern::CopyOp>;

  /// The slices that together cover all GEMM columns without gap or overlap, in
  /// column order; empty if there are other readers.
  static Slices findSlices(kern::GemmOp gemm) {
    Value product = gemm.getOuts()[0];
    // Sort the slices by their first column.
    std::map<int64_t, kern::CopyOp> starts;
    int64_t last = getBufferType(product).getRank() - 1;
    for (Operation *user : product.getUsers()) {
      if (user == gemm)
        continue;
      auto copy = dyn_cast<kern::CopyOp>(user);
      if (!copy || copy.getInput() != product ||
          copy.getAxis() != uint64_t(last) || copy.getTo() != "0")
        return {};
      std::optional<int64_t> from =
          Polynomial::parse(copy.getFrom().str())->constant();
      if (!from || !starts.emplace(*from, copy).second)
        return {};
    }
    // Check that they cover all columns.
    Slices slices;
    Polynomial column;
    for (auto &[from, copy] : starts) {
      Polynomial width = getBufferType(copy.getOuts()).getDims().back();
      if (column != Polynomial(from) ||
          *Polynomial::parse(copy.getSize().str()) != width ||
          !width.constant())
        return {};
      column = column + width;
      slices.push_back(copy);
    }
    return column == getBufferType(product).getDims().back() ? slices
                                                             : Slices();
  }

  /// True for a slice into a buffer that a layer updates in place and reads
  /// before.
  static bool isReadBefore(kern::CopyOp copy) {
    return llvm::any_of(copy.getOuts().getUsers(), [&](Operation *user) {
      return user->isBeforeInBlock(copy);
    });
  }

  /// True for a GEMM with a reader that copies some of its columns.
  static bool isSliced(kern::GemmOp gemm) {
    Value product = gemm.getOuts()[0];
    return llvm::any_of(product.getUsers(), [&](Operation *user) {
      auto copy = dyn_cast<kern::CopyOp>(user);
      return copy && copy.getInput() == product &&
             int64_t(copy.getAxis()) + 1 == getBufferType(product).getRank();
    });
  }

  /// The reason why slices cannot be fused, or nullopt.
  static std::optional<RemarkReason> refuseSlices(kern::GemmOp gemm,
                                                  const Slices &slices) {
    Value product = gemm.getOuts()[0];
    if (gemm.getResidual() || gemm.getActivation())
      return RemarkReason(RemarkId::SlicesOfFinishedProduct);
    if (slices.size() < 2)
      return RemarkReason(
          RemarkId::SlicesDoNotCover,
          {{"readers", getBufferReaders(product)},
           {"columns", getBufferType(product).getDims().back()}});
    for (kern::CopyOp copy : slices)
      if (isReadBefore(copy))
        return RemarkReason(RemarkId::SliceIsReadEarlier,
                            {{"slice", copy.getOperation()}});
    return std::nullopt;
  }

  /// Whether a GEMM can write its slices, regardless of other GEMMs with its
  /// weight.
  static bool canWriteSlices(kern::GemmOp gemm, Remarks &remarks) {
    if (gemm.getOuts().size() != 1)
      return false;
    if (!isSliced(gemm))
      return false; // no reader copies a range of columns
    if (!gemm.getOuts()[0].getDefiningOp<kern::AllocOp>()) {
      remarks.report(gemm, {RemarkId::SlicedProductIsAResult,
                            {{"result", gemm.getOuts()[0]}}});
      return false;
    }
    if (std::optional<RemarkReason> reason =
            refuseSlices(gemm, findSlices(gemm))) {
      remarks.report(gemm, *reason);
      return false;
    }
    return true;
  }

  /// GEMMs with the same weight must have the same slices.
  void fuseAllSlices(ArrayRef<kern::GemmOp> gemms, Remarks &remarks) {
    SmallVector<kern::GemmOp> candidates;
    SmallVector<WeightChange> changes;
    for (kern::GemmOp gemm : gemms)
      if (canWriteSlices(gemm, remarks)) {
        std::string widths;
        for (kern::CopyOp copy : findSlices(gemm))
          widths += getBufferType(copy.getOuts()).getDims().back().str() + " ";
        candidates.push_back(gemm);
        changes.push_back({{{gemm, widths}}});
      }
    WeightUses weights(getOperation());
    SmallVector<bool> agreed = findAgreedChanges(weights, changes);
    for (auto [gemm, isAgreed] : llvm::zip(candidates, agreed)) {
      if (isAgreed) {
        fuseSlices(gemm, weights);
        reportSlices(gemm, remarks);
      } else {
        remarks.report(gemm, RemarkId::SlicedWeightIsShared);
      }
    }
  }

  void fuseSlices(kern::GemmOp gemm, WeightUses &weights) {
    auto alloc = gemm.getOuts()[0].getDefiningOp<kern::AllocOp>();
    Slices slices = findSlices(gemm);
    SmallVector<int64_t> widths;
    SmallVector<Value> outs;
    SmallVector<Location> locations{gemm.getLoc()};
    for (kern::CopyOp copy : slices) {
      widths.push_back(
          *getBufferType(copy.getOuts()).getDims().back().constant());
      outs.push_back(copy.getOuts());
      locations.push_back(copy.getLoc());
      // The outs may be allocated after the GEMM.
      if (Operation *out = copy.getOuts().getDefiningOp())
        out->moveBefore(gemm);
    }
    splitWeights(gemm, widths, weights);
    gemm.getOutsMutable().assign(outs);
    gemm->setLoc(fuseLocations(gemm.getContext(), locations));
    for (kern::CopyOp copy : slices)
      copy.erase();
    alloc.erase();
    ++splits;
  }

  static void reportSlices(kern::GemmOp gemm, Remarks &remarks) {
    auto widths = llvm::map_range(gemm.getOuts(), [](Value out) {
      return getBufferType(out).getDims().back().str();
    });
    remarks.report(gemm, {RemarkId::ProductWritesSlices,
                          {{"slices", gemm.getOuts().size()},
                           {"widths", llvm::join(widths, ", ")}}});
  }

  /// Splits weight and bias by out.
  static void splitWeights(kern::GemmOp gemm, ArrayRef<int64_t> widths,
                           WeightUses &weights) {
    auto split = [&](kern::WeightType type) {
      return kern::WeightType::get(type.getContext(), type.getShape(),
                                   type.getFormat(), type.getLayout(), widths);
    };
    weights.retype(gemm.getWeight(), split);
    if (gemm.getBias())
      weights.retype(gemm.getBias(), split);
  }

  /// Reports a row summary after another operation has written the rows.
  static void reportLateSummary(Value product, Operation *writer,
                                Remarks &remarks) {
    for (Operation *user : product.getUsers())
      if (isa<kern::RowSummaryOp>(user) &&
          user->getBlock() == writer->getBlock() &&
          writer->isBeforeInBlock(user))
        remarks.report(user, {RemarkId::SummaryOfOverwrittenRows,
                              {{"summary", user}, {"writer", writer}}});
  }

  /// The summary of a GEMM's result, if no operation writes there in between.
  static kern::RowSummaryOp findSummary(kern::GemmOp gemm, Remarks &remarks) {
    Value product = gemm.getOuts()[0];
    for (Operation *op = gemm->getNextNode(); op; op = op->getNextNode()) {
      auto summary = dyn_cast<kern::RowSummaryOp>(op);
      if (summary && summary.getInput() == product)
        return summary;
      auto touches = [&](Value buffer) {
        return isa<kern::BufferType>(buffer.getType()) &&
               kern::getStorage(buffer) == kern::getStorage(product);
      };
      auto buffer = dyn_cast<kern::BufferOp>(op);
      if (buffer ? llvm::any_of(buffer.writtenBuffers(), touches)
                 : isa<kern::LayersOp>(op) &&
                       llvm::any_of(op->getOperands(), touches)) {
        reportLateSummary(product, op, remarks);
        return {};
      }
    }
    return {};
  }

  bool fuseSummary(kern::GemmOp gemm, Remarks &remarks) {
    if (gemm.getOuts().size() != 1)
      return false;
    kern::RowSummaryOp summary = findSummary(gemm, remarks);
    if (!summary)
      return false;
    // The summary's buffers must be available before the GEMM.
    auto isOwn = [](Value out) {
      return !out.getDefiningOp() || out.getDefiningOp<kern::AllocOp>();
    };
    if (auto out = llvm::find_if_not(summary.getOuts(), isOwn);
        out != summary.getOuts().end()) {
      remarks.report(summary, {RemarkId::SummaryOfOtherBuffers,
                               {{"summary", summary.getOperation()},
                                {"out", Value(*out)}}});
      return false;
    }
    for (Value out : summary.getOuts())
      if (Operation *alloc = out.getDefiningOp())
        alloc->moveBefore(gemm);
    gemm.getSummaryMutable().assign(summary.getOuts());
    gemm->setLoc(
        fuseLocations(gemm.getContext(), {gemm.getLoc(), summary.getLoc()}));
    summary.erase();
    ++summaries;
    return true;
  }

  /// The reason why a GEMM does not write key panels, or nullopt.
  static std::optional<RemarkReason> refuseKeys(kern::GemmOp gemm,
                                                kern::PackKeysOp pack) {
    if (gemm.getResidual() || gemm.getActivation())
      return RemarkReason(RemarkId::KeyPanelsOfFinishedProduct);
    Operation *ragged = pack.getRagged().getDefiningOp();
    if ((gemm.getRagged() && gemm.getRagged() != pack.getRagged()) ||
        (ragged && gemm->isBeforeInBlock(ragged)))
      return RemarkReason(RemarkId::KeyPanelsOfOtherBatch,
                          {{"batch", Value(pack.getRagged())}});
    return std::nullopt;
  }

  /// Reports keys from a GEMM that another operation reads as rows.
  static void reportRowsOfKeys(Value product, Remarks &remarks) {
    const bool isOwn = product.getDefiningOp<kern::AllocOp>() != nullptr;
    for (Operation *user : product.getUsers())
      if (isa<kern::PackKeysOp>(user))
        remarks.report(user,
                       {RemarkId::KeysAreReadAsRows,
                        {{"readers", isOwn ? getBufferReaders(product, user)
                                           : std::string("other functions")}}});
  }

  bool fuseKeys(kern::GemmOp gemm, OpOperand &out, Remarks &remarks) {
    auto pack = dyn_cast_or_null<kern::PackKeysOp>(onlyReader(out.get()));
    if (!pack)
      reportRowsOfKeys(out.get(), remarks);
    if (!pack || pack->getBlock() != gemm->getBlock())
      return false;
    if (std::optional<RemarkReason> reason = refuseKeys(gemm, pack)) {
      remarks.report(pack, *reason);
      return false;
    }
    Operation *old = out.get().getDefiningOp();
    pack.getOuts().getDefiningOp()->moveBefore(gemm);
    out.set(pack.getOuts());
    gemm.getRaggedMutable().assign(pack.getRagged());
    gemm->setLoc(
        fuseLocations(gemm.getContext(), {gemm.getLoc(), pack.getLoc()}));
    pack.erase();
    old->erase();
    ++keys;
    return true;
  }
};

} // namespace
