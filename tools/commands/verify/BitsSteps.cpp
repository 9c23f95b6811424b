// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each axis reads the texts under a different condition. The last one varies
// them at random.
#include "tools/commands/verify/BitsSteps.h"
#include "runtime/base/File.h"
#include "tools/commands/verify/BitsReader.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

/// The axes with their descriptions.
static constexpr struct {
  const char *axis, *text;
} stepAxes[] = {
    {"chunking",
     "each text token by token, in chunks of 2, 7, 32 and of random "
     "lengths, and by runs of at most 1, 7 and 64 tokens"},
    {"neighbours in steps", "all texts together, prompts beside single tokens, "
                            "on 1 to 16 threads"},
    {"cache", "the past of a text saved and loaded, by the same and by another "
              "session"},
    {"rewinds", "each text read again from its middle and from its start, and "
                "after other tokens that were taken back"},
    {"copies", "a prefix that is read once and copied for two sequences, which "
               "go on with different tokens"},
    {"sources", "the sources of all texts encoded together, in batches of 1 to "
                "4, in reverse"},
    {"steps together", "random steps of 2 to 4 sequences: chunks, copies, "
                       "rewinds, files, threads or workers of a host, memory"},
};

static BitsCell beginStepCell(size_t axis) {
  BitsCell cell;
  cell.axis = stepAxes[axis].axis;
  cell.text = stepAxes[axis].text;
  return cell;
}

std::string StepWay::getName() const {
  return way.getName() + ", runs of at most " + std::to_string(maxTokens) +
         " tokens";
}

Result<std::unique_ptr<Session>>
BitsSteps::createSession(const StepWay &way) const {
  int64_t longest = 1, longestSource = 0;
  for (const BitsText &text : texts) {
    longest = std::max(longest, int64_t(text.tokens.size()));
    longestSource = std::max(longestSource, int64_t(text.ids.size()));
  }
  transom_session_options session = transom_session_options_default();
  session.max_batch = uint32_t(way.maxBatch);
  // A run holds the longest source.
  session.max_tokens = uint64_t(std::max(way.maxTokens, longestSource));
  session.max_sequences = uint32_t(way.maxSequences);
  // Reserve whole blocks for a prefix and its replacement.
  session.max_kv_tokens =
      uint64_t(way.maxSequences) * uint64_t(2 * longest + 256);
  TRANSOM_ASSIGN(SessionConfig config, SessionConfig::from(*model, &session));
  way.way.apply(config);
  return Session::create(*model, config);
}

/// Returns a text with random ids; its source has padding at random positions.
Result<BitsText> BitsSteps::makeText(int64_t length,
                                     std::mt19937 &random) const {
  TRANSOM_ASSIGN(auto session, createSession({}));
  const DecodeEngine &decoder = *session->decoder();
  BitsText text;
  length = std::min(length, decoder.context().value_or(length));
  for (int64_t i = 0; i != length; ++i)
    text.tokens.push_back(int64_t(random() % uint64_t(decoder.vocabulary())));
  if (!decoder.hasSources())
    return text;
  const int64_t columns = std::min(length, decoder.longestSource());
  const Entry *encoder =
      model->findEntry(model->manifest().decoder->encoder.c_str());
  int64_t bound = decoder.vocabulary();
  for (const Argument &input : encoder->inputs)
    if (input.role == Role::Ids)
      bound = input.bound.value_or(bound);
  const unsigned holes = random() % 2 ? 3 : 1000;
  for (int64_t i = 0; i != columns; ++i) {
    text.ids.push_back(int64_t(random() % uint64_t(bound)));
    text.mask.push_back(i == columns / 2 || random() % holes != 0);
  }
  return text;
}

