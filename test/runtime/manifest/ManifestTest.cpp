// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifests round trip through JSON.
#include "runtime/manifest/ManifestWriter.h"
#include "test/runtime/manifest/ManifestFixture.h"

using namespace transom;
using namespace transom::test;

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
  EXPECT_TRUE(e->ragged[0].keepFirst);
  EXPECT_EQ(e->ragged[1].columns, "seq");
  EXPECT_EQ(e->boundedSizes[0].name, "routed");
  EXPECT_EQ(e->boundedSizes[0].bound, poly("2*rows"));
  EXPECT_EQ(e->positionLimit->rule, "nonpad_rank");
  EXPECT_EQ(e->buffers[0].bytes, poly("3072*rows+64"));
  EXPECT_EQ(e->arenaBytes, poly("64*parts+6144*rows+64"));
  EXPECT_EQ(e->ragged[0].pairs, "pairs_of_rows");
  EXPECT_EQ(e->dispatches[0].rows, 12);
  EXPECT_EQ(e->dispatches[0].flops, poly("80*rows"));
  EXPECT_EQ(e->dispatches[0].bf16Flops, poly("40*rows"));
  EXPECT_EQ(e->dispatches[0].int8Flops, poly("16*rows"));
  EXPECT_EQ(e->dispatches[0].weightBytes, 400);
  EXPECT_EQ(e->dispatches[0].bytes, poly("8*rows"));
  EXPECT_EQ(e->dispatches[0].schedule, "streaming");
  EXPECT_EQ(e->dispatches[0].headRanges, 6);
  EXPECT_EQ(e->dispatches[0].file, "config.json");
  EXPECT_EQ(e->dispatches[0].pointer, "/hidden_size");
  EXPECT_EQ(e->dispatches[0].kernels,
            (std::vector<std::string>{"transom.k.avx2.f32.6x16",
                                      "transom.k.avx512.f32.14x32"}));
  EXPECT_EQ(e->dispatches[1].flops, Polynomial());
  EXPECT_EQ(e->dispatches[1].file, "");
  EXPECT_TRUE(e->dispatches[1].kernels.empty());
  EXPECT_EQ(e->dispatchOrder, (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ(e->getMinBarriers(), 1);
  EXPECT_EQ(e->flops, poly("4*pairs_of_rows+1000*rows"));
  EXPECT_EQ(e->streamedBytes, 4800);
  EXPECT_EQ(m.findSymbol("seq")->max, 512);
  EXPECT_FALSE(m.findSymbol("batch")->max);
  EXPECT_EQ(m.labels[1], "caf\xC3\xA9 \"x\"");
  EXPECT_EQ(m.tokenizer->bytes, 1000u);
  EXPECT_TRUE(m.text->normalize);
  EXPECT_EQ(m.options[1].second, "256");
  EXPECT_EQ(m.figures, "{\"parameter_report\":{\"tied_head\":false}}");
  EXPECT_EQ(Manifest::parse(Manifest().toJson())->figures, "");
}

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
  EXPECT_TRUE(read->findEntry("step")->ragged[0].sequences);
  EXPECT_EQ(read->findEntry("score")->kind, EntryKind::Score);
  Manifest unbounded = decoderManifest();
  unbounded.decoder->context.reset();
  EXPECT_FALSE(Manifest::parse(unbounded.toJson())->decoder->context);
}

TEST(Manifest, fields_are_written_by_name) {
  std::string text;
  JsonWriter json(text);
  json.beginObject();
  manifest::Writer(json).writeFields(fullManifest(),
                                     {"isas", "name", "decoder", "labels"});
  json.endObject();
  EXPECT_EQ(text, R"({"isas":["avx2","avx512"],"name":"minilm",)"
                  "\"labels\":[\"LABEL_0\",\"caf\xC3\xA9 \\\"x\\\"\"]}");
}

TEST(Manifest, a_decoder_has_read_only_caches) {
  Manifest m = crossDecoderManifest();
  Result<Manifest> read = Manifest::parse(m.toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->toJson(), m.toJson());
  ASSERT_EQ(read->decoder->caches.size(), 3u);
  EXPECT_TRUE(read->decoder->caches[2].readOnly);
  EXPECT_EQ(read->decoder->caches[2].positions, 1500);
  const std::vector<ManifestRaggedBatch> &ragged = read->entries[0].ragged;
  ASSERT_EQ(ragged.size(), 2u);
  EXPECT_FALSE(ragged[0].cacheGroup);
  EXPECT_EQ(ragged[1].cacheGroup, 2);
  EXPECT_EQ(ragged[1].keys, "source_keys");
}

TEST(Manifest, a_step_keeps_buffers) {
  Manifest m = decoderManifest();
  m.entries[0].buffers = {{0, 64, "x"}, {0, 128, "y", true}};
  Result<Manifest> read = Manifest::parse(m.toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->toJson(), m.toJson());
  ASSERT_EQ(read->entries[0].buffers.size(), 2u);
  EXPECT_FALSE(read->entries[0].buffers[0].kept);
  EXPECT_TRUE(read->entries[0].buffers[1].kept);
}

TEST(Manifest, an_encoder_decoder_round_trips) {
  Manifest m = encoderDecoderManifest();
  m.decoder->classRow = "last_end";
  m.decoder->classToken = 2;
  Result<Manifest> read = Manifest::parse(m.toJson());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->toJson(), m.toJson());
  EXPECT_EQ(read->decoder->encoder, "encode");
  EXPECT_EQ(read->decoder->startRule, "last_label");
  EXPECT_EQ(read->decoder->classRow, "last_end");
  EXPECT_EQ(read->decoder->classToken, 2);
  ASSERT_EQ(read->decoder->caches[2].regions.size(), 1u);
  const ManifestCacheRegion &region = read->decoder->caches[2].regions[0];
  EXPECT_EQ(region.layers, 3);
  EXPECT_EQ(region.layerBytes, 2112);
  EXPECT_EQ(region.positions, 32);
  EXPECT_EQ(region.bytes, 128);
  ASSERT_TRUE(read->findEntry(EntryKind::Source));
  EXPECT_EQ(read->findEntry(EntryKind::Source)->name, "source");
}
