// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds decoders: new tokens, blocks in order, the requested results.
#include "compiler/import/huggingface/Decoder.h"

using namespace mlir;
using namespace transom;

void transom::buildDecoder(BlockContext &context, CrossAttentionBlock *cross) {
  Emitter &emit = context.emit;
  const ModelConfig &config = context.config;
  context.tokens = {Polynomial::symbol("rows")};

  // Inputs: new tokens from several sequences, and the requested ones.
  EntryInput tokens{"tokens", DType::I64,   context.tokens,
                    "ids",    config.vocab, {}};
  EntryInput logitRows{"wanted", DType::I64, {Polynomial::symbol("wanted")},
                       "data",   {},         {}};
  emit.at("step", "/model_type");
  SmallVector<Value> arguments = emit.beginEntry("step", {tokens, logitRows});
  context.ragged = emit.sequences();

  // Build the base model.
  AttentionBlock attention(context);
  attention.start(arguments[0]);
  Value state = EmbeddingBlock(context).build(arguments[0], Value());
  LayerBlock layer(context, attention, cross);
  for (size_t i = 0; i < config.layers.size() && !emit.failed(); ++i)
    state = layer.build(state, static_cast<int64_t>(i));

  // Build the head for the requested tokens only.
  emit.at("step", "/architectures");
  Value asked = emit.make<attn::GatherOp>(state, arguments[1]);
  if (emit.failed())
    return;
  HeadBlock head(context);
  const HeadResult &result = context.head.results.front();
  Value value = head.build(result, head.finish(asked));
  emit.at("step", "/architectures");
  emit.endEntry({{result.name, value}});

  OpBuilder &ops = emit.ops();
  emit.annotateEntry("transom.vocabulary", ops.getI64IntegerAttr(config.vocab));
  if (config.context)
    emit.annotateEntry("transom.context",
                       ops.getI64IntegerAttr(*config.context));
  if (context.head.labels && !cross)
    annotateClassRow(context, "last_other");
}

void transom::annotateClassRow(BlockContext &context, const char *rule) {
  const std::optional<int64_t> token = context.config.classToken;
  if (!token && std::string(rule) == "last_other")
    return;
  OpBuilder &ops = context.emit.ops();
  context.emit.annotateEntry("transom.class_row", ops.getStringAttr(rule));
  if (token)
    context.emit.annotateEntry("transom.class_token",
                               ops.getI64IntegerAttr(*token));
}
