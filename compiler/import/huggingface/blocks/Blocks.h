// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks that every model is built from. Each writes what the features of a
// family and the config of a model ask for; encoders and decoders use the same
// blocks and differ in the sizes of a hidden state: [batch, seq, hidden size]
// or [tokens, hidden size].
#pragma once
#include "compiler/import/Parameters.h"
#include "compiler/import/huggingface/ModelConfig.h"

namespace transom {

/// What the blocks of one model share, and the modules that all of them have:
/// projections, norms, activations. Errors are the emitter's.
class BlockContext {
public:
  BlockContext(Emitter &emit, const ModelFiles &files,
               const ModelFamily &family, const FamilyHead &head,
               const ModelConfig &config);

  using Value = mlir::Value;

  /// Operations from now on belong to this module, and were asked for by this
  /// key of the config or JSON pointer.
  template <typename Key> void at(const std::string &module, const Key &key) {
    parameters.at(module, key);
  }
  /// The module of a layer, and the prefix of the modules in it.
  std::string layerName(int64_t number) const;
  std::string layerPrefix(int64_t number) const {
    return layerName(number) + ".";
  }
  /// The module that holds the table of the token embedding.
  std::string getWordModule() const;
  /// The last size of a value.
  int64_t getWidth(Value value) const;
  /// The sizes of a hidden state but the last, then these.
  Dims tokensBy(std::initializer_list<Polynomial> sizes) const;

  /// A projection to `width`. In errors `words` names it, as in
  /// `ExpectedSize::words`, and `from` the width of the input.
  Value project(Value input, const std::string &module, int64_t width,
                bool bias, const std::string &words, const std::string &from);
  /// The same from the hidden size, or the size of the token embedding.
  Value project(Value input, const std::string &module, int64_t width,
                bool bias, const std::string &words) {
    return project(input, module, width, bias, words, getWords(input));
  }
  /// Rows [start, start + count) of a projection to `all`, which `words` names
  /// in errors, as one of its own.
  Value projectSlice(Value input, const std::string &module, int64_t all,
                     int64_t start, int64_t count, bool bias,
                     const std::string &words, const char *suffix);
  /// What errors call the last size of a hidden state or an embedding.
  std::string getWords(Value value) const {
    return getWidthWords(getWidth(value));
  }
  std::string getWidthWords(int64_t width) const;
  /// What errors call the width of all queries, or of all keys or values.
  std::string getQueryWords() const;
  std::string getKeyWords() const;
  /// The same of query, key and value side by side.
  std::string getQkvWords() const;
  /// The bias of a module that has one, or the parameter that an adapter adds
  /// in its place; null without both.
  const char *getBiasName(const std::string &module, bool bias) const;
  Value normalize(Value input, const std::string &module);
  /// A norm outside of layers.
  Value normalizeOuter(Value input, const std::string &module);
  Value activate(Value input, std::optional<Activation> kind);
  Value add(Value a, Value b, const std::string &module);

  Emitter &emit;
  const ModelFiles &files;
  const ModelFamily &family;
  const FamilyHead &head;
  const ModelConfig &config;
  Parameters parameters;
  Dims tokens;   ///< the sizes of a hidden state but the last
  Value visible; ///< encoder: bool [batch, seq], false at padding
  Value ragged;  ///< decoder: the new tokens of the step's sequences

private:
  Value normalize(Value input, const std::string &module, NormKind kind);
  /// Whether files have the weight of a projection as [in, out]. The heads of
  /// such a family are stored as those of all others.
  bool isTransposed(const std::string &module) const {
    return family.transposedWeights && parameters.inBase(module);
  }
};

/// Token, type and position embeddings.
class EmbeddingBlock {
public:
  explicit EmbeddingBlock(BlockContext &context) : context(context) {}
  /// The first hidden state; `types` is null where the family has none.
  mlir::Value build(mlir::Value ids, mlir::Value types);

private:
  mlir::Value lookUp(const std::string &module, std::vector<int64_t> sizes,
                     mlir::Value indices, const std::string &what,
                     double scale = 1);
  mlir::Value addPositions(mlir::Value sum, mlir::Value ids);
  mlir::Value positionTable();
  WeightExpr fairseqTable();
  mlir::Value clearPadding(mlir::Value values, mlir::Value ids);
  mlir::Value project(mlir::Value state);

  BlockContext &context;
};

/// Self attention with its projections.
class AttentionBlock {
public:
  explicit AttentionBlock(BlockContext &context) : context(context) {}
  /// Makes what all layers share: rope tables, slopes, masks.
  void start(mlir::Value ids);
  mlir::Value build(mlir::Value state, int64_t layer);

private:
  using Value = mlir::Value;
  enum Operand { Query, Key, Values };

