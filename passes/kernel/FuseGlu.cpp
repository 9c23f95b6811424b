// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuses the GLU in an MLP into one GEMM's epilogue: rows of both weights are
// interleaved, so that a tile contains act(g) and u side by side.
#include "dialects/common/Location.h"
#include "dialects/kern/KBlockLimits.h"
#include "dialects/weights/StoredGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Remarks.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "kern-fuse-glu"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_FUSEGLUPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

/// Adjacent rows from each weight after interleaving.
static constexpr int64_t kInterleavedRows = 8;

/// The only writer of an alloc, or null.
static Operation *onlyWriter(Value buffer) {
  Operation *writer = nullptr;
  for (Operation *user : buffer.getUsers()) {
    auto op = dyn_cast<kern::BufferOp>(user);
    if (!op || !llvm::is_contained(op.writtenBuffers(), buffer))
      continue;
    if (writer)
      return nullptr;
    writer = user;
  }
  return writer;
}

namespace {

/// One factor in a GLU: GEMM result columns.
struct Factor {
  kern::GemmOp gemm;
  kern::CopyOp slice; ///< null: all columns
  int64_t from = 0, size = 0;
};

/// `activation(g) * u`.
struct Glu {
  kern::ElementwiseOp apply, multiply;
  Value g, u;
  Activation activation;
};

/// A GLU whose factors are GEMM result columns.
struct FactoredGlu {
  Glu glu;
  Factor g, u;
};

struct FuseGluPass : public transom::impl::FuseGluPassBase<FuseGluPass> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    WeightUses weights(getOperation());
    SmallVector<FactoredGlu> found;
    getOperation().walk([&](kern::ElementwiseOp op) {
      if (std::optional<Glu> glu = matchGlu(op)) {
        if (std::optional<FactoredGlu> factored =
                findFactors(*glu, weights, remarks))
          found.push_back(*factored);
      } else {
        reportOtherReader(op, remarks);
      }
    });

