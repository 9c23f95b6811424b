// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest: round trip, and errors for what does not fit together.
#include "runtime/manifest/Manifest.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

Polynomial poly(const char *text) { return *Polynomial::parse(text); }

Manifest fullManifest() {
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
  e.symbolOrder = {"batch", "keys", "parts", "rows", "seq"};
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
  ManifestSegments ragged, uniform;
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
  e.segments = {ragged, uniform};
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
  e.steps = {{"layer.qkv", "encoder.layer.{0-11}.attention.self", 12,
              poly("80*rows"), poly("40*rows"), 400, poly("8*rows")},
             {"tail", "last", 1, {}, {}, 0, {}}};
  e.walk = {0, 0, 1};
  e.flops = poly("4*pairs_of_rows+1000*rows");
  e.bf16Flops = poly("480*rows");
  e.streamedBytes = 4800;
  m.entries = {e};
  m.text = ManifestText{true, 256, "mean", true};
  m.tokenizer = ManifestTokenizer{4096, 1000};
  m.labels = {"LABEL_0", "caf\xC3\xA9 \"x\""};
  m.problemType = "single_label_classification";
  m.head = "sequence_classification";
  m.places = {"a"};
  m.notes = {"b\nc"};
  m.disabledPasses = {"attn-fuse-attention"};
  return m;
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The error when part of the full manifest's text is replaced.
std::string errorWith(const std::string &from, const std::string &to) {
  Result<Manifest> parsed =
      Manifest::parse(replaced(fullManifest().toJson(), from, to), "m");
  if (parsed)
    return "parsed";
  EXPECT_EQ(parsed.error().status, Status::Rejected);
  return parsed.error().message;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(Manifest, round_trips) {
  for (const Manifest &m : {fullManifest(), Manifest()}) {
    std::string text = m.toJson();
    Result<Manifest> read = Manifest::parse(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->toJson(), text);
  }
}

TEST(Manifest, holds_what_was_written) {
  Manifest m = *Manifest::parse(fullManifest().toJson());
  const ManifestEntry *e = m.findEntry("encode");
  ASSERT_TRUE(e);
  EXPECT_FALSE(m.findEntry("decode"));
  EXPECT_EQ(m.fileBytes, 90000000u);
  EXPECT_EQ(e->inputs[0].bound, 30522);
  EXPECT_FALSE(e->inputs[0].fallback);
  EXPECT_EQ(e->inputs[1].fallback, 1);
  EXPECT_EQ(e->inputs[2].shape[1], Polynomial(768));
  EXPECT_TRUE(e->segments[0].keepFirst);
  EXPECT_EQ(e->segments[1].columns, "seq");
  EXPECT_EQ(e->positionLimit->rule, "nonpad_rank");
  EXPECT_EQ(e->buffers[0].bytes, poly("3072*rows+64"));
  EXPECT_EQ(e->arenaBytes, poly("64*parts+6144*rows+64"));
  EXPECT_EQ(e->segments[0].pairs, "pairs_of_rows");
  EXPECT_EQ(e->steps[0].rows, 12);
  EXPECT_EQ(e->steps[0].flops, poly("80*rows"));
  EXPECT_EQ(e->steps[0].bf16Flops, poly("40*rows"));
  EXPECT_EQ(e->steps[0].weightBytes, 400);
  EXPECT_EQ(e->steps[0].bytes, poly("8*rows"));
  EXPECT_EQ(e->steps[1].flops, Polynomial());
  EXPECT_EQ(e->walk, (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ(e->flops, poly("4*pairs_of_rows+1000*rows"));
  EXPECT_EQ(e->streamedBytes, 4800);
  EXPECT_EQ(m.findSymbol("seq")->max, 512);
  EXPECT_FALSE(m.findSymbol("batch")->max);
  EXPECT_EQ(m.labels[1], "caf\xC3\xA9 \"x\"");
  EXPECT_EQ(m.tokenizer->bytes, 1000u);
  EXPECT_TRUE(m.text->normalize);
  EXPECT_EQ(m.options[1].second, "256");
}

TEST(Manifest, another_abi_is_named_before_anything_else) {
  Result<Manifest> read = Manifest::parse("{\"abi\":1,\"entries\":7}", "m.so");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "m.so:1:8: '/abi': artifact has ABI version 1, this program reads "
            "version 2");
  EXPECT_FALSE(Manifest::parse("{}"));
  EXPECT_FALSE(Manifest::parse("[]"));
  EXPECT_FALSE(Manifest::parse(""));
}

TEST(Manifest, references_and_ranges_are_checked) {
  EXPECT_TRUE(contains(errorWith("\"3072*rows\"", "\"3072*row\""),
                       "unknown symbol 'row'"));
  // The pairs are a name for costs only.
  EXPECT_TRUE(contains(errorWith("\"3072*rows\"", "\"3072*pairs_of_rows\""),
                       "unknown symbol 'pairs_of_rows'"));
  EXPECT_TRUE(contains(errorWith("\"walk\":[0,0,1]", "\"walk\":[0,0,2]"),
                       "expected an integer from 0 to 1, got 2"));
  EXPECT_TRUE(contains(errorWith("\"3072*rows\"", "\"3072*\""),
                       "expected a number or a symbol"));
  EXPECT_TRUE(
      contains(errorWith("\"mask\":\"attention_mask\"", "\"mask\":\"no\""),
               "unknown input 'no'"));
  EXPECT_TRUE(contains(errorWith("\"input\":\"input_ids\"", "\"input\":\"no\""),
                       "unknown input 'no'"));
  EXPECT_TRUE(contains(errorWith("\"rows\":\"rows\"", "\"rows\":\"no\""),
                       "unknown symbol 'no'"));
  EXPECT_TRUE(contains(errorWith("nonpad_rank", "rank"),
                       "unknown rule 'rank'; supported: column, nonpad_rank"));
  EXPECT_TRUE(contains(errorWith("\"dtype\":\"i64\"", "\"dtype\":\"I64\""),
                       "unknown dtype 'I64'"));
  EXPECT_TRUE(contains(
      errorWith("\"batch\",\"keys\",\"parts\"", "\"keys\",\"batch\",\"parts\""),
      "'symbol_order' is not sorted"));
  EXPECT_TRUE(contains(errorWith("\"counters\":8", "\"counters\":-1"),
                       "expected an integer from 0 to 1048576, got -1"));
  EXPECT_TRUE(contains(errorWith("\"name\":\"x\"", "\"name\":\"input_ids\""),
                       "duplicate tensor 'input_ids'"));
  EXPECT_TRUE(contains(errorWith("\"offset\":4096", "\"offset\":90000000"),
                       "tokenizer reaches beyond the file of 90000000 bytes"));
  EXPECT_TRUE(
      contains(errorWith("\"file_bytes\":90000000", "\"file_bytes\":1.5"),
               "'/file_bytes': expected an integer, got a number"));
  EXPECT_TRUE(contains(errorWith("\"labels\":[", "\"labels\":[3,"),
                       "'/labels/0': expected a string, got an integer"));
}

TEST(Manifest, calls_are_checked) {
  EXPECT_TRUE(contains(
      errorWith("\"primitive\":\"softmax\"", "\"primitive\":\"softmin\""),
      "unknown primitive 'softmin'; supported: matmul"));
  EXPECT_TRUE(
      contains(errorWith("\"activation\":\"gelu\"", "\"activation\":\"rsqrt\""),
               "unknown activation 'rsqrt'; supported: relu"));
  EXPECT_TRUE(contains(
      errorWith("\"primitive\":\"softmax\"", "\"primitive\":\"layer_norm\""),
      "operands do not fit a 'layer_norm'"));
  EXPECT_TRUE(contains(
      errorWith("\"primitive\":\"softmax\"", "\"primitive\":\"batch_matmul\""),
      "operands do not fit a 'batch_matmul'"));
  EXPECT_NE(errorWith("\"argument\":3", "\"argument\":4"), "parsed");
  EXPECT_NE(errorWith("\"buffer\":1", "\"buffer\":2"), "parsed");
  EXPECT_NE(errorWith("\"offset\":8192", "\"offset\":-4"), "parsed");
  EXPECT_TRUE(contains(errorWith("\"shape\":[\"rows\",\"seq\"]",
                                 "\"shape\":[\"rows\",\"length\"]"),
                       "unknown symbol 'length'"));
  EXPECT_TRUE(
      contains(errorWith("\"shape\":[\"rows\",\"seq\"]", "\"shape\":[]"),
               "with 0 dimensions"));
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

namespace {

/// A manifest of a decoder with its loops.
Manifest decoderManifest(const char *head = "causal_lm",
                         const char *result = "logits") {
  Manifest m;
  m.head = head;
  ManifestDecoder d;
  d.context = 1024;
  d.vocabulary = 500;
  d.caches = {{0, DType::F32, 3, 6400}, {128, DType::BF16, 2, 64}};
  d.generation = "{\"top_k\":5}";
  m.decoder = d;
  ManifestEntry e;
  e.name = "step";
  e.symbolOrder = {"keys", "parts", "rows", "wanted"};
  e.inputs = {{"tokens", DType::I64, {poly("rows")}, "ids", 500, {}},
              {"wanted", DType::I64, {poly("wanted")}, "data", {}, {}}};
  e.outputs = {{result, DType::F32, {poly("wanted"), 500}, "", {}, {}}};
  ManifestSegments s;
  s.sequences = true;
  s.rows = "rows";
  s.keys = "keys";
  e.segments = {s};
  e.flops = poly("4*pairs_of_rows+8*pairs_of_rows_window_128+reads_of_rows");
  m.entries = {e};
  for (ManifestEntry &loop : loopEntries(m))
    m.entries.push_back(std::move(loop));
  return m;
}

std::string decoderErrorWith(const std::string &from, const std::string &to) {
  Result<Manifest> parsed =
      Manifest::parse(replaced(decoderManifest().toJson(), from, to), "m");
  return parsed ? "parsed" : parsed.error().message;
}

} // namespace

TEST(Manifest, a_decoder_round_trips) {
  std::string text = decoderManifest().toJson();
  Result<Manifest> read = Manifest::parse(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->toJson(), text);
  ASSERT_TRUE(read->decoder);
  EXPECT_EQ(read->decoder->context, 1024);
  EXPECT_EQ(read->decoder->vocabulary, 500);
  EXPECT_EQ(read->decoder->generation, "{\"top_k\":5}");
  ASSERT_EQ(read->decoder->caches.size(), 2u);
  EXPECT_EQ(read->decoder->caches[1].window, 128);
  EXPECT_EQ(read->decoder->caches[1].dtype, DType::BF16);
  EXPECT_EQ(read->decoder->caches[0].layers, 3);
  EXPECT_EQ(read->decoder->caches[0].blockBytes, 6400);
  EXPECT_TRUE(read->findEntry("step")->segments[0].sequences);
  EXPECT_EQ(read->findEntry("score")->loop, "score");
  Manifest unbounded = decoderManifest();
  unbounded.decoder->context.reset();
  EXPECT_FALSE(Manifest::parse(unbounded.toJson())->decoder->context);
}

TEST(Manifest, a_decoders_loops) {
  Manifest m = decoderManifest();
  ASSERT_EQ(m.entries.size(), 4u);
  const ManifestEntry *logits = m.findEntry("logits");
  EXPECT_EQ(logits->inputs[0].bound, 500);
  EXPECT_EQ(logits->inputs[1].fallback, 1);
  EXPECT_EQ(logits->outputs[0].shape[2], Polynomial(500));
  EXPECT_EQ(m.findEntry("score")->outputs[0].shape[1], poly("seq-1"));
  EXPECT_EQ(m.findEntry("generate")->outputs[0].shape[0],
            poly("batch*returned"));
  Manifest classify = decoderManifest("sequence_classification");
  ASSERT_EQ(classify.entries.size(), 2u);
  EXPECT_EQ(classify.entries[1].name, "encode");
  EXPECT_EQ(classify.entries[1].outputs[0].shape.size(), 2u);
  Manifest bare = decoderManifest("none", "last_hidden_state");
  EXPECT_EQ(bare.entries[1].outputs[0].name, "last_hidden_state");
  EXPECT_EQ(bare.entries[1].outputs[0].shape.size(), 3u);
  EXPECT_TRUE(loopEntries(fullManifest()).empty());
}

TEST(Manifest, a_decoder_is_checked) {
  EXPECT_TRUE(contains(decoderErrorWith("\"context\":1024", "\"context\":0"),
                       "expected an integer from 1"));
  EXPECT_TRUE(
      contains(decoderErrorWith("\"vocabulary\":500", "\"vocabulary\":-1"),
               "expected an integer from 1"));
  EXPECT_TRUE(
      contains(decoderErrorWith("\"block_bytes\":6400", "\"block_bytes\":6401"),
               "no multiple of 64"));
  EXPECT_TRUE(contains(decoderErrorWith("\"block_bytes\":6400",
                                        "\"block_bytes\":9000000000000000"),
                       "expected an integer from 64"));
  EXPECT_TRUE(contains(decoderErrorWith("\"window\":128", "\"window\":-1"),
                       "expected an integer from 0"));
  EXPECT_TRUE(contains(decoderErrorWith("\"dtype\":\"bf16\",\"layers\"",
                                        "\"dtype\":\"i64\",\"layers\""),
                       "unknown dtype 'i64'; supported: f32, bf16, i8"));
  EXPECT_TRUE(contains(decoderErrorWith("\"layers\":2", "\"layers\":0"),
                       "expected an integer from 1"));
  EXPECT_TRUE(
      contains(decoderErrorWith("\"loop\":\"score\"", "\"loop\":\"sore\""),
               "unknown loop 'sore'"));
  EXPECT_TRUE(
      contains(decoderErrorWith("\"name\":\"step\"", "\"name\":\"steps\""),
               "without an entry 'step'"));
  EXPECT_TRUE(contains(decoderErrorWith("\"decoder\":", "\"coder\":"),
                       "without a 'decoder'"));
  // What costs may name, sizes may not.
  EXPECT_TRUE(contains(decoderErrorWith("\"arena_bytes\":\"0\"",
                                        "\"arena_bytes\":\"pairs_of_rows\""),
                       "unknown symbol 'pairs_of_rows'"));
}

TEST(Manifest, every_missing_required_key_is_an_error) {
  std::string text = fullManifest().toJson();
  for (const char *key : {"compiler",       "name",
                          "family",         "architecture",
                          "head",           "file_bytes",
                          "isas",           "dtype",
                          "options",        "inputs_sha256",
                          "weights_sha256", "parameters",
                          "weights_bytes",  "symbols",
                          "entries",        "symbol_order",
                          "inputs",         "outputs",
                          "segments",       "buffers",
                          "arena_bytes",    "arena_lower_bound",
                          "counters",       "steps",
                          "flops",          "shape"}) {
    // The last, since some optional members of steps have the same names.
    std::string without = text;
    size_t at = without.rfind(std::string("\"") + key + "\":");
    ASSERT_NE(at, std::string::npos) << key;
    without.insert(at + 1, "z");
    Result<Manifest> read = Manifest::parse(without);
    ASSERT_FALSE(read) << key;
    EXPECT_TRUE(contains(read.error().message,
                         "missing key '" + std::string(key) + "'"))
        << read.error().message;
  }
}
