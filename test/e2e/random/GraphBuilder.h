// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes one random entry: a builder that infers each operation's type and
// assigns its location, and the blocks in a model. Private to the generator.
#pragma once
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "test/e2e/random/RandomGraph.h"

namespace transom::testing {

/// The sizes in a tensor shape.
using Dims = llvm::SmallVector<Polynomial>;

/// Builds one entry. The model state is [batch, seq, width].
class GraphBuilder {
public:
  GraphBuilder(mlir::ModuleOp module, uint64_t seed, RandomWeights &weights,
               GraphKind kind);

  /// Builds the complete entry.
  void build();

private:
  /// A rare attention form: most look like one that fuses and must not.
  enum class Quirk {
    None,
    SharedScores,            ///< two softmaxes read the scores
    SharedProbabilities,     ///< two products read the probabilities
    OffsetScores,            ///< a number is added to all scores
    WeightedScores,          ///< a weight is the scale
    TransposedProbabilities, ///< and transposed back by the product
    ProbabilitiesOnTheRight,
    MaskedProbabilities,
    WeightedProbabilities, ///< by a mask-selected value, never 0
    SummedScores,          ///< from two GEMMs
    RepeatedHeads,         ///< consecutive query heads share a key head,
    TiledHeads,            ///< or alternating ones
    RepeatedKeys,          ///< repeats all keys as if they were heads
    WhereMask,             ///< adds a value selected by the mask
    HeadWhereMask,         ///< adds values broadcast by head
    HalfWhereMask,         ///< adds values that are never 0
    ScaledMask,            ///< adds (1 - mask) times a low value
    InverseMask,           ///< adds the inverted mask times a low value
    DataMask,              ///< adds (input - mask) times a low value
    FiniteMask,            ///< sets scores to a value, with other masks
    AddedTriangle,         ///< hides later keys by added values
    SlicedTriangle,
    ShiftedTriangle,   ///< sees one key after each query
    NearTriangle,      ///< sees one key too many
    BatchTriangle,     ///< only in the first sequence
    RectangleTriangle, ///< is a slice from a taller constant
    FlatTriangle,      ///< is computed from a one-row constant
    FiniteTriangle     ///< sets later scores to a finite value
  };

  // Making operations.

  mlir::Location location();
  /// Creates an operation with one result; its shape rule infers the type.
  template <typename OpT, typename... Args> mlir::Value make(Args &&...args) {
    auto op = builder.create<OpT>(
        location(), mlir::UnrankedTensorType::get(builder.getF32Type()),
        std::forward<Args>(args)...);
    auto types = op.inferShapes([&]() { return op.emitOpError(); });
    assert(mlir::succeeded(types) && "the generator makes valid graphs");
    mlir::Value result = op.getResult();
    result.setType(types->front());
    return result;
  }
  llvm::APFloat number(double value) { return llvm::APFloat(value); }
  mlir::Value input(const std::string &name, llvm::ArrayRef<Polynomial> dims,
                    mlir::Type element, llvm::StringRef role,
                    std::vector<mlir::NamedAttribute> more = {});
  /// Creates a weight with elements in [-range, range], in one of several
  /// forms.
  mlir::Value weight(std::vector<int64_t> shape, double range);
  mlir::Value weight(const WeightExpr &expr);
  mlir::Value addWeight(const std::string &symbol, const WeightExpr &expr);
  /// Creates a vector with values near 1, for norms.
  mlir::Value gains(int64_t size);
  mlir::Value constant(double value);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<Polynomial> dims);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value scale(mlir::Value x, double factor, double offset = 0);
  mlir::Value slice(mlir::Value x, int64_t axis, int64_t start,
                    const Polynomial &size);
  mlir::Value linear(mlir::Value x, int64_t width, bool bias);
  mlir::Value cast(mlir::Value x, mlir::Type to);
  mlir::Value maskTo(llvm::ArrayRef<Polynomial> dims);

  // Blocks: each takes and returns a state.

