// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds encoder-decoders: both halves, and between them the entry that
// projects the encoder's states for all decoder layers.
#include "compiler/import/huggingface/EncoderDecoder.h"
#include "compiler/import/huggingface/Decoder.h"
#include "compiler/import/huggingface/Encoder.h"
#include "compiler/import/huggingface/HeadSteps.h"

using namespace mlir;
using namespace transom;

/// Builds the entry `source`: reads states [batch, seq, hidden size] and their
/// mask, and fills the read-only caches for all layers.
static void buildSource(BlockContext &context, CrossAttentionBlock &cross,
                        const std::string &encoder) {
  Emitter &emit = context.emit;
  const Dims tokens = {Polynomial::symbol("batch"), Polynomial::symbol("seq")};
  Dims states = tokens;
  states.push_back(context.config.hidden);
  emit.at("source", "/model_type");
  SmallVector<Value> arguments = emit.beginEntry(
      "source", {{"encoder_hidden_states", DType::F32, states, "data", {}, {}},
                 {"attention_mask", DType::I64, tokens, "mask", {}, 1}});

  // Select the unmasked tokens; `step` uses the names `rows` and `keys`.
  Value ragged = emit.raggedBatch(arguments[1], "rows1", "keys1");
  Value rows = emit.make<attn::GatherRowsOp>(arguments[0], ragged);
  for (size_t i = 0; i < context.config.layers.size() && !emit.failed(); ++i)
    rows = cross.append(rows, ragged, static_cast<int64_t>(i));
  emit.at("source", "/model_type");
  emit.endEntry({});

  OpBuilder &ops = emit.ops();
  emit.annotateEntry("transom.kind", ops.getStringAttr("source"));
  emit.annotateEntry("transom.encoder", ops.getStringAttr(encoder));
}

void transom::buildEncoderDecoder(BlockContext &encoder,
                                  BlockContext &decoder) {
  // A classifier's entry `encode` returns logits, and the runtime derives it;
  // its encoder has another name.
  Emitter &emit = decoder.emit;
  OpBuilder &ops = emit.ops();
  bool classifies = decoder.head.labels;
  const std::string name = classifies ? "encoder" : "encode";
  buildEncoder(encoder, head::bare().results, name);
  if (classifies)
    emit.annotateEntry("transom.kind", ops.getStringAttr("run"));

  CrossAttentionBlock cross(decoder, encoder.config.context);
  buildSource(decoder, cross, name);
  buildDecoder(decoder, &cross);
  if (classifies)
    annotateClassRow(decoder, "last_end");
  if (decoder.family.startsWithLastLabel)
    emit.annotateEntry("transom.start_rule", ops.getStringAttr("last_label"));
}