/// Reads a text alone, in one step on one thread.
Result<void> BitsSteps::readWhole(BitsText &text) const {
  TRANSOM_ASSIGN(auto session, createSession({}));
  DecodeEngine &decoder = *session->decoder();
  TRANSOM_ASSIGN(auto readers, createReaders(decoder, {&text}));
  const auto count = int64_t(text.tokens.size());
  text.logits.assign(size_t(count * decoder.width()), -1);
  const StepInput input{readers[0].sequence, text.tokens.data(), count, count};
  return decoder.stepInto(&input, 1, text.logits.data());
}

Result<BitsSteps> BitsSteps::create(const Model &model,
                                    const BitsOptions &options,
                                    std::string folder) {
  BitsSteps made(model, options, std::move(folder));
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 7);
  for (int64_t length : options.lengths) {
    TRANSOM_ASSIGN(BitsText text, made.makeText(length, random));
    made.texts.push_back(std::move(text));
  }
  for (BitsText &text : made.texts)
    TRANSOM_TRY(made.readWhole(text));
  return Result<BitsSteps>(std::move(made));
}

std::vector<BitsCell> BitsSteps::getNotApplicable() {
  std::vector<BitsCell> cells;
  for (size_t i = 0; i != std::size(stepAxes); ++i) {
    cells.push_back(beginStepCell(i));
    cells.back().setNotApplicable(
        "the model has no cache: each call computes whole sequences");
  }
  return cells;
}

Result<std::vector<BitsCell>> BitsSteps::run() {
  std::vector<BitsCell> cells;
  for (auto check : {&BitsSteps::checkChunks, &BitsSteps::checkSteps,
                     &BitsSteps::checkCaches, &BitsSteps::checkRewinds,
                     &BitsSteps::checkCopies, &BitsSteps::checkSources,
                     &BitsSteps::checkMixture}) {
    TRANSOM_ASSIGN(BitsCell cell, (this->*check)());
    cells.push_back(std::move(cell));
  }
  return Result<std::vector<BitsCell>>(std::move(cells));
}

Result<BitsCell> BitsSteps::checkChunks() const {
  BitsCell cell = beginStepCell(0);
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 8);
  // One step with all tokens, which the session splits.
  for (int64_t maxTokens : {1, 7, 64}) {
    StepWay way;
    way.maxTokens = maxTokens;
    TRANSOM_ASSIGN(auto session, createSession(way));
    for (const BitsText &text : texts) {
      TRANSOM_ASSIGN(auto readers, createReaders(*session->decoder(), {&text}));
      const int64_t count = readers[0].getLeft();
      TRANSOM_TRY(readUpTo(*session->decoder(), readers[0], count, count, cell,
                           way.getName()));
      session->decoder()->free(readers[0].sequence);
    }
  }
  // Steps that the caller splits.
  TRANSOM_ASSIGN(auto session, createSession({}));
  DecodeEngine &decoder = *session->decoder();
  for (const BitsText &text : texts) {
    for (int64_t most : {1, 2, 7, 32}) {
      TRANSOM_ASSIGN(auto readers, createReaders(decoder, {&text}));
      TRANSOM_TRY(readUpTo(decoder, readers[0], readers[0].getLeft(), most,
                           cell, "chunks of " + std::to_string(most)));
      decoder.free(readers[0].sequence);
    }
    TRANSOM_ASSIGN(auto readers, createReaders(decoder, {&text}));
    while (readers[0].getLeft() > 0) {
      const int64_t count =
          std::min(readers[0].getLeft(), 1 + int64_t(random() % 60));
      TRANSOM_TRY(
          readStep(decoder, {{&readers[0], count, 1}}, cell, "random chunks"));
    }
    decoder.free(readers[0].sequence);
  }
  return cell;
}

