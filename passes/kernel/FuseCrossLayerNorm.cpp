// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last GEMM in a layer computes the norm that begins the next layer: the
// norm weights move to the previous layer, and the normalized rows pass through
// the layers next to the state.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Remarks.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/CastFuser.h"
#include "passes/kernel/NormJoiner.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "kern-fuse-cross-layer-norm"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_FUSECROSSLAYERNORMPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

namespace {

/// A body that begins with a norm of the state and ends with a GEMM that writes
/// it.
struct Body {
  func::FuncOp function;
  kern::NormOp norm;
  kern::GemmOp last;
};

/// The norm on requested rows after the layers.
struct Final {
  kern::GatherOp gather;
  kern::NormOp norm;
};

struct FuseCrossLayerNormPass
    : public transom::impl::FuseCrossLayerNormPassBase<FuseCrossLayerNormPass> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<kern::LayersOp> runs;
    getOperation().walk([&](kern::LayersOp layers) { runs.push_back(layers); });
    for (kern::LayersOp layers : runs)
      carry(layers, remarks);
  }

  //===--------------------------------------------------------------------===//
  // Matching
  //===--------------------------------------------------------------------===//

  func::FuncOp lookupBody(kern::LayerAttr layer) {
    return getOperation().lookupSymbol<func::FuncOp>(layer.getBody());
  }

  /// True for a layer parameter that only the norm reads.
  static bool isOwn(Value weight, kern::LayersOp layers) {
    auto argument = dyn_cast<BlockArgument>(weight);
    return argument && argument.getArgNumber() >= layers.getFirstParameter() &&
           argument.hasOneUse();
  }

  /// True if all readers of a buffer, also through views, are before an
  /// operation.
  static bool isReadBefore(Operation *last, Value buffer) {
    return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
      if (auto view = dyn_cast<kern::ViewOp>(user))
        return isReadBefore(last, view.getResult());
      return user->isBeforeInBlock(last);
    });
  }

  /// Finds the norm on the initial state in a body, and the GEMM that writes
  /// the state last; returns the reason if there is no such pair.
  static std::optional<RemarkReason> match(func::FuncOp function,
                                           kern::LayersOp layers, Body &body) {
    // Find the norm and the GEMM.
    Value state = function.getArgument(0);
    body.function = function;
    for (auto norm : function.getOps<kern::NormOp>())
      if (!body.norm && norm.getInput() == state &&
          !lastWriterBefore(norm, state))
        body.norm = norm;
    Operation *last =
        lastWriterBefore(&function.getBody().front().back(), state);
    body.last = dyn_cast_or_null<kern::GemmOp>(last);
    // Check that the GEMM can compute the norm.
    RemarkArgument name("body", function.getName());
    if (!body.norm)
      return RemarkReason(RemarkId::LayerBeginsWithoutNorm, {name});
    RemarkArgument norm("norm", body.norm.getOperation());
    if (!body.last || body.last.getOuts().size() != 1 ||
        body.last.getOuts()[0] != state || body.last.getNormGamma() ||
        body.last.getGlu() || !body.last.getSummary().empty())
      return RemarkReason(
          RemarkId::LayerEndsWithoutProduct,
          {name, {"last", last ? getRemarkText(last) : "nothing"}});
    SmallVector<Value> results = body.norm.writtenBuffers();
    for (Value out : results)
      if (!out.getDefiningOp<kern::AllocOp>())
        return RemarkReason(RemarkId::FirstNormHasOtherResults, {name, norm});
    if (!isOwn(body.norm.getGamma(), layers) ||
        (body.norm.getBeta() && !isOwn(body.norm.getBeta(), layers)))
      return RemarkReason(RemarkId::FirstNormSharesWeights, {name, norm});
    for (Value out : results)
      if (!isReadBefore(body.last, out))
        return RemarkReason(
            RemarkId::FirstNormIsReadLate,
            {name, norm, {"readers", getBufferReaders(out)}, {"last", last}});
    return std::nullopt;
  }

  /// True for norms that differ only in their weights.
  static bool sameNorms(kern::NormOp a, kern::NormOp b) {
    return a.getEps() == b.getEps() && a.getRms() == b.getRms() &&
           bool(a.getBeta()) == bool(b.getBeta()) &&
           a.getGamma().getType() == b.getGamma().getType() &&
           llvm::equal(a.writtenBuffers(), b.writtenBuffers(),
                       [](Value x, Value y) { return sameRows(x, y); });
  }

  /// True for rows with equal element types and sizes.
  static bool sameRows(Value a, Value b) {
    return getBufferType(a).getElementType() ==
               getBufferType(b).getElementType() &&
           getBufferType(a).getDims().back() ==
               getBufferType(b).getDims().back();
  }

  /// The norm on gathered state rows, if nothing else reads the state after the
  /// layers.
  static std::optional<Final> findFinal(kern::LayersOp layers,
                                        kern::NormOp norm) {
    Final found;
    for (Operation *user : layers.getState().getUsers()) {
      if (user == layers || user->isBeforeInBlock(layers))
        continue;
      auto gather = dyn_cast<kern::GatherOp>(user);
      if (!gather || found.gather || gather.getTable() != layers.getState())
        return std::nullopt;
      found.gather = gather;
    }
    if (!found.gather)
      return std::nullopt;
    found.norm =
        dyn_cast_or_null<kern::NormOp>(onlyReader(found.gather.getOuts()));
    if (!found.norm || !sameNorms(found.norm, norm) ||
        !getSymbol(found.norm.getGamma()) ||
        (norm.getBeta() && !getSymbol(found.norm.getBeta())))
      return std::nullopt;
    return found;
  }

  /// Reports the operations that read the state after the layers instead of a
  /// final norm.
  static void reportFinal(kern::LayersOp layers, Remarks &remarks) {
    SmallVector<Operation *> readers;
    for (Operation *user :
         llvm::reverse(SmallVector<Operation *>(layers.getState().getUsers())))
      if (user != layers && !user->isBeforeInBlock(layers))
        readers.push_back(user);
    remarks.report(layers, {RemarkId::FinalNormStays,
                            {{"readers", ArrayRef<Operation *>(readers)}}});
  }

  static FlatSymbolRefAttr getSymbol(Value weight) {
    auto get = weight.getDefiningOp<kern::GetWeightOp>();
    return get ? get.getWeightAttr() : FlatSymbolRefAttr();
  }

  //===--------------------------------------------------------------------===//
  // Rewriting
  //===--------------------------------------------------------------------===//

  void carry(kern::LayersOp layers, Remarks &remarks) {
    // Match all bodies.
    llvm::MapVector<func::FuncOp, Body> bodies;
    for (kern::LayerAttr layer : layers.getLayerRange()) {
      func::FuncOp function = lookupBody(layer);
      auto [known, isNew] = bodies.try_emplace(function);
      if (!isNew)
        continue;
      auto reason = match(function, layers, known->second);
      Body &first = bodies.front().second;
      if (!reason && !sameNorms(first.norm, known->second.norm))
        reason = {RemarkId::FirstNormsDiffer,
                  {{"body", first.function.getName()},
                   {"other", function.getName()}}};
      if (reason) {
        remarks.report(layers, *reason);
        return;
      }
    }
    // Compute the first norm before the layers, and fuse the others.
    std::optional<Final> last = findFinal(layers, bodies.front().second.norm);
    kern::NormOp first = bodies[lookupBody(layers.getFirstLayer())].norm;
    kern::NormOp made = makeFirst(layers, first);
    shiftWeights(layers, bodies, last);
    unsigned index = layers->getNumOperands();
    layers.getInvariantsMutable().append(made.writtenBuffers());
    for (auto &[function, body] : bodies) {
      remarks.report(body.norm, {RemarkId::NormJoinedLayerBefore,
                                 {{"layers", layers.getLayers().size()}}});
      rewrite(body, index);
      ++carried;
    }
    if (!last) {
      reportFinal(layers, remarks);
      return;
    }
    // The rows are normalized already.
    remarks.report(last->norm, RemarkId::FinalNormJoinedLastLayer);
    replaceFinal(*last, made);
    ++carried;
  }

  /// Clones the first layer's norm before the layers.
  static kern::NormOp makeFirst(kern::LayersOp layers, kern::NormOp norm) {
    OpBuilder b(layers);
    IRMapping values;
    values.map(norm.getInput(), layers.getState());
    for (Value out : norm.writtenBuffers())
      values.map(out, b.create<kern::AllocOp>(norm.getLoc(), out.getType(),
                                              IntegerAttr()));
    for (Value parameter : {Value(norm.getGamma()), Value(norm.getBeta())})
      if (parameter)
        values.map(parameter,
                   b.create<kern::GetWeightOp>(
                       norm.getLoc(), parameter.getType(),
                       layers.getParameter(layers.getFirstLayer(), parameter)));
    return cast<kern::NormOp>(b.clone(*norm, values));
  }

  /// Gives each layer the weights for the next layer's norm. The last layer
  /// gets the final norm's weights, or keeps its own for rows that nobody
  /// reads.
  void shiftWeights(kern::LayersOp layers,
                    llvm::MapVector<func::FuncOp, Body> &bodies,
                    std::optional<Final> &last) {
    SmallVector<kern::LayerAttr> old(layers.getLayerRange()), shifted;
    for (size_t i = 0; i < old.size(); ++i) {
      SmallVector<FlatSymbolRefAttr> parameters(old[i].getParameters());
      size_t next = std::min(i + 1, old.size() - 1);
      kern::NormOp own = bodies[lookupBody(old[i])].norm,
                   other = bodies[lookupBody(old[next])].norm;
      auto shift = [&](Value parameter, Value theirs, Value final) {
        parameters[layers.getParameterIndex(parameter)] =
            next == i && final ? getSymbol(final)
                               : layers.getParameter(old[next], theirs);
      };
      shift(own.getGamma(), other.getGamma(),
            last ? Value(last->norm.getGamma()) : Value());
      if (own.getBeta())
        shift(own.getBeta(), other.getBeta(),
              last ? last->norm.getBeta() : Value());
      shifted.push_back(
          kern::LayerAttr::get(&getContext(), old[i].getBody(), parameters));
    }
    layers.setLayers(shifted);
  }

  static void rewrite(Body &body, unsigned index) {
    for (Value old : body.norm.writtenBuffers()) {
      body.function.insertArgument(index, old.getType(), {},
                                   body.function.getLoc());
      old.replaceAllUsesWith(body.function.getArgument(index++));
      old.getDefiningOp()->erase();
    }
    OpBuilder b(body.last);
    withNorm(b, body.last, body.norm);
    body.norm.erase();
  }

  /// Gathers normalized rows into the norm's output buffers.
  static void replaceFinal(Final &last, kern::NormOp made) {
    OpBuilder b(last.gather);
    for (auto [out, rows] :
         llvm::zip_equal(last.norm.writtenBuffers(), made.writtenBuffers())) {
      if (Operation *alloc = out.getDefiningOp())
        alloc->moveBefore(last.gather);
      b.create<kern::GatherOp>(last.gather.getLoc(), rows,
                               last.gather.getIndices(), out);
    }
    Value gathered = last.gather.getOuts();
    last.norm.erase();
    last.gather.erase();
    gathered.getDefiningOp()->erase();
  }
};

} // namespace
