// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder and decoder manifests with every field, and the errors for modified
// manifests.
#pragma once
#include "runtime/manifest/Manifest.h"
#include <gtest/gtest.h>

namespace transom::test {

inline Polynomial poly(const char *text) { return *Polynomial::parse(text); }

inline Manifest fullManifest() {
  Manifest m;
  m.compiler = "0.1.0";
  m.name = "minilm";
  m.family = "bert";
  m.architecture = "BertModel";
  m.fileBytes = 90000000;
  m.isas = {"avx2", "avx512"};
  m.options = {{"isa", "avx2,avx512"}, {"max-length", "256"}};
  m.inputsSha256 = {{"config.json", "00"}, {"model.safetensors", "11"}};
  m.weightsSha256 = "22";
  m.parameters = 22713216;
  m.weightsBytes = 90000;
  m.symbols = {{"batch", std::nullopt}, {"seq", 512}};
  ManifestEntry e;
  e.name = "encode";
  e.symbolOrder = {"batch", "keys", "parts", "routed", "rows", "seq"};
  e.boundedSizes = {{"routed", poly("2*rows")}};
  e.inputs = {
      {"input_ids", DType::I64, {poly("batch"), poly("seq")}, "ids", 30522, {}},
      {"attention_mask",
       DType::I64,
       {poly("batch"), poly("seq")},
       "mask",
       {},
       1},
      {"x", DType::F32, {poly("batch"), 768}, "data", {}, {}}};
  e.outputs = {{"y", DType::F32, {poly("batch"), 768}, "", {}, {}}};
  ManifestRaggedBatch ragged, uniform;
  ragged.mask = "attention_mask";
  ragged.columnsOf = "input_ids";
  ragged.keepFirst = true;
  ragged.rows = "rows";
  ragged.keys = "keys";
  ragged.pairs = "pairs_of_rows";
  uniform.batch = "batch";
  uniform.columns = "seq";
  uniform.rows = "rows";
  uniform.keys = "keys";
  e.ragged = {ragged, uniform};
  e.positionLimit = ManifestPositionLimit{"input_ids", "nonpad_rank", 1, 512};
  e.buffers = {{poly("3072*rows"), poly("3072*rows+64"), "layer.qkv"},
               {0, poly("parts"), ""}};
  e.arenaBytes = poly("6144*rows+64*parts+64");
  e.arenaLowerBound = poly("6144*rows");
  e.counters = 8;
  ManifestCall product, softmax;
  product.primitive = "matmul";
  product.input = {false, 0, {poly("rows"), 768}};
  product.out = {true, 3, {poly("rows"), 768}};
  product.residual = product.input;
  product.activation = "gelu";
  product.weights = ManifestCallWeight{false, 8192};
  product.bias = ManifestCallWeight{true, 2};
  softmax.primitive = "softmax";
  softmax.input = softmax.out = {false, 1, {poly("rows"), poly("seq")}};
  e.calls = {product, softmax};
  e.dispatches = {{"layer.qkv",
                   "encoder.layer.{0-11}.attention.self",
                   12,
                   poly("80*rows"),
                   poly("40*rows"),
                   poly("16*rows"),
                   400,
                   poly("8*rows"),
                   "streaming",
                   6,
                   "config.json",
                   "/hidden_size",
                   {"transom.k.avx2.f32.6x16", "transom.k.avx512.f32.14x32"}},
                  {"tail", "last", 1, {}, {}, 0, {}}};
  e.dispatchOrder = {0, 0, 1};
  e.flops = poly("4*pairs_of_rows+1000*rows");
  e.bf16Flops = poly("480*rows");
  e.streamedBytes = 4800;
  m.entries = {e};
  m.text = ManifestText{true, 256, "mean", true, std::nullopt};
  m.text->pipeline = ManifestPipeline{
      "embed", "",          {{"query", "search: "}}, "query", "cosine", 64,
      5,       std::nullopt};
  m.text->pairs = ManifestPairs{
      "rerank", "",
      ManifestTemplate{{"q: ", " d: ", "\n"}, {"query", "document"}},
      std::nullopt};
  m.tokenizer = ManifestTokenizer{4096, 1000};
  m.labels = {"LABEL_0", "caf\xC3\xA9 \"x\""};
  m.problemType = "single_label_classification";
  m.head = "sequence_classification";
  m.places = {"a"};
  m.notes = {"b\nc"};
  m.disabledPasses = {"attn-fuse-attention"};
  m.figures = "{\"parameter_report\":{\"tied_head\":false}}";
  return m;
}

inline std::string replaced(std::string text, const std::string &from,
                            const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The error after a substring replacement in the full manifest.
inline std::string errorWith(const std::string &from, const std::string &to) {
  Result<Manifest> parsed =
      Manifest::parse(replaced(fullManifest().toJson(), from, to), "m");
  if (parsed)
    return "parsed";
  EXPECT_EQ(parsed.error().status, Status::Rejected);
  return parsed.error().message;
}

inline bool contains(const std::string &text, const std::string &phrase) {
  return text.find(phrase) != std::string::npos;
}

/// A decoder manifest with its loops.
inline Manifest decoderManifest(const char *head = "causal_lm",
                                const char *result = "logits") {
  Manifest m;
  m.head = head;
  ManifestDecoder d;
  d.context = 1024;
  d.vocabulary = 500;
  d.caches = {{0, DType::F32, 3, 6400, false, 0, {{0, 3, 2112, 1, 32, 128}}},
              {128, DType::BF16, 2, 4096, false, 0, {{0, 2, 2048, 1, 2, 8}}}};
  d.generation = "{\"top_k\":5}";
  m.decoder = d;
  ManifestEntry e;
  e.name = "step";
  e.kind = EntryKind::Step;
  e.symbolOrder = {"keys", "parts", "rows", "wanted"};
  e.inputs = {{"tokens", DType::I64, {poly("rows")}, "ids", 500, {}},
              {"wanted", DType::I64, {poly("wanted")}, "data", {}, {}}};
  e.outputs = {{result, DType::F32, {poly("wanted"), 500}, "", {}, {}}};
  ManifestRaggedBatch s;
  s.sequences = true;
  s.rows = "rows";
  s.keys = "keys";
  e.ragged = {s};
  e.flops = poly("4*pairs_of_rows+8*pairs_of_rows_window_128+reads_of_rows");
  m.entries = {e};
  for (ManifestEntry &loop : getDerivedEntries(m))
    m.entries.push_back(std::move(loop));
  return m;
}

/// The cross-attention caches: filled once.
inline ManifestCache makeReadOnlyCache() {
  return {0, DType::F32, 3, 6400, true, 1500, {{0, 3, 2112, 1, 32, 128}}};
}

/// A decoder with cross-attention: a read-only cache group whose keys have
/// their own table and symbol.
inline Manifest crossDecoderManifest() {
  Manifest m = decoderManifest();
  m.decoder->caches.push_back(makeReadOnlyCache());
  ManifestEntry &e = m.entries[0];
  e.symbolOrder = {"keys", "parts", "rows", "source_keys", "wanted"};
  ManifestRaggedBatch keys;
  keys.sequences = true;
  keys.cacheGroup = 2;
  keys.rows = "rows";
  keys.keys = "source_keys";
  e.ragged.push_back(keys);
  return m;
}

/// An encoder-decoder: an encoder, an entry that fills the read-only caches,
/// the step, and the entries derived from it.
inline Manifest encoderDecoderManifest() {
  Manifest m = crossDecoderManifest();
  m.entries.resize(1);
  m.decoder->encoder = "encode";
  m.decoder->startRule = "last_label";
  ManifestEntry encode = fullManifest().entries[0], source;
  encode.kind = EntryKind::Encode;
  encode.calls.clear();
  source.name = "source";
  source.kind = EntryKind::Source;
  source.symbolOrder = {"batch", "keys", "rows", "seq"};
  source.inputs = {{"encoder_hidden_states",
                    DType::F32,
                    {poly("batch"), poly("seq"), 768},
                    "data",
                    {},
                    {}},
                   encode.inputs[1]};
  source.ragged = {encode.ragged[0]};
  source.ragged[0].columnsOf = "attention_mask";
  m.entries.insert(m.entries.begin(), {encode, source});
  for (ManifestEntry &derived : getDerivedEntries(m))
    m.entries.push_back(std::move(derived));
  return m;
}

inline std::string decoderErrorWith(const std::string &from,
                                    const std::string &to) {
  Result<Manifest> parsed =
      Manifest::parse(replaced(decoderManifest().toJson(), from, to), "m");
  return parsed ? "parsed" : parsed.error().message;
}

} // namespace transom::test
