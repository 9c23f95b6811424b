// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each axis varies one condition under which sequences run. The last one varies
// all of them at once.
#include "tools/commands/verify/BitsEntry.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

static BitsCell beginCell(const char *axis, std::string text) {
  BitsCell cell;
  cell.axis = axis;
  cell.text = std::move(text);
  return cell;
}

/// Returns `a sequence of 33 tokens`, from the column count in its first input.
static std::string getSequenceName(const BitsCall &call) {
  const auto &shape = call[0].shape;
  return shape.size() < 2 ? "a call"
                          : "a sequence of " + std::to_string(shape[1]);
}

Result<BitsEntry> BitsEntry::create(const Model &model, const Entry &entry,
                                    const BitsOptions &options) {
  BitsEntry made(model, entry, options);
  std::mt19937 random(static_cast<uint32_t>(options.seed));
  BitsInputs inputs = made.inputs(random);
  // Limit the lengths to the model's max length.
  std::vector<int64_t> lengths;
  for (int64_t length : options.lengths)
    lengths.push_back(inputs.getLongest(length));
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  const bool isBatched = inputs.whyNotBatched().empty();
  for (size_t i = 0; i != lengths.size(); ++i) {
    // Every third sequence has padding between its tokens. If sequences in a
    // batch may depend on each other, each batch is a call.
    made.sequences.push_back(inputs.make(isBatched ? 1 : 1 + int64_t(i % 3),
                                         lengths[i], i % 3 == 2));
  }
  for (const BitsCall &call : made.sequences) {
    TRANSOM_ASSIGN(BitsResults results, made.runOne(call, {}));
    made.alone.push_back(std::move(results));
  }
  return Result<BitsEntry>(std::move(made));
}

Result<std::vector<BitsCell>> BitsEntry::run() {
  std::vector<BitsCell> cells;
  for (auto check : {&BitsEntry::checkRuns, &BitsEntry::checkThreads,
                     &BitsEntry::checkHosts, &BitsEntry::checkBatchSizes,
                     &BitsEntry::checkPositions, &BitsEntry::checkNeighbours,
                     &BitsEntry::checkPadding, &BitsEntry::checkMixture}) {
    TRANSOM_ASSIGN(BitsCell cell, (this->*check)());
    cells.push_back(std::move(cell));
  }
  return Result<std::vector<BitsCell>>(std::move(cells));
}

Result<void> BitsEntry::compareWith(const Model &other, BitsCell &cell,
                                    const std::string &how) const {
  const Entry *same = other.findEntry(of->manifest->name.c_str());
  if (!same)
    return rejected(how + " has no entry '" + of->manifest->name + "'");
  for (size_t i = 0; i != sequences.size(); ++i) {
    TRANSOM_ASSIGN(BitsResults found, runBits(other, *same, sequences[i], {}));
    cell.compare(*of, alone[i], found, 0,
                 getSequenceName(sequences[i]) + ", " + how);
  }
  return {};
}

/// Runs a batch with sequences `picks`, and compares each with its separate
/// run.
Result<void> BitsEntry::compareRows(BitsCell &cell,
                                    const std::vector<size_t> &picks,
                                    const BitsCall &call, const BitsWay &way,
                                    const std::string &how,
                                    bool zeroElsewhere) const {
  TRANSOM_ASSIGN(BitsResults found, runOne(call, way));
  for (size_t row = 0; row != picks.size(); ++row)
    if (picks[row] < alone.size())
      cell.compare(*of, alone[picks[row]], found, int64_t(row),
                   getSequenceName(sequences[picks[row]]) + " as number " +
                       std::to_string(row) + " of " +
                       std::to_string(picks.size()) + ", " + how,
                   zeroElsewhere);
  return {};
}

/// Returns all sequences as one batch if they can be padded, otherwise the
/// longest one.
Result<BitsCall> BitsEntry::makeLarge() const {
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 1);
  BitsInputs inputs = this->inputs(random);
  if (!inputs.whyNotBatched().empty() || !inputs.hasMask())
    return sequences.back();
  std::vector<const BitsCall *> all;
  for (const BitsCall &sequence : sequences)
    all.push_back(&sequence);
  all.resize(size_t(inputs.getLargestBatch(int64_t(all.size()))));
  return inputs.join(all, 0);
}

