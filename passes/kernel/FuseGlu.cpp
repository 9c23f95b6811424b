// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GLU of an MLP becomes the epilogue of one product: rows of both weights
// are interleaved, so that a tile holds act(g) and u side by side.
#include "dialects/common/Location.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Remarks.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/Passes.h"
#include "runtime/weights/WeightExpr.h"

#define DEBUG_TYPE "kern-fuse-glu"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_FUSEGLUPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

/// Rows of each weight that follow each other when two are interleaved.
static constexpr int64_t kInterleavedRows = 8;

/// The one operation that writes an alloc, or null.
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

/// One factor of a GLU: columns of a product.
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

struct FuseGluPass : public transom::impl::FuseGluPassBase<FuseGluPass> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<kern::ElementwiseOp> all;
    getOperation().walk([&](kern::ElementwiseOp op) { all.push_back(op); });
    for (kern::ElementwiseOp op : all)
      if (std::optional<Glu> glu = matchGlu(op))
        fuse(*glu, remarks);
      else
        reportOtherReader(op, remarks);
  }

  static bool isProductOfTwo(kern::ElementwiseOp op) {
    Block &block = op.getBody().front();
    return op.getInputs().size() == 2 && block.getOperations().size() == 2 &&
           isa<arith::MulFOp>(block.front());
  }

  /// The operation that writes a buffer: a product, or a slice of one.
  static bool isColumnsOfProduct(Value buffer) {
    Operation *writer = onlyWriter(buffer);
    if (auto slice = dyn_cast_or_null<kern::CopyOp>(writer))
      writer = onlyWriter(slice.getInput());
    return isa_and_nonnull<kern::GemmOp>(writer);
  }

  /// Reports a GLU of two products that is not fused since something else reads
  /// a factor.
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

  /// Matches the product of an activation's result and another buffer.
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

  /// The columns of a product that a buffer holds, if it holds such.
  static std::optional<Factor> matchFactor(Value buffer) {
    Operation *writer = onlyWriter(buffer);
    Factor factor;
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
    factor.gemm = dyn_cast_or_null<kern::GemmOp>(writer);
    if (!factor.gemm || factor.gemm.getOuts().size() != 1 ||
        factor.gemm.getActivation() || factor.gemm.getResidual() ||
        factor.gemm.getGlu())
      return std::nullopt;
    if (!factor.slice)
      factor.size = factor.gemm.getWeight().getType().getShape()[0];
    return factor;
  }

  /// Why two factors do not join, or nothing.
  std::optional<RemarkReason> refusal(Glu &glu, Factor &g, Factor &u,
                                      WeightUses &weights) {
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
    bool bf16 = false;
    if (auto dtype = getOperation()->getAttrOfType<StringAttr>("transom.dtype"))
      bf16 = dtype.getValue() == "bf16";
    if (int64_t limit = (bf16 ? 2 : 1) * kern::kMaxKBlock;
        type.getShape()[1] > limit)
      return RemarkReason(RemarkId::GluOfLongK,
                          {{"k", type.getShape()[1]}, {"limit", limit}});
    for (kern::GemmOp gemm : {g.gemm, u.gemm})
      if (!isPlain(gemm.getWeight(), weights) ||
          (gemm.getBias() && !isPlain(gemm.getBias(), weights)))
        return RemarkReason(RemarkId::GluWeightIsShared,
                            {{"product", gemm.getOperation()}});
    if (kern::getStorage(g.gemm.getInput()) ==
        kern::getStorage(glu.multiply.getOuts()))
      return RemarkReason(RemarkId::GluOverwritesInput, {{"product", gate}});
    return std::nullopt;
  }

  /// True when the two slices of a product alone read it.
  static bool hasOnlySlices(kern::GemmOp gemm) {
    return llvm::count_if(gemm.getOuts()[0].getUsers(),
                          [&](Operation *user) { return user != gemm; }) == 2;
  }

  /// A weight that one operation reads, of another definition in each layer.
  static bool isPlain(Value weight, WeightUses &weights) {
    SmallPtrSet<Operation *, 8> seen;
    for (kern::WeightOp definition : weights.definitions(weight))
      if (!seen.insert(definition).second)
        return false;
    return weights.hasOneUse(weight);
  }

  void fuse(Glu &glu, Remarks &remarks) {
    std::optional<Factor> g = matchFactor(glu.g), u = matchFactor(glu.u);
    if (!g || !u) {
      Operation *writer = onlyWriter(g ? glu.u : glu.g);
      remarks.report(glu.multiply, {RemarkId::GluFactorIsNotAProduct,
                                    {{"factor", g ? "up projection" : "gate"},
                                     {"writer", writer ? getRemarkText(writer)
                                                       : "the caller"}}});
      return;
    }
    WeightUses weights(getOperation());
    if (std::optional<RemarkReason> reason = refusal(glu, *g, *u, weights)) {
      remarks.report(glu.multiply, *reason);
      return;
    }
    interleave(weights, *g, *u,
               [](kern::GemmOp gemm) -> Value { return gemm.getWeight(); });
    if (g->gemm.getBias())
      interleave(weights, *g, *u,
                 [](kern::GemmOp gemm) { return gemm.getBias(); });
    OpBuilder b(glu.multiply);
    Location loc = fuseLocations(&getContext(),
                                 {g->gemm.getLoc(), u->gemm.getLoc(),
                                  glu.apply.getLoc(), glu.multiply.getLoc()});
    auto fused = b.create<kern::GemmOp>(
        loc, g->gemm.getInput(), g->gemm.getWeight(), g->gemm.getBias(),
        glu.multiply.getOuts(),
        kern::EpilogueAttr::get(&getContext(), glu.activation, /*glu=*/true));
    erase(glu, *g, *u);
    ++glus;
    remarks.report(fused, {RemarkId::GluJoinedProduct,
                           {{"activation", getActivationName(glu.activation)},
                            {"columns", g->size}}});
  }

  /// Gives the weights (or biases) of g the rows of both, in turns. Without
  /// slices those of u are not read any more.
  static void interleave(WeightUses &weights, Factor &g, Factor &u,
                         function_ref<Value(kern::GemmOp)> of) {
    SmallVector<kern::WeightOp> first = weights.definitions(of(g.gemm)),
                                second = weights.definitions(of(u.gemm));
    for (auto [a, b] : llvm::zip_equal(first, second)) {
      WeightExpr ea = a.getExpr().getExpr(), eb = b.getExpr().getExpr();
      if (g.slice) {
        ea = WeightExpr::slice(ea, 0, g.from, g.size);
        eb = WeightExpr::slice(eb, 0, u.from, u.size);
      }
      a.setExprAttr(weights::ExprAttr::get(
          a.getContext(), WeightExpr::interleave(kInterleavedRows, {ea, eb})));
    }
    if (!g.slice)
      weights.retype(of(g.gemm), [](kern::WeightType type) {
        SmallVector<int64_t> shape(type.getShape());
        shape[0] *= 2;
        return kern::WeightType::get(type.getContext(), shape, type.getFormat(),
                                     type.getLayout(), type.getSplits());
      });
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
      eraseWeight(weight);
  }
};

} // namespace
