// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compared steps, and random ones.
#include "tools/commands/verify/BitsReader.h"
#include <algorithm>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

Result<std::vector<BitsReader>>
tools::createReaders(DecodeEngine &decoder,
                     const std::vector<const BitsText *> &texts) {
  std::vector<int32_t> sequences(texts.size());
  std::vector<SourceInput> sources;
  for (size_t i = 0; i != texts.size(); ++i) {
    if (decoder.hasSources()) {
      sources.push_back({texts[i]->ids.data(), texts[i]->mask.data(),
                         int64_t(texts[i]->ids.size())});
    } else {
      TRANSOM_ASSIGN(sequences[i], decoder.create());
    }
  }
  if (decoder.hasSources())
    TRANSOM_TRY(
        decoder.addSources(sources.data(), sources.size(), sequences.data()));
  std::vector<BitsReader> readers;
  for (size_t i = 0; i != texts.size(); ++i)
    readers.push_back({texts[i], sequences[i], 0});
  return Result<std::vector<BitsReader>>(std::move(readers));
}

Result<void> tools::moveToFile(DecodeEngine &decoder, int32_t sequence,
                               const std::string &file) {
  unlink(file.c_str());
  TRANSOM_TRY(decoder.save(sequence, file.c_str()));
  decoder.free(sequence);
  return {};
}

Result<void> tools::readStep(DecodeEngine &decoder,
                             const std::vector<BitsStep> &steps, BitsCell &cell,
                             const std::string &how) {
  // Run all sequences in one step.
  std::vector<StepInput> inputs;
  int64_t numLogits = 0;
  for (const BitsStep &step : steps) {
    const BitsReader &reader = *step.reader;
    inputs.push_back({reader.sequence, &reader.text->tokens[size_t(reader.at)],
                      step.numTokens, step.numLogits});
    numLogits += step.numLogits;
  }
  std::vector<float> logits(size_t(numLogits * decoder.width()), -1);
  TRANSOM_TRY(decoder.stepInto(inputs.data(), inputs.size(), logits.data()));
  // Compare each sequence's logits with the reference.
  const float *found = logits.data();
  for (const BitsStep &step : steps) {
    BitsReader &reader = *step.reader;
    const int64_t past = reader.at;
    reader.at += step.numTokens;
    if (step.numLogits == 0)
      continue;
    const int64_t first = reader.at - step.numLogits;
    cell.compare(reader.text->logits.data() + first * decoder.width(), found,
                 step.numLogits * decoder.width(),
                 "the logits of the tokens from " + std::to_string(first) +
                     " on",
                 std::to_string(step.numTokens) + " tokens after " +
                     std::to_string(past) + " of a text of " +
                     std::to_string(reader.text->tokens.size()) +
                     (steps.size() == 1
                          ? ""
                          : ", beside " + std::to_string(steps.size() - 1) +
                                " other sequences") +
                     ", " + how);
    found += step.numLogits * decoder.width();
  }
  return {};
}

Result<void> tools::readUpTo(DecodeEngine &decoder, BitsReader &reader,
                             int64_t end, int64_t most, BitsCell &cell,
                             const std::string &how) {
  while (reader.at < end) {
    const int64_t count = std::min(most, end - reader.at);
    TRANSOM_TRY(readStep(decoder, {{&reader, count, count}}, cell, how));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Random steps
//===----------------------------------------------------------------------===//

Result<void> RandomReading::restart(BitsReader &reader) {
  TRANSOM_ASSIGN(std::vector<BitsReader> made,
                 createReaders(decoder, {&texts[random() % texts.size()]}));
  reader = made[0];
  return {};
}

/// Restarts, copies, rewinds or reloads a sequence at random.
Result<void> RandomReading::change(BitsReader &reader) {
  if (reader.getLeft() == 0 || isOneIn(40)) {
    decoder.free(reader.sequence);
    const BitsReader &other = readers[random() % readers.size()];
    if (&other == &reader || isOneIn(2))
      return restart(reader);
    reader = other; // the copy continues next to its original
    TRANSOM_ASSIGN(reader.sequence, decoder.copy(other.sequence));
  }
  if (reader.at && isOneIn(12)) {
    const auto length = int64_t(random() % uint64_t(reader.at));
    if (decoder.rewind(reader.sequence,
                       length)) // fails if a window is in the way
      reader.at = length;
  }
  if (isOneIn(60)) {
    TRANSOM_TRY(moveToFile(decoder, reader.sequence, file));
    TRANSOM_ASSIGN(reader.sequence, decoder.load(file.c_str()));
  }
  return {};
}

/// Appends tokens to some of the sequences.
Result<void> RandomReading::step(BitsCell &cell, const std::string &how) {
  std::vector<BitsStep> steps;
  for (BitsReader &reader : readers) {
    if (reader.getLeft() == 0 || isOneIn(4))
      continue;
    const uint64_t most = isOneIn(2) ? 1 : isOneIn(2) ? 9 : 400;
    const int64_t count =
        std::min(reader.getLeft(), 1 + int64_t(random() % most));
    steps.push_back({&reader, count,
                     isOneIn(4) ? count : int64_t(count == 1 || isOneIn(2))});
  }
  return steps.empty() ? Result<void>() : readStep(decoder, steps, cell, how);
}

Result<void> RandomReading::run(int64_t steps, BitsCell &cell,
                                const std::string &how) {
  std::vector<const BitsText *> chosen;
  for (int64_t i = 0; i != decoder.maxSequences(); ++i)
    chosen.push_back(&texts[random() % texts.size()]);
  TRANSOM_ASSIGN(readers, createReaders(decoder, chosen));
  for (int64_t i = 0; i != steps; ++i) {
    for (BitsReader &reader : readers)
      TRANSOM_TRY(change(reader));
    TRANSOM_TRY(step(cell, how));
  }
  for (BitsReader &reader : readers)
    decoder.free(reader.sequence);
  return {};
}