//===----------------------------------------------------------------------===//
// Runs and workers
//===----------------------------------------------------------------------===//

Result<BitsCell> BitsEntry::checkRuns() const {
  BitsCell cell = beginCell(
      "run", "the same calls again: three times in one session, and with "
             "memory and tensors that end at protected pages");
  for (size_t i = 0; i != sequences.size(); ++i)
    for (bool atEnd : {false, true}) {
      BitsWay way;
      way.atEnd = atEnd;
      way.times = 3;
      TRANSOM_ASSIGN(BitsResults found, runOne(sequences[i], way));
      cell.compare(*of, alone[i], found, 0,
                   getSequenceName(sequences[i]) + ", " + way.getName());
    }
  return cell;
}

Result<BitsCell> BitsEntry::checkThreads() const {
  BitsCell cell =
      beginCell("threads", "one batch of all sequences on 1 to " +
                               std::to_string(options.maxThreads) + " threads");
  TRANSOM_ASSIGN(BitsCall call, makeLarge());
  TRANSOM_ASSIGN(BitsResults one, runOne(call, {}));
  for (unsigned threads = 2; threads <= options.maxThreads; ++threads) {
    BitsWay way;
    way.threads = threads;
    TRANSOM_ASSIGN(BitsResults found, runOne(call, way));
    cell.compare(*of, one, found, 0, way.getName());
  }
  return cell;
}

Result<BitsCell> BitsEntry::checkHosts() const {
  BitsCell cell =
      beginCell("host threads",
                "the same batch by a function of the host, which takes the "
                "workers backwards on one thread, or a thread for each; each "
                "sequence by the first one");
  TRANSOM_ASSIGN(BitsCall call, makeLarge());
  TRANSOM_ASSIGN(BitsResults one, runOne(call, {}));
  // Calls with one sequence need fewer barriers.
  for (size_t i = 0; i != sequences.size(); ++i)
    for (unsigned threads : {2U, 3U, 4U}) {
      BitsWay way;
      way.threads = threads;
      way.host = BitsHost::Backwards;
      TRANSOM_ASSIGN(BitsResults found, runOne(sequences[i], way));
      cell.compare(*of, alone[i], found, 0,
                   getSequenceName(sequences[i]) + ", " + way.getName());
    }
  for (BitsHost host : {BitsHost::Backwards, BitsHost::Threads})
    for (unsigned threads : {1U, 2U, 3U, options.maxThreads}) {
      BitsWay way;
      way.threads = threads;
      way.host = host;
      TRANSOM_ASSIGN(BitsResults found, runOne(call, way));
      cell.compare(*of, one, found, 0, way.getName());
    }
  return cell;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// Marks a sequence that is not compared.
static constexpr size_t stranger = SIZE_MAX;

Result<BitsCell> BitsEntry::checkBatchSizes() const {
  BitsCell cell = beginCell("batch size", "each sequence first in batches of "
                                          "2, 3 and 5 of its length");
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 2);
  BitsInputs inputs = this->inputs(random);
  if (std::string why = inputs.whyNotBatched(); !why.empty()) {
    cell.setNotApplicable(std::move(why));
    return cell;
  }
  for (size_t i = 0; i != sequences.size(); ++i)
    for (size_t batch : {2, 3, 5}) {
      std::vector<BitsCall> others;
      for (size_t n = 1; n != batch; ++n)
        others.push_back(inputs.make(1, sequences[i][0].shape[1], false));
      std::vector<const BitsCall *> rows{&sequences[i]};
      for (const BitsCall &other : others)
        rows.push_back(&other);
      std::vector<size_t> picks(batch, stranger);
      picks[0] = i;
      TRANSOM_TRY(compareRows(cell, picks, inputs.join(rows, 0), {},
                              "one thread", false));
    }
  return cell;
}