Result<BitsCell> BitsSteps::checkSteps() const {
  BitsCell cell = beginStepCell(1);
  std::vector<const BitsText *> all;
  for (const BitsText &text : texts)
    all.push_back(&text);
  for (unsigned threads = 1; threads <= options.maxThreads; ++threads) {
    StepWay way;
    way.way.threads = threads;
    way.maxSequences = int64_t(all.size());
    TRANSOM_ASSIGN(auto session, createSession(way));
    DecodeEngine &decoder = *session->decoder();
    TRANSOM_ASSIGN(auto readers, createReaders(decoder, all));
    // The first steps have one token while the neighbor reads more.
    for (int64_t round = 0;; ++round) {
      std::vector<BitsStep> steps;
      for (size_t i = 0; i != readers.size(); ++i) {
        const int64_t most = (round + int64_t(i)) % 2 ? 40 : 1;
        if (const int64_t count = std::min(readers[i].getLeft(), most))
          steps.push_back({&readers[i], count, count});
      }
      if (steps.empty())
        break;
      TRANSOM_TRY(readStep(decoder, steps, cell, way.getName()));
    }
  }
  return cell;
}

Result<BitsCell> BitsSteps::checkCaches() const {
  BitsCell cell = beginStepCell(2);
  const std::string file = joinPath(folder, "sequence");
  StepWay way;
  way.way.threads = 3;
  TRANSOM_ASSIGN(auto session, createSession({}));
  // Save each text at two positions, and load it in both sessions.
  for (const BitsText &text : texts) {
    const auto length = int64_t(text.tokens.size());
    for (int64_t past : {length / 3, length - 1}) {
      if (past == 0)
        continue;
      TRANSOM_ASSIGN(auto readers, createReaders(*session->decoder(), {&text}));
      BitsReader &reader = readers[0];
      TRANSOM_TRY(readUpTo(*session->decoder(), reader, past, past, cell,
                           "before it is saved"));
      TRANSOM_TRY(moveToFile(*session->decoder(), reader.sequence, file));
      TRANSOM_ASSIGN(auto another, createSession(way));
      for (Session *to : {session.get(), another.get()}) {
        BitsReader loaded{&text, -1, past};
        TRANSOM_ASSIGN(loaded.sequence, to->decoder()->load(file.c_str()));
        TRANSOM_TRY(readUpTo(*to->decoder(), loaded, length, length, cell,
                             to == session.get() ? "past from a file"
                                                 : "past from a file, another "
                                                   "session"));
        to->decoder()->free(loaded.sequence);
      }
    }
  }
  return cell;
}

/// Reads a text up to `past`, rewinds to `to` and continues. A rewind may fail
/// if a window has dropped earlier positions.
static Result<void> readAgain(DecodeEngine &decoder, const BitsText &text,
                              int64_t past, int64_t to, BitsCell &cell) {
  TRANSOM_ASSIGN(auto readers, createReaders(decoder, {&text}));
  BitsReader &reader = readers[0];
  TRANSOM_TRY(readUpTo(decoder, reader, past, past, cell, "before the rewind"));
  Result<void> done = decoder.rewind(reader.sequence, to);
  if (done) {
    reader.at = to;
    const auto length = int64_t(text.tokens.size());
    TRANSOM_TRY(readUpTo(decoder, reader, length, length, cell,
                         "after a rewind from " + std::to_string(past)));
  } else if (done.error().status != Status::Limit) {
    return done;
  }
  decoder.free(reader.sequence);
  return {};
}

Result<BitsCell> BitsSteps::checkRewinds() const {
  BitsCell cell = beginStepCell(3);
  StepWay way;
  way.maxSequences = 2;
  TRANSOM_ASSIGN(auto session, createSession(way));
  DecodeEngine &decoder = *session->decoder();
  for (const BitsText &text : texts) {
    const auto length = int64_t(text.tokens.size());
    TRANSOM_TRY(readAgain(decoder, text, length, length / 2, cell));
    TRANSOM_TRY(readAgain(decoder, text, length, 0, cell));
    // Read wrong tokens from the longest text, and rewind over them.
    const int64_t past = length / 2;
    const BitsText &other = texts.back();
    const int64_t taken =
        std::min<int64_t>({int64_t(other.tokens.size()), 9,
                           decoder.context().value_or(INT64_MAX) - past});
    TRANSOM_ASSIGN(auto readers, createReaders(decoder, {&text}));
    BitsReader &reader = readers[0];
    TRANSOM_TRY(readUpTo(decoder, reader, past, length, cell, "before them"));
    const StepInput wrong{reader.sequence, other.tokens.data(), taken, 0};
    TRANSOM_TRY(decoder.stepInto(&wrong, 1, nullptr));
    TRANSOM_TRY(decoder.rewind(reader.sequence, past));
    TRANSOM_TRY(readUpTo(decoder, reader, length, length, cell,
                         "after other tokens that were taken back"));
    decoder.free(reader.sequence);
  }
  return cell;
}

