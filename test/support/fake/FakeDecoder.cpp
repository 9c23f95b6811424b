// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every row that a step returns is compared, so tests only specify the input
// tokens.
#include "test/support/fake/FakeDecoder.h"
#include <random>

using namespace transom;
using namespace transom::test;

SessionConfig transom::test::decoderConfig(int64_t sequences, int64_t positions,
                                           int64_t maxTokens) {
  SessionConfig config;
  config.maxBatch = 8;
  config.maxTokens = maxTokens;
  config.maxSequences = sequences;
  config.maxKvTokens = positions;
  return config;
}

Manifest transom::test::withReadOnlyCache() {
  Manifest manifest = fakeDecoderManifest();
  manifest.decoder->caches.push_back(makeFakeCache(0, readOnlyPositions));
  return manifest;
}

Manifest transom::test::crossManifest() {
  Manifest manifest = withReadOnlyCache();
  manifest.entries.resize(1);
  ManifestEntry &step = manifest.entries[0];
  step.name = "cross";
  // The source key symbol follows the symbols with fixed indices in the code.
  step.symbolOrder = {"keys", "parts", "rows", "wanted", "x_keys"};
  ManifestRaggedBatch source;
  source.sequences = true;
  source.cacheGroup = readOnlyGroup;
  source.rows = "rows";
  source.keys = "x_keys";
  step.ragged.push_back(source);
  for (ManifestEntry &derived : getDerivedEntries(manifest))
    manifest.entries.push_back(std::move(derived));
  return manifest;
}

Manifest transom::test::summaryManifest() {
  Manifest manifest = fakeDecoderManifest();
  ManifestEntry &step = manifest.entries[0];
  step.name = "summary";
  for (const char *name : {"maxima", "sums"}) {
    step.outputs.push_back(step.outputs[0]);
    step.outputs.back().name = name;
    step.outputs.back().shape[1] = 1;
  }
  manifest.entries.resize(1);
  for (ManifestEntry &derived : getDerivedEntries(manifest))
    manifest.entries.push_back(std::move(derived));
  return manifest;
}

Manifest transom::test::listedManifest() {
  Manifest manifest = fakeDecoderManifest();
  manifest.entries.resize(1);
  ManifestEntry &step = manifest.entries[0];
  step.name = "listed";
  // Their count symbol follows the symbols with fixed indices in the code.
  const Polynomial listed = Polynomial::symbol("x_listed");
  step.symbolOrder.push_back("x_listed");
  manifest.symbols.push_back({"x_listed", 9});
  step.inputs.push_back(
      {"columns", DType::I64, {listed}, "ids", FAKE_VOCABULARY, {}});
  step.outputs.push_back(step.outputs[0]);
  step.outputs.back().name = "listed_logits";
  step.outputs.back().shape[1] = listed;
  step.buffers.push_back({0, 65 * FAKE_VOCABULARY * 4, "rows", true});
  for (ManifestEntry &derived : getDerivedEntries(manifest))
    manifest.entries.push_back(std::move(derived));
  return manifest;
}

extern "C" int64_t transom_fake_listed_calls;
int64_t transom::test::countListedCalls() { return transom_fake_listed_calls; }

/// An input or result [batch, seq] or [batch, seq, width].
static ManifestTensor makeBatchTensor(const char *name, const char *role,
                                      int64_t width = 0) {
  ManifestTensor tensor;
  tensor.name = name;
  tensor.role = role;
  tensor.dtype = width ? DType::F32 : DType::I64;
  tensor.shape = {Polynomial::symbol("batch"), Polynomial::symbol("seq")};
  if (width)
    tensor.shape.push_back(Polynomial(width));
  return tensor;
}

/// An entry over the tokens that a mask selects.
static ManifestEntry makeMaskedEntry(const char *name, EntryKind kind,
                                     ManifestTensor first) {
  ManifestEntry entry;
  entry.name = name;
  entry.kind = kind;
  entry.symbolOrder = {"batch", "keys", "parts", "rows", "seq"};
  entry.inputs = {std::move(first), makeBatchTensor("attention_mask", "mask")};
  entry.inputs[1].fallback = 1;
  ManifestRaggedBatch ragged;
  ragged.mask = ragged.columnsOf = "attention_mask";
  ragged.rows = "rows";
  ragged.keys = "keys";
  entry.ragged = {ragged};
  return entry;
}

Manifest transom::test::sourceManifest() {
  Manifest manifest = crossManifest();
  manifest.entries.resize(1);
  manifest.decoder->context.reset();
  manifest.decoder->encoder = "encode_sources";
  manifest.decoder->generation = R"({"decoder_start_token_id":3})";
  manifest.entries.push_back(
      makeMaskedEntry("encode_sources", EntryKind::Encode,
                      makeBatchTensor("input_ids", "ids")));
  manifest.entries[1].inputs[0].bound = 100;
  manifest.entries[1].outputs = {
      makeBatchTensor("last_hidden_state", "", FAKE_WIDTH)};
  manifest.entries.push_back(makeMaskedEntry(
      "fill", EntryKind::Source,
      makeBatchTensor("encoder_hidden_states", "data", FAKE_WIDTH)));
  for (ManifestEntry &derived : getDerivedEntries(manifest))
    manifest.entries.push_back(std::move(derived));
  return manifest;
}

