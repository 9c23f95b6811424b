// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an entry's sizes and limits follow from its manifest, and uses that need
// a value before the call and so cannot use a bounded size.
#include "runtime/execute/Entry.h"
#include "test/runtime/execute/ExpectError.h"
#include "test/support/fake/FakeDecoder.h"

using namespace transom;
using namespace transom::test;

static Polynomial poly(const char *text) { return *Polynomial::parse(text); }

/// An entry x [rows, 4] to y [rows, 4] with the size `routed`.
static ManifestEntry makeEntry() {
  ManifestEntry entry;
  entry.name = "run";
  entry.symbolOrder = {"routed", "rows"};
  entry.inputs = {{"x", DType::F32, {poly("rows"), 4}, "data", {}, {}}};
  entry.outputs = {{"y", DType::F32, {poly("rows"), 4}, "", {}, {}}};
  entry.boundedSizes = {{"routed", poly("2*rows")}};
  entry.buffers = {{0, poly("32*rows"), ""}};
  entry.arenaBytes = poly("64*rows");
  return entry;
}

static std::string getMessage(const ManifestEntry &entry) {
  Manifest manifest;
  Result<Entry> made = Entry::create(manifest, entry, nullptr);
  return made ? "" : made.error().message;
}

TEST(Entry, has_bounded_sizes) {
  Manifest manifest;
  ManifestEntry source = makeEntry();
  Result<Entry> entry = Entry::create(manifest, source, nullptr);
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_EQ(entry->kinds[0], SymbolKind::Written);
  EXPECT_EQ(entry->kinds[1], SymbolKind::Length);
}

TEST(Entry, needs_values_before_the_call) {
  const std::string expected =
      "entry 'run': has a size over a symbol that its inputs do not bind";
  ManifestEntry entry = makeEntry();
  entry.outputs[0].shape[0] = poly("routed");
  EXPECT_EQ(getMessage(entry), expected);
  entry = makeEntry();
  entry.arenaBytes = poly("64*routed");
  EXPECT_EQ(getMessage(entry), expected);
  entry = makeEntry();
  entry.buffers[0].offset = poly("routed");
  EXPECT_EQ(getMessage(entry), expected);
  entry = makeEntry();
  entry.boundedSizes[0].bound = poly("routed+1");
  EXPECT_EQ(getMessage(entry), expected);
}

TEST(Entry, defines_a_bounded_size_once) {
  ManifestEntry entry = makeEntry();
  entry.boundedSizes.push_back(entry.boundedSizes[0]);
  EXPECT_EQ(getMessage(entry),
            "entry 'run': a bounded size defines 'routed', which is not a "
            "symbol or is defined twice");
}

TEST(Entry, position_limits_count_as_maxima) {
  Manifest manifest = fakeManifest();
  manifest.symbols[1].max = std::nullopt;
  auto model = fakeModel(manifest);
  auto session = makeSession(*model, makeConfig(1, 200));
  EncodeCall call(1, 65);
  expectError(call.run(*session), Status::Limit,
              "input 'input_ids' has length 65, over the model's maximum 64");
  EncodeCall fits(1, 64);
  EXPECT_TRUE(bool(fits.run(*session)));
}