Result<BitsCell> BitsSteps::checkCopies() const {
  BitsCell cell = beginStepCell(4);
  StepWay way;
  way.maxSequences = 2;
  for (const BitsText &text : texts) {
    const auto length = int64_t(text.tokens.size());
    const int64_t past = length / 2;
    if (past == 0)
      continue;
    // Create a text with the same prefix: reverse the other tokens.
    BitsText other = text;
    std::reverse(other.tokens.begin() + past, other.tokens.end());
    TRANSOM_TRY(readWhole(other));
    TRANSOM_ASSIGN(auto session, createSession(way));
    DecodeEngine &decoder = *session->decoder();
    TRANSOM_ASSIGN(auto readers, createReaders(decoder, {&text}));
    BitsReader &original = readers[0];
    TRANSOM_TRY(
        readUpTo(decoder, original, past, past, cell, "before the copy"));
    BitsReader copy{&other, -1, past};
    TRANSOM_ASSIGN(copy.sequence, decoder.copy(original.sequence));
    // Alternate, so that both write to shared blocks.
    while (original.getLeft() > 0 || copy.getLeft() > 0)
      for (BitsReader *reader : {&copy, &original})
        TRANSOM_TRY(readUpTo(
            decoder, *reader,
            std::min(length, reader->at + 1 + int64_t(reader == &copy) * 4), 5,
            cell, reader == &copy ? "in the copy" : "beside a copy"));
  }
  return cell;
}

Result<BitsCell> BitsSteps::checkSources() const {
  BitsCell cell = beginStepCell(5);
  if (texts[0].ids.empty()) {
    cell.setNotApplicable("the model has no encoder");
    return cell;
  }
  std::vector<const BitsText *> all;
  for (const BitsText &text : texts)
    all.push_back(&text);
  for (int64_t batch = 1; batch != 5; ++batch) {
    std::reverse(all.begin(), all.end());
    StepWay way;
    way.maxBatch = batch;
    way.maxSequences = int64_t(all.size());
    way.way.threads = unsigned(batch);
    TRANSOM_ASSIGN(auto session, createSession(way));
    TRANSOM_ASSIGN(auto readers, createReaders(*session->decoder(), all));
    for (BitsReader &reader : readers)
      TRANSOM_TRY(readUpTo(*session->decoder(), reader, reader.getLeft(),
                           reader.getLeft(), cell,
                           "sources in batches of " + std::to_string(batch)));
  }
  return cell;
}

Result<BitsCell> BitsSteps::checkMixture() const {
  BitsCell cell = beginStepCell(6);
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 9);
  for (unsigned round = 0; round != 6; ++round) {
    const int64_t sizes[] = {1, 7, 64, 300, 1024};
    StepWay way;
    way.way.threads = 1 + unsigned(random() % options.maxThreads);
    way.way.host = static_cast<BitsHost>(random() % 3);
    way.way.atEnd = random() % 2 == 0;
    way.maxTokens = sizes[random() % 5];
    way.maxBatch = 1 + int64_t(round % 4);
    way.maxSequences = 2 + int64_t(round % 3);
    TRANSOM_ASSIGN(auto session, createSession(way));
    RandomReading reading(*session->decoder(), texts,
                          joinPath(folder, "sequence"), random);
    TRANSOM_TRY(reading.run(40, cell, way.getName()));
  }
  return cell;
}
