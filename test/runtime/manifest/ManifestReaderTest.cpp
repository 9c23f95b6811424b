// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifests that the reader rejects.
#include "test/runtime/manifest/ManifestFixture.h"

using namespace transom;
using namespace transom::test;

TEST(ManifestReader, another_abi_is_named_before_anything_else) {
  Result<Manifest> read = Manifest::parse("{\"abi\":1,\"entries\":7}", "m.so");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "m.so:1:8: '/abi': artifact has ABI version 1, this program reads "
            "version " +
                std::to_string(TRANSOM_ABI_VERSION));
  EXPECT_FALSE(Manifest::parse("{}"));
  EXPECT_FALSE(Manifest::parse("[]"));
  EXPECT_FALSE(Manifest::parse(""));
}

TEST(ManifestReader, references_and_ranges_are_checked) {
  EXPECT_TRUE(contains(errorWith("\"3072*rows\"", "\"3072*row\""),
                       "unknown symbol 'row'"));
  // The pairs have a name for costs only.
  EXPECT_TRUE(contains(errorWith("\"3072*rows\"", "\"3072*pairs_of_rows\""),
                       "unknown symbol 'pairs_of_rows'"));
  EXPECT_TRUE(contains(
      errorWith("\"dispatch_order\":[0,0,1]", "\"dispatch_order\":[0,0,2]"),
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
  EXPECT_TRUE(contains(errorWith("{\"name\":\"routed\"", "{\"name\":\"no\""),
                       "unknown symbol 'no'"));
  EXPECT_TRUE(contains(errorWith("\"bound\":\"2*rows\"", "\"bound\":\"2*no\""),
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

TEST(ManifestReader, calls_are_checked) {
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

TEST(ManifestReader, a_decoder_is_checked) {
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
      contains(decoderErrorWith("\"kind\":\"score\"", "\"kind\":\"sore\""),
               "unknown kind \'sore\'"));
  EXPECT_TRUE(
      contains(decoderErrorWith("\"kind\":\"step\"", "\"kind\":\"run\""),
               "without an entry of the kind 'step'"));
  EXPECT_TRUE(contains(decoderErrorWith("\"decoder\":", "\"coder\":"),
                       "without a 'decoder'"));
  // A symbol that costs may name but sizes may not.
  EXPECT_TRUE(contains(decoderErrorWith("\"arena_bytes\":\"0\"",
                                        "\"arena_bytes\":\"pairs_of_rows\""),
                       "unknown symbol 'pairs_of_rows'"));
}

TEST(ManifestReader, every_missing_required_key_is_an_error) {
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
                          "ragged",         "buffers",
                          "arena_bytes",    "arena_lower_bound",
                          "counters",       "dispatches",
                          "flops",          "shape"}) {
    // The last match, since some optional dispatch members have the same names.
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

TEST(ManifestReader, regions_of_a_cache_are_in_its_block) {
  const std::string region =
      R"({"offset":0,"layers":3,"layer_bytes":2112,"heads":1,"positions":32,)"
      R"("bytes":128})";
  auto getErrorWith = [&](const std::string &from, const std::string &to) {
    return decoderErrorWith(region, replaced(region, from, to));
  };
  EXPECT_TRUE(contains(decoderErrorWith("[" + region + "]", "[]"),
                       "cache group without regions"));
  EXPECT_TRUE(contains(decoderErrorWith("\"regions\":", "\"region\":"),
                       "missing key 'regions'"));
  EXPECT_TRUE(contains(getErrorWith("\"positions\":32", "\"positions\":24"),
                       "units of 24 positions, which do not divide 256"));
  EXPECT_TRUE(contains(getErrorWith("\"positions\":32", "\"positions\":0"),
                       "expected an integer from 1"));
  // The last region may end at the block's end, but not after it.
  EXPECT_EQ(getErrorWith("\"offset\":0", "\"offset\":1152"), "parsed");
  for (const char *wrong : {"\"offset\":1153", "\"offset\":1099511627776"})
    EXPECT_TRUE(contains(getErrorWith("\"offset\":0", wrong),
                         "reaches beyond its block of 6400 bytes"));
  EXPECT_TRUE(contains(getErrorWith("\"heads\":1", "\"heads\":2147483647"),
                       "reaches beyond its block"));
  EXPECT_TRUE(contains(getErrorWith("\"bytes\":128", "\"bytes\":1099511627776"),
                       "reaches beyond its block"));
}

TEST(ManifestReader, a_source_and_its_encoder_come_together) {
  auto errorWith = [](auto change) {
    Manifest manifest = encoderDecoderManifest();
    change(manifest);
    Result<Manifest> parsed = Manifest::parse(manifest.toJson());
    return parsed ? "parsed" : parsed.error().message;
  };
  EXPECT_EQ(errorWith([](Manifest &) {}), "parsed");
  for (const char *encoder : {"", "none", "source", "step", "logits"})
    EXPECT_TRUE(contains(
        errorWith([&](Manifest &m) { m.decoder->encoder = encoder; }),
        "the encoder '" + std::string(encoder) +
            "' of the entry of the kind 'source' is not an entry with code"));
  EXPECT_TRUE(
      contains(errorWith([](Manifest &m) { m.entries[0].outputs.clear(); }),
               "the encoder 'encode'"));
  EXPECT_TRUE(contains(
      errorWith([](Manifest &m) { m.entries[1].kind = EntryKind::Run; }),
      "an 'encoder' without an entry of the kind 'source'"));
  EXPECT_TRUE(
      contains(errorWith([](Manifest &m) { m.decoder->startRule = "first"; }),
               "unknown start_rule 'first'; supported: last_label"));
  EXPECT_TRUE(
      contains(errorWith([](Manifest &m) { m.decoder->classRow = "first"; }),
               "unknown class_row 'first'; supported: last_end, last_other"));
}

TEST(ManifestReader, cache_groups_of_keys_are_read_only) {
  auto errorWith = [](const std::string &to) {
    Result<Manifest> parsed = Manifest::parse(
        replaced(crossDecoderManifest().toJson(), "\"cache_group\":2", to));
    return parsed ? "parsed" : parsed.error().message;
  };
  EXPECT_EQ(errorWith("\"cache_group\":2"), "parsed");
  EXPECT_TRUE(contains(errorWith("\"cache_group\":1"),
                       "a ragged batch of the cache group 1, which is not a "
                       "read-only group"));
  EXPECT_TRUE(contains(errorWith("\"cache_group\":3"),
                       "which is not a read-only group"));
  EXPECT_TRUE(
      contains(errorWith("\"cache_group\":-1"), "expected an integer from 0"));
}