TEST(Entry, symbols_of_any_name_and_sizes_without_symbols) {
  // The batch is the leading size in inputs only, whatever its name.
  Manifest manifest = fakeManifest();
  ManifestEntry &entry = manifest.entries[1];
  manifest.symbols = {{"n", std::nullopt}, {"t", std::nullopt}};
  entry.symbolOrder = {"keys1", "n", "rows1", "t"};
  auto shape = [](const char *a, const char *b) {
    return std::vector<Polynomial>{*Polynomial::parse(a),
                                   *Polynomial::parse(b)};
  };
  entry.inputs[0].shape = shape("n", "t");
  entry.inputs[0].shape.push_back(3);
  entry.inputs[1].shape = shape("n", "t");
  entry.outputs[0].shape = entry.inputs[0].shape;
  entry.outputs[1].shape = entry.outputs[2].shape = {Polynomial::symbol("n")};
  entry.ragged[0].batch = "n";
  entry.ragged[0].columns = "t";
  entry.arenaBytes = *Polynomial::parse("n*t");
  manifest.entries.erase(manifest.entries.begin());
  auto runWith = [](const Manifest &manifest) {
    auto model = fakeModel(manifest);
    std::vector<float> x(4 * 5 * 3, 1), y(x.size(), -1), tiny(4);
    std::vector<uint8_t> m(20, 1);
    std::vector<uint16_t> z(3);
    std::vector<int64_t> count(4, -1);
    transom_tensor inputs[] = {makeTensor("x", TRANSOM_DTYPE_F32, {4, 5, 3}, x),
                               makeTensor("m", TRANSOM_DTYPE_BOOL, {4, 5}, m),
                               makeTensor("z", TRANSOM_DTYPE_BF16, {3}, z)};
    transom_tensor outputs[] = {
        makeTensor("y", TRANSOM_DTYPE_F32, {}, y),
        makeTensor("tiny", TRANSOM_DTYPE_F32, {}, tiny),
        makeTensor("count", TRANSOM_DTYPE_I64, {}, count)};
    Capacity capacity;
    ASSERT_TRUE(bool(fitCapacity(*model, "combine", inputs, 3, capacity)));
    auto session = makeSession(
        *model, makeConfig(capacity.maxBatch, capacity.maxTokens, 2));
    Result<void> done = session->run("combine", inputs, 3, outputs, 3);
    ASSERT_TRUE(bool(done)) << done.error().message;
    EXPECT_EQ(y, std::vector<float>(y.size(), 2));
    EXPECT_EQ(count, std::vector<int64_t>(4, 5));
  };
  runWith(manifest);
  ManifestEntry &fixed = manifest.entries[0];
  manifest.symbols.clear();
  fixed.symbolOrder = {"keys1", "rows1"};
  fixed.inputs[0].shape = fixed.outputs[0].shape = {4, 5, 3};
  fixed.inputs[1].shape = {4, 5};
  fixed.outputs[1].shape = fixed.outputs[2].shape = {4};
  fixed.ragged[0].batch = "4";
  fixed.ragged[0].columns = "5";
  fixed.arenaBytes = 64;
  runWith(manifest);
  runWith(*Manifest::parse(manifest.toJson()));
}

TEST(Entry, a_step_may_summarize_its_logits) {
  Manifest manifest = summaryManifest();
  auto make = [&] {
    return Entry::create(manifest, manifest.entries[0], nullptr);
  };
  Result<Entry> entry = make();
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_TRUE(entry->hasSummary);
  EXPECT_EQ(entry->stepWidth, FAKE_VOCABULARY);

  std::vector<ManifestTensor> &outputs = manifest.entries[0].outputs;
  const std::string expected =
      "entry 'summary': summarizes logits of width 16 by other results than "
      "maxima and sums, f32 [wanted, 1]";
  outputs[2].shape[1] = 2;
  EXPECT_EQ(make().error().message, expected);
  outputs[2].shape = {Polynomial::symbol("rows"), 1};
  EXPECT_EQ(make().error().message, expected);
  outputs[2] = outputs[1];
  outputs[1].dtype = DType::I64;
  EXPECT_EQ(make().error().message, expected);
  outputs.pop_back();
  EXPECT_NE(make().error().message.find("not a decoder's step"),
            std::string::npos);
}

