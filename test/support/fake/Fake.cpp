// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes expected results in the simplest way, from the caller's tensors
// alone.
#include "test/support/fake/Fake.h"
#include "runtime/artifact/Digest.h"
#include "runtime/artifact/Elf.h"
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace transom;
using namespace transom::test;

static Polynomial poly(const char *text) { return *Polynomial::parse(text); }

static ManifestTensor tensor(const char *name, DType dtype,
                             std::initializer_list<const char *> shape,
                             const char *role = "") {
  ManifestTensor made;
  made.name = name;
  made.dtype = dtype;
  made.role = role;
  for (const char *dim : shape)
    made.shape.push_back(poly(dim));
  return made;
}

static ManifestEntry encodeEntry() {
  ManifestEntry entry;
  entry.name = "encode";
  entry.kind = EntryKind::Encode;
  entry.inputs = {
      tensor("input_ids", DType::I64, {"batch", "seq"}, "ids"),
      tensor("attention_mask", DType::I64, {"batch", "seq"}, "mask"),
      tensor("token_type_ids", DType::I64, {"batch", "seq"}, "ids")};
  entry.inputs[0].bound = 100;
  entry.inputs[1].fallback = 1;
  entry.inputs[2].bound = 2;
  entry.inputs[2].fallback = 0;
  entry.outputs = {
      tensor("last_hidden_state", DType::F32, {"batch", "seq", "4"}),
      tensor("pooler_output", DType::F32, {"batch", "4"})};
  ManifestRaggedBatch ragged;
  ragged.mask = "attention_mask";
  ragged.columnsOf = "input_ids";
  ragged.keepFirst = true;
  ragged.rows = "rows";
  ragged.keys = "keys";
  entry.ragged = {ragged};
  entry.positionLimit = ManifestPositionLimit{"input_ids", "column", 0, 64};
  entry.symbolOrder = {"batch", "keys", "parts", "rows", "seq"};
  entry.buffers = {{poly("0"), poly("16*rows"), "rows"},
                   {poly("16*rows"), poly("16*batch"), "means"}};
  entry.arenaBytes = entry.arenaLowerBound = poly("16*rows+16*batch");
  entry.counters = 1;
  entry.dispatches = {{"embed", "embeddings", 1},
                      {"reduce", "layer.0", 1},
                      {"layer", "layer.{0-1}", 2},
                      {"scatter", "model", 1}};
  return entry;
}

static ManifestEntry combineEntry() {
  ManifestEntry entry;
  entry.name = "combine";
  entry.inputs = {tensor("x", DType::F32, {"batch", "seq", "3"}, "data"),
                  tensor("m", DType::Bool, {"batch", "seq"}, "data"),
                  tensor("z", DType::BF16, {"3"}, "data")};
  entry.outputs = {tensor("y", DType::F32, {"batch", "seq", "3"}),
                   tensor("count", DType::I64, {"batch"}),
                   tensor("tiny", DType::F32, {"batch"})};
  ManifestRaggedBatch ragged;
  ragged.batch = "batch";
  ragged.columns = "seq";
  ragged.rows = "rows1";
  ragged.keys = "keys1";
  entry.ragged = {ragged};
  entry.symbolOrder = {"batch", "keys1", "parts", "rows1", "seq"};
  entry.arenaBytes = poly("64*parts+batch*seq");
  return entry;
}

Manifest transom::test::fakeManifest() {
  Manifest manifest;
  manifest.compiler = "0.1.0";
  manifest.name = "fake";
  manifest.family = "bert";
  manifest.architecture = "BertModel";
  manifest.isas = {"avx2"};
  manifest.symbols = {{"batch", std::nullopt}, {"seq", 64}};
  manifest.entries = {encodeEntry(), combineEntry()};
  return manifest;
}

ManifestCache transom::test::makeFakeCache(int64_t window,
                                           int64_t readOnlyPositions) {
  return {window,
          DType::F32,
          1,
          FAKE_BLOCK_BYTES,
          readOnlyPositions > 0,
          readOnlyPositions,
          {{0, 1, FAKE_BLOCK_BYTES, 1, 1, sizeof(float)}}};
}

