// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime runs the encoder on a padded batch of sources, then the entry
// `source` on its states, once for each source.
#include "compiler/import/graphjson/GraphSource.h"
#include "runtime/manifest/Manifest.h"

using namespace mlir;
using namespace transom;

static const char *const sourceEntry = "source";

void GraphSource::checkEntries(const Graph &decoder) {
  std::vector<std::string> taken = {sourceEntry, decoder.entry};
  for (EntryKind derived :
       {EntryKind::Logits, EntryKind::Score, EntryKind::Generate})
    taken.push_back(getEntryKindName(derived));
  auto fail = [&](const Graph &graph, const std::string &what) {
    emit.fail(graph.entryAt.value_or(graph.inputs.front().at).error(what));
  };
  if (encoder.entry == decoder.entry)
    fail(decoder.entryAt ? decoder : encoder,
         "the graphs 'encoder' and 'decoder' have the same entry '" +
             decoder.entry + "'");
  else if (llvm::is_contained(taken, encoder.entry))
    fail(encoder, "the encoder's entry cannot be named '" + encoder.entry +
                      "', which is an entry of an encoder-decoder");
  else if (decoder.entry == sourceEntry)
    fail(decoder, "the decoder's entry cannot be named '" + decoder.entry +
                      "', which is an entry of an encoder-decoder");
  for (const std::string &name : {decoder.entry, std::string(sourceEntry)})
    emit.reserveEntry(name);
}

void GraphSource::checkInputs(ArrayRef<EntryInput> inputs) {
  const std::string rule = "the inputs of an encoder are i64 ids [batch, seq] "
                           "of two dims, and their mask";
  auto reject = [&](size_t input) {
    emit.fail(encoder.inputs[input].at.error(rule));
  };
  if (inputs.size() != 2)
    return reject(inputs.size() > 2 ? 2 : 0);
  for (auto [i, input] : llvm::enumerate(inputs))
    if (input.dtype != DType::I64 || input.shape.size() != 2 ||
        llvm::any_of(input.shape,
                     [](const Polynomial &size) { return size.isConstant(); }))
      return reject(i);
  const bool maskFirst = inputs[0].role == "mask";
  if (maskFirst == (inputs[1].role == "mask"))
    return reject(1);
  if (encoder.inputs[maskFirst].defaultValue)
    return reject(maskFirst);
  tokens = inputs[0].shape;
}

void GraphSource::setStates(ArrayRef<Value> results) {
  if (emit.failed())
    return;

  // Token ids are bounded; mask values are not used as indices.
  for (auto [i, input] : llvm::enumerate(encoder.inputs))
    if (emit.getBound(i).has_value() == input.maskOf.has_value())
      return (void)emit.fail(input.at.error(
          input.maskOf ? "the mask of an encoder is not an index"
                       : "the ids of an encoder are those of an 'embedding'"));

  // Check that there is one result.
  const std::vector<GraphOutput> &outputs = encoder.body.outputs;
  if (outputs.size() != 1)
    return (void)emit.fail(
        outputs[1].edge.at.error("an encoder has one output"));
  Dims shape = emit.getShape(results.front());
  if (shape.size() != 3 || !shape.back().constant() ||
      !std::equal(tokens.begin(), tokens.end(), shape.begin()))
    return (void)emit.fail(outputs[0].edge.at.error(
        "the output of an encoder is f32 [" + tokens[0].str() + ", " +
        tokens[1].str() + ", width]"));
  states = shape;
}

std::optional<int64_t> GraphSource::longest() const {
  for (const GraphDim &dim : encoder.dims)
    if (tokens[1] == Polynomial::symbol(dim.name) && dim.largest >= 0)
      return dim.largest;
  return std::nullopt;
}

Value GraphSource::addAttention(CrossAttention attention) {
  attention.cache = emit.declareCache(attention.path, attention.type);
  attentions.push_back(attention);
  return emit.getCache(attention.cache, attention.type);
}

Value GraphSource::project(Value rows, const CrossProjection &projection) {
  emit.setErrorPrefix(projection.where + ": ");
  Value weight =
      emit.fileWeight(projection.weight, projection.weight, std::nullopt);
  Value bias =
      projection.bias.empty()
          ? Value()
          : emit.fileWeight(projection.bias, projection.bias, std::nullopt);
  return emit.linear(rows, weight, bias);
}

void GraphSource::build() {
  if (emit.failed())
    return;
  if (attentions.empty())
    return (void)emit.fail(encoder.body.outputs[0].edge.at.error(
        "no attention of the decoder reads the encoder: none has 'cross'"));

  // Select the states of unmasked tokens; a step has `rows` and `keys`.
  emit.at(sourceEntry, "/graphs/encoder/outputs");
  SmallVector<Value> arguments = emit.beginEntry(
      sourceEntry,
      {{"encoder_hidden_states", DType::F32, states, "data", {}, {}},
       {"attention_mask", DType::I64, tokens, "mask", {}, 1}});
  Value ragged = emit.raggedBatch(arguments[1], "rows1", "keys1");
  Value rows = emit.make<attn::GatherRowsOp>(arguments[0], ragged);

  // Project keys and values for each attention.
  for (const CrossAttention &attention : attentions) {
    emit.at(attention.path, attention.pointer);
    Value key = project(rows, attention.key);
    Value value = project(rows, attention.value);
    Value cache = emit.getCache(attention.cache, attention.type);
    rows = emit.make<attn::AppendOp>(rows, key, value, ragged, cache);
  }
  emit.endEntry({});
  OpBuilder &ops = emit.ops();
  emit.annotateEntry("transom.kind", ops.getStringAttr(sourceEntry));
  emit.annotateEntry("transom.encoder", ops.getStringAttr(encoder.entry));
}
