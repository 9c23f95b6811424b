// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that every model is built from. Each builds the operations for the
// family's features and the model's config; encoders and decoders use the same
// blocks and differ in the hidden state's shape: [batch, seq, hidden size] or
// [tokens, hidden size].
#pragma once
#include "compiler/import/Parameters.h"
#include "compiler/import/huggingface/ModelConfig.h"

namespace transom {

/// State shared by a model's blocks, and common modules: projections, norms,
/// activations. Errors are recorded in the emitter.
class BlockContext {
public:
  BlockContext(Emitter &emit, const ModelFiles &files,
               const ModelFamily &family, const FamilyHead &head,
               const ModelConfig &config);

  using Value = mlir::Value;

  /// Sets the location for subsequent operations: this module, and the config
  /// key or JSON pointer that requested it.
  template <typename Key> void at(const std::string &module, const Key &key) {
    parameters.at(module, key);
  }
  /// Returns a layer's module, and the prefix for modules inside it.
  std::string layerName(int64_t number) const;
  std::string layerPrefix(int64_t number) const {
    return layerName(number) + ".";
  }
  /// Returns the module with the token embedding table.
  std::string getWordModule() const;
  /// Returns a value's last size.
  int64_t getWidth(Value value) const;
  /// Returns the hidden state's sizes except for the last, followed by `sizes`.
  Dims tokensBy(std::initializer_list<Polynomial> sizes) const;

  /// Projects to `width`. In errors `words` describes it, as in
  /// `ExpectedSize::words`, and `from` the input width.
  Value project(Value input, const std::string &module, int64_t width,
                bool bias, const std::string &words, const std::string &from);
  /// The same from the hidden size or the token embedding width.
  Value project(Value input, const std::string &module, int64_t width,
                bool bias, const std::string &words) {
    return project(input, module, width, bias, words, getWords(input));
  }
  /// Projects to rows [start, start + count) of a projection to `all`, which
  /// errors describe as `words`.
  Value projectSlice(Value input, const std::string &module, int64_t all,
                     int64_t start, int64_t count, bool bias,
                     const std::string &words, const char *suffix);
  /// Returns the description in errors for the last size of a hidden state or
  /// an embedding.
  std::string getWords(Value value) const {
    return getWidthWords(getWidth(value));
  }
  std::string getWidthWords(int64_t width) const;
  /// Returns the description in errors for the width of all queries, or all
  /// keys or values.
  std::string getQueryWords() const;
  std::string getKeyWords() const;
  /// The same for concatenated query, key and value.
  std::string getQkvWords() const;
  /// Returns the bias parameter's name, or the parameter that an adapter adds
  /// instead; null without both.
  const char *getBiasName(const std::string &module, bool bias) const;
  Value normalize(Value input, const std::string &module);
  /// Applies a norm outside layers.
  Value normalizeOuter(Value input, const std::string &module);
  Value activate(Value input, std::optional<Activation> kind);
  Value add(Value a, Value b, const std::string &module);

  Emitter &emit;
  const ModelFiles &files;
  const ModelFamily &family;
  const FamilyHead &head;
  const ModelConfig &config;
  Parameters parameters;
  Dims tokens;   ///< the hidden state's sizes except for the last
  Value visible; ///< encoder: bool [batch, seq], false at padding
  Value ragged;  ///< decoder: new tokens of the step's sequences

private:
  Value normalize(Value input, const std::string &module, NormKind kind);
  /// Returns true if files store a projection's weight as [in, out]. Such a
  /// family's heads are stored like all others.
  bool isTransposed(const std::string &module) const {
    return family.transposedWeights && parameters.inBase(module);
  }
};

/// Token, type and position embeddings.
class EmbeddingBlock {
public:
  explicit EmbeddingBlock(BlockContext &context) : context(context) {}
  /// Returns the first hidden state; `types` is null if the family has none.
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
  /// Builds values shared by all layers: rope tables, slopes, masks.
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
  llvm::SmallVector<Value> ropes; ///< indexed by `LayerConfig::rope`
  Value slopes;                   ///< [heads], or [heads, 2] in encoders
  Value relativeBias;             ///< [heads, distances]
  Value keyMask;                  ///< bool [batch, 1, 1, seq]
};

/// A decoder's attention to encoder states. Their keys and values are in a
/// read-only cache for each layer, which another entry fills.
class CrossAttentionBlock {
public:
  /// A source has at most `positions` tokens; nullopt: no limit.
  CrossAttentionBlock(BlockContext &context, std::optional<int64_t> positions)
      : context(context), positions(positions),
        caches(context.config.layers.size()) {}
  /// Builds the attention for new tokens, in the decoder's entry.
  mlir::Value build(mlir::Value state, int64_t layer);
  /// Stores keys and values for encoder states [rows, hidden size], the tokens
  /// of `ragged`; returns the states.
  mlir::Value append(mlir::Value states, mlir::Value ragged, int64_t layer);

private:
  using Value = mlir::Value;

  /// Projects to the width of all heads.
  Value project(Value state, int64_t layer, const char *module);
  /// Returns a layer's cache; declares it on first use.
  Value getCache(int64_t layer);

  BlockContext &context;
  std::optional<int64_t> positions;
  std::vector<std::string> caches; ///< symbols by layer; empty: not declared
};

/// A convolution along the sequence; padding is zero.
class ConvolutionBlock {
public:
  explicit ConvolutionBlock(BlockContext &context) : context(context) {}
  /// Returns the norm of `state` plus the convolution over `embedding`.
  mlir::Value build(mlir::Value state, mlir::Value embedding);

private:
  BlockContext &context;
};

/// A layer's MLP.
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
/// to an encoder if `cross` is not null.
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

/// The final norm and the values computed from the last hidden state.
class HeadBlock {
public:
  explicit HeadBlock(BlockContext &context) : context(context) {}
  /// Returns the base model's last hidden state.
  mlir::Value finish(mlir::Value state);
  /// Builds one head result from that state.
  mlir::Value build(const HeadResult &result, mlir::Value state);
  /// Returns true if the checkpoint has the base model's pooler.
  bool hasPooler() const;
  mlir::Value pooler(mlir::Value state);
  /// Restricts logits to these tokens.
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
  /// Returns the symbol suffix for weights with selected rows.
  std::string getChosenSuffix() const;
  Value cap(Value logits);
  Value scale(Value state);
  std::string getTiedModule() const;
  /// Adds an adapter's bias to a vocabulary bias.
  mlir::Value withAdapterBias(mlir::Value bias, const std::string &module);

  BlockContext &context;
  Value pooled;                 ///< the pooler's output, once built
  std::vector<int64_t> chosen;  ///< tokens with logits; empty: all
  std::string vocabularyModule; ///< module in the last `Vocabulary` step
};

} // namespace transom