Manifest transom::test::fakeDecoderManifest(std::optional<int64_t> context,
                                            const char *head,
                                            const char *result) {
  Manifest manifest;
  manifest.compiler = "0.1.0";
  manifest.name = manifest.family = "fake";
  manifest.head = head;
  manifest.isas = {"avx2"};
  manifest.weightsSha256 = "w";
  ManifestDecoder decoder;
  decoder.context = context;
  decoder.vocabulary = FAKE_VOCABULARY;
  decoder.caches = {makeFakeCache(0), makeFakeCache(FAKE_WINDOW)};
  manifest.decoder = decoder;
  ManifestEntry entry;
  entry.name = "step";
  entry.kind = EntryKind::Step;
  entry.inputs = {tensor("tokens", DType::I64, {"rows"}, "ids"),
                  tensor("wanted", DType::I64, {"wanted"}, "data")};
  entry.outputs = {tensor(result, DType::F32, {"wanted", "16"})};
  ManifestRaggedBatch ragged;
  ragged.sequences = true;
  ragged.rows = "rows";
  ragged.keys = "keys";
  entry.ragged = {ragged};
  entry.symbolOrder = {"keys", "parts", "rows", "wanted"};
  entry.arenaBytes = poly("64*parts+8*rows+4*wanted");
  manifest.entries = {entry};
  for (ManifestEntry &loop : getDerivedEntries(manifest))
    manifest.entries.push_back(std::move(loop));
  return manifest;
}

std::vector<float>
transom::test::expectedLogits(const std::vector<int64_t> &tokens) {
  std::vector<float> logits(FAKE_VOCABULARY, 0);
  int64_t last = int64_t(tokens.size()) - 1;
  for (int64_t v = 0; v != FAKE_VOCABULARY - 1; ++v) {
    int64_t sum = 0;
    for (int64_t j = 0; j <= last; ++j)
      sum += (tokens[size_t(j)] + 1) * ((j * 31 + v * 7) % 13 - 6) *
             (last - j < FAKE_WINDOW ? 4 : 1);
    logits[size_t(v)] = float(sum) * (1.0f / 1024);
  }
  return logits;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "transom-test-XXXXXX").string();
  folder = mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

void transom::test::writeFile(const std::string &path,
                              const std::string &bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  ASSERT_TRUE(file.good());
}

std::string transom::test::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

static void fill(std::string &bytes, const char *mark, const std::string &with,
                 size_t room, char padding) {
  size_t at = bytes.find(mark);
  EXPECT_NE(at, std::string::npos) << mark;
  EXPECT_LE(with.size(), room);
  bytes.replace(at, room, with + std::string(room - with.size(), padding));
}

std::string transom::test::fakeFileWithText(const std::string &text,
                                            bool rightDigest) {
  std::string bytes = readFile(TRANSOM_FAKE_ARTIFACT);
  fill(bytes, FAKE_MANIFEST_MARK, text, FAKE_MANIFEST_ROOM, ' ');
  Result<ElfImage> image = readElf(bytes, "fake");
  EXPECT_TRUE(bool(image)) << image.error().message;
  if (rightDigest)
    signArtifact(bytes);
  return bytes;
}

void transom::test::signArtifact(std::string &bytes) {
  Result<ElfImage> image = readElf(bytes, "fake");
  ASSERT_TRUE(bool(image)) << image.error().message;
  size_t at = size_t(image->digest->data() - bytes.data());
  auto digest = computeArtifactDigest(bytes, at);
  bytes.replace(at, digest.size(), reinterpret_cast<char *>(digest.data()),
                digest.size());
}

std::string transom::test::fakeFile(Manifest manifest,
                                    const std::string &tokenizer) {
  std::string bytes = readFile(TRANSOM_FAKE_ARTIFACT);
  Result<ElfImage> image = readElf(bytes, "fake");
  EXPECT_TRUE(bool(image)) << image.error().message;
  if (manifest.fileBytes == 0)
    manifest.fileBytes = image->loadEnd;
  size_t tables = bytes.find(FAKE_TOKENIZER_MARK);
  if (!tokenizer.empty())
    manifest.tokenizer = ManifestTokenizer{tables, tokenizer.size()};
  bytes = fakeFileWithText(manifest.toJson());
  if (!tokenizer.empty())
    fill(bytes, FAKE_TOKENIZER_MARK, tokenizer, FAKE_TOKENIZER_ROOM, 0);
  signArtifact(bytes);
  return bytes;
}

