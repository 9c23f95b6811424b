// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each axis for an entry, on a correct hand-written model, and on models whose
// results depend on the run, the worker count, the sequence count, their
// position, their neighbours, or the padding.
#include "tools/commands/verify/BitsEntry.h"
#include "test/tools/commands/verify/BrokenModel.h"
#include <atomic>

using namespace transom;
using namespace transom::test;
using namespace transom::tools;

static std::vector<BitsCell> runEntryAxes(const Model &model,
                                          const char *name) {
  const Entry *entry = model.findEntry(name);
  EXPECT_NE(entry, nullptr);
  Result<BitsEntry> base = BitsEntry::create(model, *entry, {{1, 5, 33}, 1, 4});
  EXPECT_TRUE(bool(base)) << base.error().message;
  Result<std::vector<BitsCell>> cells = base->run();
  EXPECT_TRUE(bool(cells)) << cells.error().message;
  return *cells;
}

TEST(BitsEntry, RightModelHasNoDifference) {
  auto model = fakeModel(getRoomyManifest());
  for (const BitsCell &cell : runEntryAxes(*model, "encode")) {
    EXPECT_EQ(cell.verdict, BitsVerdict::Equal) << cell.axis << cell.difference;
    EXPECT_GE(cell.comparisons, 6) << cell.axis;
    EXPECT_GE(cell.numbers, cell.comparisons) << cell.axis;
  }
}

TEST(BitsEntry, SaysWhichAxesAnyFunctionLacks) {
  auto model = fakeModel(getRoomyManifest());
  for (const BitsCell &cell : runEntryAxes(*model, "combine")) {
    const bool applies = cell.axis == "run" || cell.axis == "threads" ||
                         cell.axis == "host threads";
    EXPECT_EQ(cell.verdict,
              applies ? BitsVerdict::Equal : BitsVerdict::NotApplicable)
        << cell.axis;
  }
}

namespace {

/// Adds a value that depends on the run to the rows of the worker's sequences.
template <typename Number>
void addToRows(const transom_frame *frame, const int64_t *layer, int64_t worker,
               int64_t numWorkers, Number number) {
  getFakePhase(Scatter)(frame, layer, worker, numWorkers);
  const transom_ragged_batch &batch = *frame->ragged_batches;
  auto *pooled = static_cast<float *>(frame->args[4]);
  const int64_t count = batch.num_sequences;
  for (int64_t b = count * worker / numWorkers;
       b != count * (worker + 1) / numWorkers; ++b)
    pooled[b * FAKE_WIDTH] += float(number(b));
}

std::atomic<int> numRuns;
void showRun(const transom_frame *frame, const int64_t *layer, int64_t worker,
             int64_t numWorkers) {
  addToRows(frame, layer, worker, numWorkers,
            [](int64_t) { return ++numRuns; });
}

void showWorkers(const transom_frame *frame, const int64_t *layer,
                 int64_t worker, int64_t numWorkers) {
  addToRows(frame, layer, worker, numWorkers,
            [&](int64_t) { return numWorkers; });
}

/// The worker that ran before, which is one more where a host runs backwards.
std::atomic<int64_t> workerBefore;
void showOrder(const transom_frame *frame, const int64_t *layer, int64_t worker,
               int64_t numWorkers) {
  const bool isAfter = workerBefore.exchange(worker) == worker + 1;
  addToRows(frame, layer, worker, numWorkers, [&](int64_t) { return isAfter; });
}

void showBatchSize(const transom_frame *frame, const int64_t *layer,
                   int64_t worker, int64_t numWorkers) {
  addToRows(frame, layer, worker, numWorkers,
            [&](int64_t) { return frame->ragged_batches->num_sequences; });
}

void showPosition(const transom_frame *frame, const int64_t *layer,
                  int64_t worker, int64_t numWorkers) {
  addToRows(frame, layer, worker, numWorkers, [](int64_t b) { return b; });
}

void showNeighbours(const transom_frame *frame, const int64_t *layer,
                    int64_t worker, int64_t numWorkers) {
  const auto *ids = static_cast<const int64_t *>(frame->args[0]);
  const int64_t columns = frame->ragged_batches->columns;
  const int64_t last = frame->ragged_batches->num_sequences - 1;
  addToRows(frame, layer, worker, numWorkers,
            [&](int64_t b) { return b == last ? 0 : ids[(b + 1) * columns]; });
}

void showPadding(const transom_frame *frame, const int64_t *layer,
                 int64_t worker, int64_t numWorkers) {
  addToRows(frame, layer, worker, numWorkers,
            [&](int64_t) { return frame->ragged_batches->columns; });
}

/// Writes to padding results, which are zero.
void writePadding(const transom_frame *frame, const int64_t *layer,
                  int64_t worker, int64_t numWorkers) {
  getFakePhase(Scatter)(frame, layer, worker, numWorkers);
  const auto *mask = static_cast<const int64_t *>(frame->args[1]);
  const transom_ragged_batch &batch = *frame->ragged_batches;
  for (int64_t i = 0; worker == 0 && i != batch.num_sequences * batch.columns;
       ++i)
    if (!mask[i] && i % batch.columns == batch.columns - 1)
      static_cast<float *>(frame->args[3])[i * FAKE_WIDTH] = 1;
}

struct BrokenCase {
  const char *axis;
  transom_phase phase;
};

} // namespace