    // GEMMs with the same weights must be equal kinds of factors.
    auto changes = llvm::map_to_vector(
        found, [&](const FactoredGlu &glu) { return getChange(glu, weights); });
    SmallVector<bool> agreed = findAgreedChanges(weights, changes);
    interleaveAll(found, agreed, weights);
    for (auto [glu, isAgreed] : llvm::zip(found, agreed))
      if (isAgreed)
        fuse(glu, remarks);
      else
        remarks.report(glu.glu.multiply,
                       {RemarkId::GluWeightIsShared,
                        {{"product", glu.g.gemm.getOperation()}}});
  }

  static bool isProductOfTwo(kern::ElementwiseOp op) {
    Block &block = op.getBody().front();
    return op.getInputs().size() == 2 && block.getOperations().size() == 2 &&
           isa<arith::MulFOp>(block.front());
  }

  /// True if a GEMM or a slice after it writes the buffer.
  static bool isColumnsOfProduct(Value buffer) {
    Operation *writer = onlyWriter(buffer);
    if (auto slice = dyn_cast_or_null<kern::CopyOp>(writer))
      writer = onlyWriter(slice.getInput());
    return isa_and_nonnull<kern::GemmOp>(writer);
  }

  /// Reports a GLU that is not fused because another operation reads a factor.
  static void reportOtherReader(kern::ElementwiseOp op, Remarks &remarks) {
    if (!isProductOfTwo(op))
      return;
    for (int first : {0, 1}) {
      Value applied = op.getInputs()[first], other = op.getInputs()[1 - first];
      auto apply = dyn_cast_or_null<kern::ElementwiseOp>(onlyWriter(applied));
      if (!apply || !getActivation(apply) || !isColumnsOfProduct(other) ||
          !isColumnsOfProduct(apply.getInputs()[0]))
        continue;
      for (auto [factor, reader] :
           {std::pair(applied, op), {other, op}, {apply.getInputs()[0], apply}})
        if (onlyReader(factor) != reader)
          remarks.report(op, {RemarkId::GluFactorHasOtherReader,
                              {{"factor", getRemarkText(onlyWriter(factor))},
                               {"readers", getBufferReaders(factor, reader)}}});
    }
  }

  /// Matches `activation(g) * u`.
  static std::optional<Glu> matchGlu(kern::ElementwiseOp op) {
    if (!isProductOfTwo(op))
      return std::nullopt;
    for (int first : {0, 1}) {
      Value applied = op.getInputs()[first], other = op.getInputs()[1 - first];
      if (onlyReader(applied) != op || onlyReader(other) != op)
        continue;
      auto apply = dyn_cast_or_null<kern::ElementwiseOp>(onlyWriter(applied));
      std::optional<Activation> kind =
          apply ? getActivation(apply) : std::nullopt;
      if (kind && onlyReader(apply.getInputs()[0]) == apply)
        return Glu{apply, op, apply.getInputs()[0], other, *kind};
    }
    return std::nullopt;
  }

  /// The GEMM result columns in a buffer; nullopt for other contents.
  static std::optional<Factor> matchFactor(Value buffer) {
    Operation *writer = onlyWriter(buffer);
    Factor factor;
    // Find the slice, if any, and the GEMM.
    if (auto slice = dyn_cast_or_null<kern::CopyOp>(writer)) {
      auto from = Polynomial::parse(slice.getFrom().str());
      auto size = Polynomial::parse(slice.getSize().str());
      auto type = cast<kern::BufferType>(slice.getInput().getType());
      if (slice.getTo() != "0" ||
          int64_t(slice.getAxis()) + 1 != type.getRank() || !from->constant() ||
          !size->constant())
        return std::nullopt;
      factor = {nullptr, slice, *from->constant(), *size->constant()};
      writer = onlyWriter(slice.getInput());
    }
    // The GEMM must have one plain result.
    factor.gemm = dyn_cast_or_null<kern::GemmOp>(writer);
    if (!factor.gemm || factor.gemm.getOuts().size() != 1 ||
        factor.gemm.getActivation() || factor.gemm.getResidual() ||
        factor.gemm.getGlu() || factor.gemm.getColumns())
      return std::nullopt;
    if (!factor.slice)
      factor.size = factor.gemm.getWeight().getType().getShape()[0];
    return factor;
  }

  /// The reason why two factors cannot be joined, or nullopt.
  std::optional<RemarkReason> refusal(Glu &glu, Factor &g, Factor &u) {
    // Check blocks, columns and operands.
    Operation *gate = g.gemm, *up = u.gemm;
    kern::WeightType type = g.gemm.getWeight().getType();
    if (gate->getBlock() != glu.multiply->getBlock() ||
        up->getBlock() != glu.multiply->getBlock())
      return RemarkReason(RemarkId::GluIsInAnotherLayer,
                          {{"glu", glu.multiply.getOperation()}});
    if (g.size != u.size || g.size % kInterleavedRows)
      return RemarkReason(
          RemarkId::GluWidthUnsupported,
          {{"gate", g.size}, {"up", u.size}, {"multiple", kInterleavedRows}});
    if (g.slice ? g.gemm != u.gemm || g.from + u.from != g.size ||
                      2 * g.size != type.getShape()[0] || !hasOnlySlices(g.gemm)
                : bool(u.slice) || g.gemm.getInput() != u.gemm.getInput())
      return RemarkReason(RemarkId::GluInputsDiffer,
                          {{"gate", gate}, {"up", up}});
    if (bool(g.gemm.getBias()) != bool(u.gemm.getBias()))
      return RemarkReason(RemarkId::GluHasOneBias,
                          {{"gate", gate}, {"up", up}});
    // The result must fit in one K block, and not overwrite the input.
    bool bf16 = false;
    if (auto dtype = getOperation()->getAttrOfType<StringAttr>("transom.dtype"))
      bf16 = dtype.getValue() == "bf16";
    if (int64_t limit = kern::getMaxKBlockOfBits(bf16 ? 16 : 32);
        type.getShape()[1] > limit)
      return RemarkReason(RemarkId::GluOfLongK,
                          {{"k", type.getShape()[1]}, {"limit", limit}});
    if (kern::getStorage(g.gemm.getInput()) ==
        kern::getStorage(glu.multiply.getOuts()))
      return RemarkReason(RemarkId::GluOverwritesInput, {{"product", gate}});
    return std::nullopt;
  }

  /// True if only two slices read the GEMM result.
  static bool hasOnlySlices(kern::GemmOp gemm) {
    return llvm::count_if(gemm.getOuts()[0].getUsers(),
                          [&](Operation *user) { return user != gemm; }) == 2;
  }

  /// Finds the factors if the GLU can be fused, regardless of other GEMMs with
  /// their weights.
  std::optional<FactoredGlu> findFactors(Glu &glu, const WeightUses &weights,
                                         Remarks &remarks) {
    // Both factors must come from a GEMM.
    std::optional<Factor> g = matchFactor(glu.g), u = matchFactor(glu.u);
    if (!g || !u) {
      Operation *writer = onlyWriter(g ? glu.u : glu.g);
      remarks.report(glu.multiply, {RemarkId::GluFactorIsNotAProduct,
                                    {{"factor", g ? "up projection" : "gate"},
                                     {"writer", writer ? getRemarkText(writer)
                                                       : "the caller"}}});
      return std::nullopt;
    }
    if (std::optional<RemarkReason> reason = refusal(glu, *g, *u)) {
      remarks.report(glu.multiply, *reason);
      return std::nullopt;
    }
    // Both weights must correspond one to one, with equal formats.
    if (!isPaired(weights, g->gemm.getWeight(), u->gemm.getWeight()) ||
        (g->gemm.getBias() &&
         !isPaired(weights, g->gemm.getBias(), u->gemm.getBias()))) {
      remarks.report(glu.multiply, {RemarkId::GluWeightIsShared,
                                    {{"product", g->gemm.getOperation()}}});
      return std::nullopt;
    }
    if (std::optional<RemarkReason> reason = findFormats(weights, *g, *u)) {
      remarks.report(glu.multiply, *reason);
      return std::nullopt;
    }
    return FactoredGlu{glu, *g, *u};
  }

  /// Reports different weight formats: quantized values from files are exact
  /// only in their own format.
  static std::optional<RemarkReason> findFormats(const WeightUses &weights,
                                                 Factor &g, Factor &u) {
    for (auto [a, b] :
         llvm::zip_equal(weights.definitions(g.gemm.getWeight()),
                         weights.definitions(u.gemm.getWeight()))) {
      auto getName = [](kern::WeightOp weight) {
        std::string format = getStoredFormat(weight.getExpr().getExpr());
        return format.empty() ? std::string("f32") : format;
      };
      std::string gate = getName(a), up = getName(b);
      if (gate != up)
        return RemarkReason(RemarkId::GluFormatsDiffer,
                            {{"gate", gate}, {"up", up}});
    }
    return std::nullopt;
  }

  /// Whether each definition for one weight corresponds to exactly one
  /// definition for the other, also with repeated layers.
  static bool isPaired(const WeightUses &weights, Value gate, Value up) {
    DenseMap<Operation *, Operation *> ofGate, ofUp;
    for (auto [a, b] :
         llvm::zip_equal(weights.definitions(gate), weights.definitions(up)))
      if (ofGate.try_emplace(a, b).first->second != b ||
          ofUp.try_emplace(b, a).first->second != a)
        return false;
    return true;
  }

  /// Lists a factor's weight and bias definitions, layer by layer.
  static std::string getDefinitions(Factor factor, const WeightUses &weights) {
    std::string text = std::to_string(factor.from);
    for (Value value : {Value(factor.gemm.getWeight()), factor.gemm.getBias()})
      if (value)
        for (kern::WeightOp definition : weights.definitions(value))
          text += " " + definition.getSymName().str();
    return text;
  }

  /// The change to the weights: equal for factors with the same definitions.
  static WeightChange getChange(FactoredGlu glu, const WeightUses &weights) {
    std::string both = getDefinitions(glu.g, weights) + " and " +
                       getDefinitions(glu.u, weights);
    if (glu.g.slice)
      return {{{glu.g.gemm, "both of " + both}}};
    return {{{glu.g.gemm, "gate of " + both}, {glu.u.gemm, "up of " + both}}};
  }

  /// Interleaves both factors' rows in g's weights and biases, only once if
  /// several GLUs have the same weights. Without slices, u's weights become
  /// unused.
  static void interleaveAll(MutableArrayRef<FactoredGlu> glus,
                            ArrayRef<bool> agreed, WeightUses &weights) {
    DenseSet<Operation *> done;
    for (auto [glu, isAgreed] : llvm::zip(glus, agreed)) {
      if (!isAgreed)
        continue;
      interleave(weights, glu.g, glu.u, glu.g.gemm.getWeight(),
                 glu.u.gemm.getWeight(), done);
      if (glu.g.gemm.getBias())
        interleave(weights, glu.g, glu.u, glu.g.gemm.getBias(),
                   glu.u.gemm.getBias(), done);
    }
  }

  static void interleave(WeightUses &weights, const Factor &g, const Factor &u,
                         Value ofGate, Value ofUp,
                         DenseSet<Operation *> &done) {
    bool isNew = false;
    for (auto [a, b] : llvm::zip_equal(weights.definitions(ofGate),
                                       weights.definitions(ofUp))) {
      if (!done.insert(a).second)
        continue;
      isNew = true;
      WeightExpr ea = a.getExpr().getExpr(), eb = b.getExpr().getExpr();
      if (g.slice) {
        ea = WeightExpr::slice(ea, 0, g.from, g.size);
        eb = WeightExpr::slice(eb, 0, u.from, u.size);
      }
      a.setExprAttr(weights::ExprAttr::get(
          a.getContext(), WeightExpr::interleave(kInterleavedRows, {ea, eb})));
    }
    if (!g.slice && isNew)
      weights.retype(ofGate, [](kern::WeightType type) {
        SmallVector<int64_t> shape(type.getShape());
        shape[0] *= 2;
        return kern::WeightType::get(type.getContext(), shape, type.getFormat(),
                                     type.getLayout(), type.getSplits());
      });
  }

  void fuse(FactoredGlu &found, Remarks &remarks) {
    auto &[glu, g, u] = found;
    OpBuilder b(glu.multiply);
    Location loc = fuseLocations(&getContext(),
                                 {g.gemm.getLoc(), u.gemm.getLoc(),
                                  glu.apply.getLoc(), glu.multiply.getLoc()});
    auto fused = b.create<kern::GemmOp>(
        loc, g.gemm.getInput(), g.gemm.getWeight(), g.gemm.getBias(),
        glu.multiply.getOuts(),
        kern::EpilogueAttr::get(&getContext(), glu.activation, /*glu=*/true));
    erase(glu, g, u);
    ++glus;
    remarks.report(fused, {RemarkId::GluJoinedProduct,
                           {{"activation", getActivationName(glu.activation)},
                            {"columns", g.size}}});
  }

  static void erase(Glu &glu, Factor &g, Factor &u) {
    SmallVector<Value> buffers{glu.g, glu.u, glu.apply.getOuts()};
    if (g.slice)
      buffers.push_back(g.gemm.getOuts()[0]);
    glu.multiply->erase();
    glu.apply->erase();
    SmallVector<Value> unread;
    for (Factor factor : {g, u})
      if (factor.slice)
        factor.slice->erase();
    if (!g.slice) {
      unread.push_back(u.gemm.getWeight());
      if (u.gemm.getBias())
        unread.push_back(u.gemm.getBias());
      u.gemm->erase();
    }
    g.gemm->erase();
    for (Value buffer : buffers)
      buffer.getDefiningOp()->erase();
    for (Value weight : unread)
      if (weight.use_empty())
        eraseWeight(weight);
  }
};

} // namespace