  bool isPrimitive() const;
  Value ropeTable(Value positions, const Rope &rope, const ConfigKey &key);
  Value projectOperand(Value state, const std::string &layer, Operand operand);
  Value projectStacked(Value state, const std::string &module, Operand operand);
  Value projectByKvHead(Value state, const std::string &layer,
                        const std::string &module, Operand operand);
  Value ownBias(const std::string &layer, Operand operand);
  WeightExpr read(const std::string &module, const char *name,
                  std::vector<int64_t> shape, const std::string &sizes);
  Value projectPositions(const std::string &layer, Operand operand);
  Value normalizeHeads(Value heads, const std::string &module, int64_t count);
  Value normalizeEachHead(Value heads, const std::string &module,
                          int64_t count);
  WeightExpr headWeights(const std::string &module, int64_t count);
  Value applyPosition(Value heads, int64_t layer, Operand operand);
  Value splitHeads(Value projected);
  Value primitive(Value state, int64_t layer);
  Value fused(Value state, int64_t layer);

  BlockContext &context;
  llvm::SmallVector<Value> ropes; ///< by `LayerConfig::rope`
  Value slopes;                   ///< [heads], of encoders [heads, 2]
  Value relativeBias;             ///< [heads, distances]
  Value keyMask;                  ///< bool [batch, 1, 1, seq]
};

/// Attention of a decoder to the states of an encoder. Their keys and values
/// are in a read-only cache for each layer, which another entry fills.
class CrossAttentionBlock {
public:
  /// A source has at most `positions` tokens; nothing: any number.
  CrossAttentionBlock(BlockContext &context, std::optional<int64_t> positions)
      : context(context), positions(positions),
        caches(context.config.layers.size()) {}
  /// The attention of new tokens, in the entry of the decoder.
  mlir::Value build(mlir::Value state, int64_t layer);
  /// Stores the keys and values of the encoder's states [rows, hidden size],
  /// the tokens of `ragged`; gives the states.
  mlir::Value append(mlir::Value states, mlir::Value ragged, int64_t layer);

private:
  using Value = mlir::Value;

  /// A projection to the width of all heads.
  Value project(Value state, int64_t layer, const char *module);
  /// The cache of a layer, which its first user declares.
  Value getCache(int64_t layer);

  BlockContext &context;
  std::optional<int64_t> positions;
  std::vector<std::string> caches; ///< symbols by layer; empty: not declared
};

/// A convolution along the sequence, of which padding is zero.
class ConvolutionBlock {
public:
  explicit ConvolutionBlock(BlockContext &context) : context(context) {}
  /// The norm of `state` plus the convolution of `embedding`.
  mlir::Value build(mlir::Value state, mlir::Value embedding);

private:
  BlockContext &context;
};

/// The MLP of a layer.
class MlpBlock {
public:
  explicit MlpBlock(BlockContext &context) : context(context) {}
  mlir::Value build(mlir::Value state, int64_t layer);

private:
  mlir::Value glu(mlir::Value state, const std::string &layer);
  int64_t getWidth(const std::string &layer) const;

  BlockContext &context;
};

/// Attention and MLP with their norms and residual sums; between them attention
/// to an encoder where `cross` is not null.
class LayerBlock {
public:
  LayerBlock(BlockContext &context, AttentionBlock &attention,
             CrossAttentionBlock *cross = nullptr)
      : context(context), attention(attention), cross(cross), mlp(context) {}
  mlir::Value build(mlir::Value state, int64_t layer);

private:
  mlir::Value parallel(mlir::Value state, int64_t layer);
  mlir::Value addTo(mlir::Value residual, mlir::Value result,
                    const std::string &module);

  BlockContext &context;
  AttentionBlock &attention;
  CrossAttentionBlock *cross;
  MlpBlock mlp;
};

/// The final norm and what is computed from the last hidden state.
class HeadBlock {
public:
  explicit HeadBlock(BlockContext &context) : context(context) {}
  /// The last hidden state as the base model gives it.
  mlir::Value finish(mlir::Value state);
  /// One result of the head from that state.
  mlir::Value build(const HeadResult &result, mlir::Value state);
  /// True where the checkpoint has the base model's pooler.
  bool hasPooler() const;
  mlir::Value pooler(mlir::Value state);
  /// Logits are those of these tokens alone.
  void chooseTokens(std::vector<int64_t> ids) { chosen = std::move(ids); }

private:
  using Value = mlir::Value;

  Value step(const HeadStep &step, Value state, Value lastHidden);
  Value pool(Value state);
  Value mean(Value values);
  Value linear(const HeadStep &step, Value state);
  Value vocabulary(const HeadStep &step, Value state);
  Value vocabularyBias(const HeadStep &step, const std::string &module);
  WeightExpr chooseRows(WeightExpr table) const;
  /// What the symbols of weights with the chosen rows end in.
  std::string getChosenSuffix() const;
  Value cap(Value logits);
  Value scale(Value state);
  std::string getTiedModule() const;
  /// The bias of a vocabulary, with the one that an adapter adds.
  mlir::Value withAdapterBias(mlir::Value bias, const std::string &module);

  BlockContext &context;
  Value pooled;                 ///< the pooler's output, once made
  std::vector<int64_t> chosen;  ///< the tokens of logits; empty: all
  std::string vocabularyModule; ///< the module of the last `Vocabulary` step
};

} // namespace transom