TEST(BitsEntry, EachAxisFindsWhatBreaksIt) {
  const BrokenCase cases[] = {{"run", showRun},
                              {"threads", showWorkers},
                              {"host threads", showOrder},
                              {"batch size", showBatchSize},
                              {"position", showPosition},
                              {"neighbours", showNeighbours},
                              {"padding", showPadding},
                              {"padding", writePadding},
                              {"all together", showPadding}};
  for (const BrokenCase &broken : cases) {
    workerBefore = 0;
    BrokenModel model(getRoomyManifest(), Scatter, broken.phase);
    const auto different = getDifferent(runEntryAxes(*model, "encode"));
    EXPECT_TRUE(hasName(different, broken.axis)) << broken.axis;
    EXPECT_EQ(hasName(different, "run"), broken.phase == showRun)
        << broken.axis;
  }
}

TEST(BitsEntry, ComparesWithAnotherModel) {
  auto model = fakeModel(getRoomyManifest());
  BrokenModel other(getRoomyManifest(), Scatter, showPosition);
  BrokenModel another(getRoomyManifest(), Scatter, showBatchSize);
  Result<BitsEntry> base = BitsEntry::create(
      *model, *model->findEntry("encode"), {{1, 5, 33}, 1, 4});
  ASSERT_TRUE(bool(base)) << base.error().message;
  BitsCell same, different;
  ASSERT_TRUE(bool(base->compareWith(*other, same, "other")));
  EXPECT_EQ(same.verdict, BitsVerdict::Equal);
  EXPECT_EQ(same.comparisons, 6);
  ASSERT_TRUE(bool(base->compareWith(*another, different, "another")));
  EXPECT_EQ(different.verdict, BitsVerdict::Different);
  EXPECT_EQ(different.differing, 3);
  EXPECT_NE(different.difference.find("a sequence of 1, another: result "
                                      "'pooler_output' is 0x"),
            std::string::npos)
      << different.difference;
}

TEST(BitsEntry, CutsLengthsToTheModel) {
  auto model = fakeModel(getRoomyManifest());
  Result<BitsEntry> base = BitsEntry::create(
      *model, *model->findEntry("encode"), {{500, 2, 1000}, 1, 2});
  ASSERT_TRUE(bool(base)) << base.error().message;
  ASSERT_EQ(base->calls().size(), 2u);
  EXPECT_EQ(base->calls()[0][0].shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(base->calls()[1][0].shape, (std::vector<int64_t>{1, 64}));
}
