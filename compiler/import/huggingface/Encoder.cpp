// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds encoders: inputs, blocks in order, results.
#include "compiler/import/huggingface/Encoder.h"
#include <set>

using namespace mlir;
using namespace transom;

Value transom::zeroPadding(BlockContext &context, Value value,
                           const std::string &location, bool isNumber) {
  Emitter &emit = context.emit;
  if (emit.failed() || emit.getShape(value).size() != 3)
    return value;
  emit.at(location, "/architectures");
  if (isNumber)
    return emit.mask(emit.reshape(value, context.tokens), context.visible, 0.0);
  return emit.mask(value, emit.reshape(context.visible, context.tokensBy({1})),
                   0.0);
}

EncoderStart transom::beginEncoder(BlockContext &context,
                                   const std::string &name,
                                   ArrayRef<EntryInput> more) {
  Emitter &emit = context.emit;
  const ModelConfig &config = context.config;
  context.tokens = {Polynomial::symbol("batch"), Polynomial::symbol("seq")};

  // Inputs: token ids, the padding mask and, if the family has them, token
  // types.
  const Dims &tokens = context.tokens;
  std::vector<EntryInput> inputs = {
      {"input_ids", DType::I64, tokens, "ids", config.vocab, {}},
      {"attention_mask", DType::I64, tokens, "mask", {}, 1}};
  if (config.types)
    inputs.push_back(
        {"token_type_ids", DType::I64, tokens, "ids", config.types, 0});
  llvm::append_range(inputs, more);
  emit.at(name, "/model_type");
  SmallVector<Value> arguments = emit.beginEntry(name, inputs);
  emit.at("attention_mask", "/model_type");
  context.visible = emit.cast(arguments[1], DType::Bool);

  // Build the base model.
  AttentionBlock attention(context);
  attention.start(arguments[0]);
  Value state = EmbeddingBlock(context).build(
      arguments[0], config.types ? arguments[2] : Value());
  LayerBlock layer(context, attention);
  const Value embedding = state;
  SmallVector<Value> states = {embedding};
  for (size_t i = 0; i < config.layers.size() && !emit.failed(); ++i) {
    state = layer.build(state, static_cast<int64_t>(i));
    if (i == 0 && config.convolution.size && !emit.failed())
      state = ConvolutionBlock(context).build(state, embedding);
    states.push_back(state);
  }
  state = states.back() = HeadBlock(context).finish(state);
  return {std::move(arguments), state, std::move(states)};
}

void transom::buildHiddenStates(BlockContext &context,
                                const std::vector<int64_t> &layers) {
  Emitter &emit = context.emit;
  const std::string entry = "hidden_states";
  const EncoderStart start = beginEncoder(context, entry);
  if (emit.failed())
    return;
  // Check the layers; negative ones count from the end.
  const auto count = int64_t(start.states.size());
  std::set<int64_t> chosen;
  for (const int64_t layer : layers) {
    if (layer < -count || layer >= count) {
      emit.fail(usageError("'--layers': no layer " + std::to_string(layer) +
                           "; the model has 0 to " + std::to_string(count - 1) +
                           ", or -1 to " + std::to_string(-count)));
      return;
    }
    chosen.insert(layer < 0 ? layer + count : layer);
  }
  // Build one output per layer.
  std::vector<EntryOutput> outputs;
  for (const int64_t layer : chosen) {
    const std::string name = "hidden_state_" + std::to_string(layer) + "_of_" +
                             std::to_string(count);
    outputs.push_back(
        {name, zeroPadding(context, start.states[size_t(layer)], name)});
  }
  emit.at(entry, "/architectures");
  emit.endEntry(outputs);
  emit.annotateEntry("transom.kind", emit.ops().getStringAttr("run"));
}

void transom::buildEncoder(BlockContext &context,
                           const std::vector<HeadResult> &results,
                           const std::string &name) {
  Emitter &emit = context.emit;
  Value state = beginEncoder(context, name).state;
  HeadBlock head(context);
  std::vector<EntryOutput> outputs;
  for (const HeadResult &result : results) {
    Value value = zeroPadding(context, head.build(result, state), result.name,
                              result.isNumber);
    outputs.push_back({result.name, value});
  }
  if (head.hasPooler())
    outputs.push_back({"pooler_output", head.pooler(state)});
  emit.at(name, "/architectures");
  emit.endEntry(outputs);
}