  static Quirk drawQuirk(uint64_t seed);
  void chooseSizes(uint64_t seed);
  void declareInputs();
  mlir::Value embed();
  mlir::Value block(mlir::Value x);
  mlir::Value positionBlock(mlir::Value x);
  mlir::Value norm(mlir::Value x);
  mlir::Value residual(mlir::Value x, mlir::Value y);
  mlir::Value feedForward(mlir::Value x);
  mlir::Value gated(mlir::Value x, mlir::Value y, Activation kind);
  mlir::Value columns(mlir::Value x);
  mlir::Value elementwise(mlir::Value x);
  mlir::Value logic(mlir::Value x);
  mlir::Value shuffle(mlir::Value x);
  mlir::Value mixRows(mlir::Value x);
  mlir::Value lookUp(mlir::Value x);
  mlir::Value convolve(mlir::Value x);
  mlir::Value attention(mlir::Value x);
  void finish(mlir::Value x);

  // Pipeline stages after an encoder.

  struct NamedValue {
    std::string name;
    mlir::Value value;
  };
  void declareOwnMask();
  mlir::Value getCountedTokens();
  mlir::Value pool(mlir::Value tokens, mlir::Value keys);
  mlir::Value dense(mlir::Value x);
  mlir::Value normalizeLayer(mlir::Value x);
  mlir::Value normalizeLength(mlir::Value x);
  mlir::Value poolSparse(mlir::Value x, mlir::Value keys);
  mlir::Value scorePairs(mlir::Value x, mlir::Value keys);
  mlir::Value embedTokens(mlir::Value x, mlir::Value keys);
  NamedValue endPipeline(mlir::Value x);

  // Attention steps.

  /// Widths in one attention, and the position of its keys.
  struct Heads {
    int64_t count, dk, dv;
    int64_t sharedBy = 1; ///< query heads per key/value head
    Polynomial length;    ///< key count
    bool self;            ///< keys are the state: its mask may hide them
    bool flat;            ///< one head, never split: rank 3
  };
  double getScale(const Heads &heads) const;
  mlir::Value splitHeads(mlir::Value x, const Polynomial &length, int64_t width,
                         const Heads &heads);
  mlir::Value makeScores(mlir::Value query, mlir::Value key,
                         const Heads &heads);
  mlir::Value maskScores(mlir::Value scores, const Heads &heads);
  mlir::Value keyMask(mlir::Value scores, const Heads &heads);
  mlir::Value triangle(mlir::Value scores, int64_t queries, int64_t keys);
  mlir::Value quirkyMask(mlir::Value scores, const Heads &heads);
  mlir::Value repeatHeads(mlir::Value x, int64_t count);
  mlir::Value repeatKeys(mlir::Value x);
  mlir::Value mixValues(mlir::Value scores, mlir::Value value,
                        const Heads &heads);
  mlir::Value product(mlir::Value lhs, mlir::Value rhs, bool transposeLhs,
                      bool transposeRhs);
  mlir::Value turnLast(mlir::Value x);
  mlir::Value wholeAttention(mlir::Value query, mlir::Value key,
                             mlir::Value value, const Heads &heads);

  mlir::ModuleOp module;
  Random random;
  const GraphKind graphKind;
  const Quirk quirk;
  std::string name;
  RandomWeights &weights;
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  mlir::Block *body = nullptr;
  Polynomial batch, seq, memoryLength;
  int64_t width = 0, inner = 0;
  int64_t headCount = 0, keyWidth = 0, valueWidth = 0;
  mlir::Value ids, mask, memory, bias; ///< inputs; null if absent
  mlir::Value ownMask;                 ///< a pipeline input; null if absent
  bool expands = false;                ///< ownMask adds tokens to the mask
  llvm::SmallVector<mlir::DictionaryAttr> arguments;
  std::string blockName;
  int64_t layer = 0;
  bool scalesByLayer = false; ///< attentions divide by the layer number
  mlir::Value embedded;       ///< the first state
  mlir::Value middle;         ///< a state or a value inside a layer
  int nodes = 0, tensors = 0;
};

} // namespace transom::testing
