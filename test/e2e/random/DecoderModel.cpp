// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws sequences and sources for a decoder, and their steps.
#include "test/e2e/random/DecoderModel.h"
#include "compiler/driver/CompileModule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <numeric>

using namespace mlir;

namespace transom::testing {

DecoderModel::DecoderModel(uint64_t seed, DecoderKind kind)
    : random(seed ^ 0xdec0de) {
  prepareContext(context);
  module = makeRandomDecoder(&context, seed, kind, weights);
  options.source = &weights;
  vocabulary = getVocabulary(*module);
  sequences = randomSequences(random, vocabulary);
  dtype = random.chance(30) ? "bf16" : "f32";
  kvDtype = random.chance(60) ? dtype : random.pick({"f32", "bf16", "int8"});
}

void DecoderModel::setTypes(ModuleOp module) {
  module->setAttr("transom.dtype", StringAttr::get(&context, dtype));
  module->setAttr("transom.kv_dtype", StringAttr::get(&context, kvDtype));
}

/// 0 and 1, with a token at least in the first row.
static Tensor drawMask(Random &random, int64_t batch, int64_t length) {
  Tensor mask = Tensor::integers({batch, length});
  const int percent = random.pick({60, 90, 100});
  for (int64_t &visible : mask.whole)
    visible = random.chance(percent);
  mask.whole[random.below(length)] = 1;
  return mask;
}

std::vector<Case> makeSources(DecoderModel &model) {
  Random &random = model.random;
  const auto batch = static_cast<int64_t>(model.sequences.size());
  const int64_t length =
      random.chance(80) ? random.between(1, 9) : random.between(30, 40);
  const Tensor mask = drawMask(random, batch, length);
  Case encode, source;
  encode.entry = "encode";
  Tensor ids = Tensor::integers({batch, length});
  for (int64_t &id : ids.whole)
    id = random.below(model.vocabulary);
  encode.inputs = {{"input_ids", ids}, {"attention_mask", mask}};
  source.entry = "source";
  auto function = model.module->lookupSymbol<func::FuncOp>("source");
  Tensor states = Tensor::floats(
      {batch, length,
       cast<ShapedType>(function.getArgument(0).getType()).getDimSize(2)});
  for (Number &x : states.real)
    x = 2 * random.unit();
  source.inputs = {{"states", states}, {"attention_mask", mask}};
  for (int64_t i = 0; i < batch; ++i)
    source.sequences.push_back({i, 0, 0});
  return {encode, source};
}

Case makeStep(const Tokens &tokens, std::vector<SequenceRows> rows) {
  auto count = static_cast<int64_t>(tokens.size());
  Tokens all(tokens.size());
  std::iota(all.begin(), all.end(), 0);
  return {"step",
          {{"tokens", Tensor::of({count}, tokens)},
           {"wanted", Tensor::of({count}, all)}},
          {},
          std::move(rows)};
}

Case makeWholeStep(ArrayRef<Tokens> sequences) {
  Tokens tokens;
  std::vector<SequenceRows> rows;
  for (const Tokens &sequence : sequences) {
    rows.push_back({static_cast<int64_t>(rows.size()), 0,
                    static_cast<int64_t>(sequence.size())});
    tokens.insert(tokens.end(), sequence.begin(), sequence.end());
  }
  return makeStep(tokens, rows);
}

std::vector<SequenceRows> drawRows(Random &random, ArrayRef<Tokens> sequences,
                                   ArrayRef<int64_t> lengths) {
  std::vector<SequenceRows> rows;
  for (size_t s = 0; s < sequences.size(); ++s) {
    int64_t left = static_cast<int64_t>(sequences[s].size()) - lengths[s];
    if (left == 0 || random.chance(30))
      continue;
    int64_t count = random.chance(40) ? 1 : random.between(1, left);
    rows.insert(rows.begin() + random.below(rows.size() + 1),
                {static_cast<int64_t>(s), lengths[s], count});
  }
  return rows;
}

bool isDone(ArrayRef<Tokens> sequences, ArrayRef<int64_t> lengths) {
  for (size_t s = 0; s < sequences.size(); ++s)
    if (lengths[s] < static_cast<int64_t>(sequences[s].size()))
      return false;
  return true;
}

} // namespace transom::testing