float transom::test::expectedSource(const std::vector<int64_t> &ids,
                                    const std::vector<int64_t> &mask) {
  float total = 0, sum = 0;
  for (size_t i = 0; i != ids.size(); ++i)
    total += mask[i] ? float(ids[i]) : 0;
  int64_t rank = 0;
  for (size_t i = 0; i != ids.size(); ++i)
    if (mask[i])
      sum += ((float(ids[i] + 1) + 2 * float(i)) / 1024 + total / 4096) *
             float(++rank);
  return sum;
}

extern "C" int64_t transom_fake_encoded;
int64_t transom::test::countEncoded() { return transom_fake_encoded; }

std::vector<int64_t> transom::test::randomTokens(size_t count, unsigned seed) {
  std::mt19937 random(seed + 1);
  std::vector<int64_t> tokens(count);
  for (int64_t &token : tokens)
    token = int64_t(random() % FAKE_NAN_TOKEN);
  return tokens;
}

void transom::test::expectRow(const float *logits,
                              const std::vector<int64_t> &tokens) {
  std::vector<float> given(logits, logits + FAKE_VOCABULARY);
  given.back() = 0;
  EXPECT_EQ(given, expectedLogits(tokens)) << "position " << tokens.size() - 1;
}

void FakeStep::add(int32_t sequence, std::vector<int64_t> tokens,
                   int64_t rows) {
  sequences.push_back(sequence);
  texts.push_back(std::move(tokens));
  numLogits.push_back(rows);
}

std::vector<StepInput> FakeStep::rows() const {
  std::vector<StepInput> made;
  for (size_t i = 0; i != texts.size(); ++i)
    made.push_back({sequences[i], texts[i].data(), int64_t(texts[i].size()),
                    numLogits[i]});
  return made;
}

FakeDecoder::FakeDecoder(const SessionConfig &config, Manifest manifest)
    : model(fakeModel(std::move(manifest))), made(makeSession(*model, config)) {
}

int32_t FakeDecoder::create() {
  Result<int32_t> sequence = made->decoder()->create();
  EXPECT_TRUE(bool(sequence)) << sequence.error().message;
  past[*sequence].clear();
  return *sequence;
}

int32_t FakeDecoder::copy(int32_t sequence) {
  Result<int32_t> copy = made->decoder()->copy(sequence);
  EXPECT_TRUE(bool(copy)) << copy.error().message;
  past[*copy] = past[sequence];
  return *copy;
}

void FakeDecoder::rewind(int32_t sequence, int64_t length) {
  Result<void> done = made->decoder()->rewind(sequence, length);
  EXPECT_TRUE(bool(done)) << done.error().message;
  past[sequence].resize(size_t(length));
}

Result<const float *>
FakeDecoder::computeLogits(const std::vector<StepInput> &rows) {
  int64_t numLogits = 0;
  for (const StepInput &what : rows)
    numLogits += what.num_logits;
  if (numLogits <= made->decoder()->maxLogits())
    return made->decoder()->step(rows.data(), rows.size());
  large.assign(size_t(numLogits * FAKE_VOCABULARY), -1);
  TRANSOM_TRY(
      made->decoder()->stepInto(rows.data(), rows.size(), large.data()));
  return static_cast<const float *>(large.data());
}

const float *FakeDecoder::run(const FakeStep &step) {
  std::vector<StepInput> rows = step.rows();
  Result<const float *> logits = computeLogits(rows);
  EXPECT_TRUE(bool(logits)) << logits.error().message;
  if (!logits)
    return nullptr;
  const float *row = *logits;
  for (const StepInput &what : rows) {
    std::vector<int64_t> &tokens = past[what.sequence];
    for (int64_t i = 0; i != what.num_tokens; ++i) {
      tokens.push_back(what.tokens[i]);
      if (i < what.num_tokens - what.num_logits)
        continue;
      expectRow(row, tokens);
      row += FAKE_VOCABULARY;
      ++compared;
    }
    EXPECT_EQ(made->decoder()->length(what.sequence), int64_t(tokens.size()));
  }
  return *logits;
}

const float *FakeDecoder::feed(int32_t sequence, std::vector<int64_t> tokens,
                               int64_t numLogits) {
  FakeStep step;
  step.add(sequence, std::move(tokens), numLogits);
  return run(step);
}

void FakeDecoderFile::openFile(const Manifest &manifest, uint64_t positions) {
  FakeDecoderFile::TearDown();
  writeFile(folder.path("model.so"), fakeFile(manifest));
  ASSERT_EQ(
      transom_model_load(folder.path("model.so").c_str(), nullptr, &model),
      TRANSOM_STATUS_OK)
      << transom_last_error();
  transom_session_options options = transom_session_options_default();
  options.threads = 2;
  options.max_sequences = 3;
  options.max_kv_tokens = positions;
  ASSERT_EQ(transom_session_create(model, &options, &session),
            TRANSOM_STATUS_OK)
      << transom_last_error();
}

void FakeDecoderFile::TearDown() {
  transom_session_free(session);
  transom_model_free(model);
  session = nullptr;
  model = nullptr;
}