std::unique_ptr<Model> transom::test::fakeModel(Manifest manifest,
                                                std::string_view tokenizer) {
  Result<std::unique_ptr<Model>> model = Model::fromCode(
      std::move(manifest), "", transom_artifact, tokenizer, "", "fake");
  EXPECT_TRUE(bool(model)) << model.error().message;
  return model ? std::move(*model) : nullptr;
}

EncodeCall::EncodeCall(int64_t batch, int64_t seq)
    : batch(batch), seq(seq), ids(batch * seq, 1), mask(batch * seq, 1),
      types(batch * seq, 0), hidden(batch * seq * FAKE_WIDTH, -1),
      pooled(batch * FAKE_WIDTH, -1) {
  inputs = {
      makeTensor("input_ids", TRANSOM_DTYPE_I64, {batch, seq}, ids),
      makeTensor("attention_mask", TRANSOM_DTYPE_I64, {batch, seq}, mask),
      makeTensor("token_type_ids", TRANSOM_DTYPE_I64, {batch, seq}, types)};
  outputs = {makeTensor("last_hidden_state", TRANSOM_DTYPE_F32, {}, hidden),
             makeTensor("pooler_output", TRANSOM_DTYPE_F32, {}, pooled)};
}

void EncodeCall::randomize(unsigned seed, bool ragged) {
  std::mt19937 random(seed);
  for (int64_t i = 0; i != batch * seq; ++i) {
    ids[i] = int64_t(random() % 100);
    types[i] = int64_t(random() % 2);
    mask[i] = ragged ? int64_t(random() % 3 != 0) : 1;
  }
}

Result<void> EncodeCall::run(Session &session) {
  return session.run("encode", inputs.data(), inputs.size(), outputs.data(),
                     outputs.size());
}

void EncodeCall::expect(std::vector<float> &hidden,
                        std::vector<float> &pooled) const {
  const float table[] = {1, 2, 3, 4};
  hidden.assign(this->hidden.size(), 0);
  pooled.assign(this->pooled.size(), 0);
  for (int64_t b = 0; b != batch; ++b)
    for (int64_t i = 0; i != FAKE_WIDTH; ++i) {
      auto value = [&](int64_t s) {
        return float(ids[b * seq + s]) + 1000.0f * float(types[b * seq + s]) +
               table[i];
      };
      float sum = 0, keys = 0;
      for (int64_t s = 0; s != seq; ++s)
        if (mask[b * seq + s]) {
          sum += value(s);
          keys += 1;
        }
      float mean = keys ? sum / keys : 0;
      auto result = [&](int64_t s) {
        float first = value(s) + 0.5f * mean;
        return first + 0.25f * mean;
      };
      for (int64_t s = 0; s != seq; ++s)
        if (mask[b * seq + s])
          hidden[(b * seq + s) * FAKE_WIDTH + i] = result(s);
      pooled[b * FAKE_WIDTH + i] = result(0);
    }
}

void EncodeCall::checkResults() const {
  std::vector<float> expectedHidden, expectedPooled;
  expect(expectedHidden, expectedPooled);
  EXPECT_EQ(hidden, expectedHidden);
  EXPECT_EQ(pooled, expectedPooled);
}

SessionConfig transom::test::makeConfig(int64_t batch, int64_t tokens,
                                        unsigned threads) {
  SessionConfig config;
  config.maxBatch = batch;
  config.maxTokens = tokens;
  config.threads = threads;
  return config;
}

std::unique_ptr<Session>
transom::test::makeSession(const Model &model, const SessionConfig &config) {
  Result<std::unique_ptr<Session>> session = Session::create(model, config);
  EXPECT_TRUE(bool(session)) << session.error().message;
  return session ? std::move(*session) : nullptr;
}
