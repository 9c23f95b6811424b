// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each axis for decode steps, on the hand-written decoder, and on decoders
// whose logits depend on the step, its other sequences, or the cache history.
#include "tools/commands/verify/BitsSteps.h"
#include "test/tools/commands/verify/BrokenModel.h"

using namespace transom;
using namespace transom::test;
using namespace transom::tools;

static std::vector<BitsCell> runStepAxes(const Model &model) {
  TemporaryFolder folder;
  Result<BitsSteps> steps =
      BitsSteps::create(model, {{1, 5, 33, 64}, 1, 4}, folder.path(""));
  EXPECT_TRUE(bool(steps)) << steps.error().message;
  Result<std::vector<BitsCell>> cells = steps->run();
  EXPECT_TRUE(bool(cells)) << cells.error().message;
  return *cells;
}

TEST(BitsSteps, RightDecoderHasNoDifference) {
  auto model = fakeModel(fakeDecoderManifest());
  for (const BitsCell &cell : runStepAxes(*model)) {
    if (cell.axis == "sources") {
      EXPECT_EQ(cell.verdict, BitsVerdict::NotApplicable);
      continue;
    }
    EXPECT_EQ(cell.verdict, BitsVerdict::Equal) << cell.axis << cell.difference;
    EXPECT_GT(cell.comparisons, 10) << cell.axis;
  }
}

TEST(BitsSteps, RightEncoderDecoderHasNoDifference) {
  auto model = fakeModel(sourceManifest());
  for (const BitsCell &cell : runStepAxes(*model)) {
    EXPECT_EQ(cell.verdict, BitsVerdict::Equal) << cell.axis << cell.difference;
    EXPECT_GT(cell.comparisons, 10) << cell.axis;
  }
}

TEST(BitsSteps, SaysWhichAxesNeedACache) {
  for (const BitsCell &cell : BitsSteps::getNotApplicable()) {
    EXPECT_EQ(cell.verdict, BitsVerdict::NotApplicable);
    EXPECT_NE(cell.text.find("no cache"), std::string::npos);
  }
}

namespace {

/// Adds a value that depends on the step to the logits in a worker's rows.
template <typename Number>
void addToLogits(const transom_frame *frame, const int64_t *layer,
                 int64_t worker, int64_t numWorkers, Number number) {
  getFakePhase(ComputeLogits)(frame, layer, worker, numWorkers);
  const transom_ragged_batch &batch = *frame->ragged_batches;
  const auto *tokens = static_cast<const int64_t *>(frame->args[1]);
  auto *logits = static_cast<float *>(frame->args[2]);
  const int64_t count = frame->symbols[3]; // logits in the step
  for (int64_t w = count * worker / numWorkers;
       w != count * (worker + 1) / numWorkers; ++w)
    logits[w * FAKE_VOCABULARY + 1] +=
        float(number(batch.sequences[batch.token_sequence[tokens[w]]]));
}

/// The value that a sequence's first block keeps outside all positions.
float &getMark(const transom_frame *frame, const transom_sequence &sequence) {
  char *block = frame->caches[0].block_table[sequence.first_block];
  return reinterpret_cast<float *>(block)[TRANSOM_KV_BLOCK_SIZE - 2];
}

void showChunk(const transom_frame *frame, const int64_t *layer, int64_t worker,
               int64_t numWorkers) {
  addToLogits(frame, layer, worker, numWorkers,
              [](const transom_sequence &s) { return s.num_tokens; });
}

void showOthers(const transom_frame *frame, const int64_t *layer,
                int64_t worker, int64_t numWorkers) {
  addToLogits(frame, layer, worker, numWorkers, [&](const transom_sequence &) {
    return frame->ragged_batches->num_sequences;
  });
}

/// A sequence's first step stores its block address; after another session
/// loads the sequence, the address differs.
void showFile(const transom_frame *frame, const int64_t *layer, int64_t worker,
              int64_t numWorkers) {
  addToLogits(frame, layer, worker, numWorkers, [&](const transom_sequence &s) {
    float &noted = getMark(frame, s);
    const auto address = float(uintptr_t(&noted) / 64 % 65536);
    if (s.past == 0)
      noted = address;
    return noted != address;
  });
}

/// The largest position ever read, minus the current positions.
void showRewind(const transom_frame *frame, const int64_t *layer,
                int64_t worker, int64_t numWorkers) {
  addToLogits(frame, layer, worker, numWorkers, [&](const transom_sequence &s) {
    float &most = getMark(frame, s);
    most = std::max(most, float(s.num_keys));
    return most - float(s.num_keys);
  });
}

/// A copy has another position in the block table than its original.
void showPlace(const transom_frame *frame, const int64_t *layer, int64_t worker,
               int64_t numWorkers) {
  addToLogits(frame, layer, worker, numWorkers,
              [](const transom_sequence &s) { return s.first_block; });
}

void showSources(const transom_frame *frame, const int64_t *layer,
                 int64_t worker, int64_t numWorkers) {
  getFakePhase(EncodeSources)(frame, layer, worker, numWorkers);
  const transom_ragged_batch &batch = *frame->ragged_batches;
  auto *states = static_cast<float *>(frame->args[2]);
  const int64_t count = batch.num_sequences;
  for (int64_t b = count * worker / numWorkers;
       b != count * (worker + 1) / numWorkers; ++b)
    for (int64_t column = 0; column != batch.columns; ++column)
      states[(b * batch.columns + column) * FAKE_WIDTH] += float(count);
}

} // namespace

TEST(BitsSteps, EachAxisFindsWhatBreaksIt) {
  const struct {
    const char *axis;
    FakePhase index;
    transom_phase phase;
    const char *equal; ///< an axis that does not show it
  } cases[] = {{"chunking", ComputeLogits, showChunk, "sources"},
               {"neighbours in steps", ComputeLogits, showOthers, "chunking"},
               {"cache", ComputeLogits, showFile, "chunking"},
               {"rewinds", ComputeLogits, showRewind, "neighbours in steps"},
               {"copies", ComputeLogits, showPlace, "chunking"},
               {"sources", EncodeSources, showSources, "chunking"},
               {"steps together", ComputeLogits, showOthers, "chunking"}};
  for (const auto &broken : cases) {
    const bool hasSources = broken.index == EncodeSources;
    BrokenModel model(hasSources ? sourceManifest() : fakeDecoderManifest(),
                      broken.index, broken.phase);
    const auto different = getDifferent(runStepAxes(*model));
    EXPECT_TRUE(hasName(different, broken.axis)) << broken.axis;
    EXPECT_FALSE(hasName(different, broken.equal)) << broken.axis;
  }
}