TEST(Entry, a_step_may_give_the_logits_of_listed_tokens) {
  Manifest manifest = summaryManifest();
  ManifestEntry &step = manifest.entries[0];
  auto make = [&] { return Entry::create(manifest, step, nullptr); };
  // A step with a third input that selects columns, and a second result.
  step.symbolOrder.push_back("listed");
  std::sort(step.symbolOrder.begin(), step.symbolOrder.end());
  manifest.symbols.push_back({"listed", 9});
  const Polynomial listed = Polynomial::symbol("listed");
  step.inputs.push_back({"columns", DType::I64, {listed}, "ids", 16, {}});
  ManifestTensor result = step.outputs[0];
  result.name = "listed_logits";
  result.shape[1] = listed;
  step.outputs.insert(step.outputs.begin() + 1, result);
  {
    Result<Entry> entry = make();
    ASSERT_TRUE(entry) << entry.error().message;
    ASSERT_TRUE(entry->listedSymbol);
    EXPECT_EQ(entry->symbols[size_t(*entry->listedSymbol)], "listed");
    EXPECT_TRUE(entry->hasSummary);
  }
  // Any deviation is an error; each change is undone.
  auto getMessage = [&](auto change) {
    const ManifestEntry right = step;
    const auto symbols = manifest.symbols;
    change();
    Result<Entry> made = make();
    step = right;
    manifest.symbols = symbols;
    return made ? "" : made.error().message;
  };
  const std::string expected =
      "entry 'summary': has a third input that does not list logits: columns "
      "[listed] to a second result, f32 [wanted, listed], with at most 16 "
      "columns";
  EXPECT_EQ(getMessage([&] { step.inputs[2].name = "list"; }), expected);
  EXPECT_EQ(getMessage([&] { step.inputs[2].shape = {listed, 2}; }), expected);
  EXPECT_EQ(getMessage(
                [&] { step.inputs[2].shape = {Polynomial::symbol("wanted")}; }),
            expected);
  EXPECT_EQ(getMessage([&] { step.outputs[1].shape[1] = 9; }), expected);
  EXPECT_EQ(getMessage([&] { manifest.symbols.back().max = 17; }), expected);
  EXPECT_EQ(getMessage([&] { manifest.symbols.back().max.reset(); }), expected);
  EXPECT_NE(getMessage([&] {
              step.outputs.erase(step.outputs.begin() + 1);
            }).find("not a decoder's step"),
            std::string::npos);
}

TEST(Entry, a_kept_buffer_has_a_number_of_bytes) {
  ManifestEntry entry = makeEntry();
  entry.buffers.push_back({0, 640, "", true});
  EXPECT_EQ(getMessage(entry), "");
  entry.buffers.back().bytes = *Polynomial::parse("64*rows");
  EXPECT_EQ(getMessage(entry), "entry 'run': keeps a buffer of '64*rows' "
                               "bytes, which is not a number");
}

TEST(Entry, a_source_takes_what_its_encoder_gives) {
  const Manifest right = sourceManifest();
  // A source and its encoder are accepted as they are.
  auto getMessage = [&](auto change) {
    Manifest manifest = right;
    change(manifest, manifest.entries[1], manifest.entries[2]);
    Result<Entry> made = Entry::create(manifest, manifest.entries[2], nullptr);
    return made ? "" : made.error().message;
  };
  Result<Entry> source = Entry::create(right, right.entries[2], nullptr);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_TRUE(source->isSource());
  EXPECT_EQ(source->sourceWidth, FAKE_WIDTH);
  Result<Entry> encoder = Entry::create(right, right.entries[1], nullptr);
  ASSERT_TRUE(encoder) << encoder.error().message;
  EXPECT_FALSE(encoder->isSource());

  const std::string expected =
      "entry 'fill': is a source, but does not take the f32 states [batch, "
      "columns, width] of an encoder of ids and a mask, and that mask, without "
      "a result";
  // Each change breaks one rule.
  using Change = void (*)(Manifest &, ManifestEntry &, ManifestEntry &);
  for (Change change : {
           Change([](Manifest &m, auto &, auto &) { m.decoder.reset(); }),
           Change([](Manifest &m, auto &, auto &) { m.decoder->encoder = ""; }),
           Change([](auto &, auto &encoder, auto &) {
             encoder.inputs.pop_back();
           }),
           Change([](auto &, auto &encoder, auto &) {
             encoder.inputs[0].role = "data";
           }),
           Change([](auto &, auto &encoder, auto &) {
             encoder.outputs[0].shape[2] = 8;
           }),
           Change([](auto &, auto &, auto &source) {
             source.inputs[0].dtype = DType::I64;
           }),
           Change([](auto &, auto &, auto &source) {
             source.ragged[0].keepFirst = true;
           }),
           Change([](auto &, auto &encoder, auto &source) {
             source.outputs = encoder.outputs;
           }),
       })
    EXPECT_EQ(getMessage(change), expected);
}