Result<BitsCell> BitsEntry::checkPositions() const {
  BitsCell cell =
      beginCell("position", "each sequence at each place of a batch of 3");
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 3);
  BitsInputs inputs = this->inputs(random);
  if (std::string why = inputs.whyNotBatched(); !why.empty()) {
    cell.setNotApplicable(std::move(why));
    return cell;
  }
  for (size_t i = 0; i != sequences.size(); ++i) {
    const int64_t length = sequences[i][0].shape[1];
    const BitsCall other = inputs.make(1, length, false);
    const BitsCall another = inputs.make(1, length, false);
    for (size_t place = 0; place != 3; ++place) {
      std::vector<const BitsCall *> rows{&other, &another};
      rows.insert(rows.begin() + int64_t(place), &sequences[i]);
      std::vector<size_t> picks(3, stranger);
      picks[place] = i;
      TRANSOM_TRY(compareRows(cell, picks, inputs.join(rows, 0), {},
                              "one thread", false));
    }
  }
  return cell;
}

Result<BitsCell> BitsEntry::checkNeighbours() const {
  BitsCell cell = beginCell(
      "neighbours", "each sequence between others: two that are random, itself "
                    "twice, two of other lengths");
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 4);
  BitsInputs inputs = this->inputs(random);
  if (std::string why = inputs.whyNotBatched(); !why.empty()) {
    cell.setNotApplicable(std::move(why));
    return cell;
  }
  for (size_t i = 0; i != sequences.size(); ++i) {
    const BitsCall &own = sequences[i];
    const BitsCall other = inputs.make(1, own[0].shape[1], false);
    TRANSOM_TRY(compareRows(cell, {stranger, i, stranger},
                            inputs.join({&other, &own, &other}, 0), {},
                            "between random ones", false));
    TRANSOM_TRY(compareRows(cell, {i, i, i}, inputs.join({&own, &own, &own}, 0),
                            {}, "beside itself", false));
    // Without a mask all sequences in a batch have the same length.
    if (!inputs.hasMask())
      continue;
    const size_t before = (i + sequences.size() - 1) % sequences.size();
    const size_t after = (i + 1) % sequences.size();
    TRANSOM_TRY(compareRows(
        cell, {before, i, after},
        inputs.join({&sequences[before], &own, &sequences[after]}, 0), {},
        "between others", false));
  }
  return cell;
}

Result<BitsCell> BitsEntry::checkPadding() const {
  BitsCell cell =
      beginCell("padding", "each sequence alone with 1, 31 and 70 more "
                           "columns of random ids that the mask hides");
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 5);
  BitsInputs inputs = this->inputs(random);
  if (std::string why = inputs.whyNotBatched(); !why.empty()) {
    cell.setNotApplicable(std::move(why));
    return cell;
  }
  if (!inputs.hasMask()) {
    cell.setNotApplicable("no input is a mask: there is no padding");
    return cell;
  }
  for (size_t i = 0; i != sequences.size(); ++i)
    for (int64_t extra : {1, 31, 70})
      TRANSOM_TRY(compareRows(cell, {i}, inputs.join({&sequences[i]}, extra),
                              {}, std::to_string(extra) + " columns of padding",
                              of->isRagged() || of->isDerived()));
  return cell;
}

Result<BitsCell> BitsEntry::checkMixture() const {
  constexpr int rounds = 12;
  BitsCell cell = beginCell("all together",
                            std::to_string(rounds) +
                                " random batches with random padding, threads "
                                "or workers of a host, and memory");
  // Skip models whose sequences cannot share a batch.
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 6);
  BitsInputs inputs = this->inputs(random);
  if (std::string why = inputs.whyNotBatched(); !why.empty()) {
    cell.setNotApplicable(std::move(why));
    return cell;
  }
  if (!inputs.hasMask()) {
    cell.setNotApplicable("no input is a mask: all sequences are equally long");
    return cell;
  }
  // Randomize the batch, the padding, the threads and the memory layout.
  for (int round = 0; round != rounds; ++round) {
    std::vector<size_t> picks(1 + random() % largestBitsBatch);
    std::vector<const BitsCall *> rows;
    for (size_t &pick : picks) {
      pick = random() % sequences.size();
      rows.push_back(&sequences[pick]);
    }
    const BitsCall call = inputs.join(rows, int64_t(random() % 3) * 7);
    BitsWay way;
    way.threads = 1 + unsigned(random() % options.maxThreads);
    way.host = static_cast<BitsHost>(random() % 3);
    way.atEnd = random() % 2 == 0;
    TRANSOM_TRY(compareRows(cell, picks, call, way, way.getName(),
                            of->isRagged() || of->isDerived()));
  }
  return cell;
}
