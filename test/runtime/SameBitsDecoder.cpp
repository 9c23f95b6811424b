// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs compiled decoders in every way that must not change their logits, and
// compares bits with whole texts in one step: tokens one by one and in random
// chunks, neighbors, copies, rewinding, files, thread counts, hosts, any step
// size, instruction sets; the arena begins or ends at a protected page.
// Encoder-decoder texts have sources, which are encoded alone and in any batch.
// A prompt's beams must equal its beams alone. Usage: same-bits-decoder FILE
// MODEL..., artifacts for one model, which must also agree; FILE is written for
// sequences.
#include "runtime/abi/RowSummary.h"
#include "runtime/execute/Cpu.h"
#include "runtime/session/Generate.h"
#include "runtime/session/Session.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

using namespace transom;

namespace {

[[noreturn]] void fail(const std::string &text) {
  std::fprintf(stderr, "same-bits-decoder: %s\n", text.c_str());
  std::exit(1);
}

template <typename T> T need(Result<T> result) {
  if (!result)
    fail(result.error().message);
  return std::move(*result);
}

void need(Result<void> result) {
  if (!result)
    fail(result.error().message);
}

/// The host threads: one, which takes the last share first.
void backwards(void *, size_t count, transom_task task, void *arg) {
  while (count--)
    task(arg, count);
}

/// A text and the logits for all its tokens, with their summary if the model
/// makes one; for an encoder-decoder, with its source.
struct Text {
  std::vector<int64_t> ids, mask;
  std::vector<int64_t> tokens;
  std::vector<float> logits, maxima, sums;
};

/// Session parameters.
struct Way {
  unsigned threads = 1;
  bool host = false, atEnd = false;
  int64_t maxTokens = 1024, maxBatch = 1;
  std::string name() const {
    return std::to_string(threads) + " threads" + (host ? " of a host" : "") +
           (atEnd ? ", at the end" : "") + ", walks of " +
           std::to_string(maxTokens) + " rows";
  }
};

constexpr int64_t longestSource = 300;

std::unique_ptr<Session> makeSession(const Model &model, const Way &way,
                                     int64_t sequences, int64_t positions) {
  SessionConfig config;
  config.threads = way.threads;
  config.arenaAtEnd = way.atEnd;
  config.maxTokens = way.maxTokens;
  config.maxBatch = way.maxBatch;
  // A run holds the longest source.
  if (model.findEntry(EntryKind::Source))
    config.maxTokens = std::max(config.maxTokens, longestSource);
  config.maxSequences = sequences;
  config.maxKvTokens = sequences * positions;
  if (way.host)
    config.parallel = backwards;
  return need(Session::create(model, config));
}

/// A source for a text, with padding anywhere.
void addSource(const DecodeEngine &decoder, Text &text, std::mt19937 &random) {
  const int64_t longest = std::min(decoder.longestSource(), longestSource);
  const int64_t lengths[] = {1, 2, 31, 33, 64, longest};
  const int64_t columns = std::min(
      longest, random() % 2 ? lengths[random() % 6]
                            : 1 + int64_t(random() % uint64_t(longest)));
  const unsigned holes = random() % 2 ? 3 : 1000;
  for (int64_t i = 0; i != columns; ++i) {
    text.ids.push_back(int64_t(random() % uint64_t(decoder.vocabulary())));
    text.mask.push_back(i == columns / 2 || random() % holes != 0);
  }
}

/// Creates the sequences for texts.
std::vector<int32_t> open(DecodeEngine &decoder,
                          const std::vector<const Text *> &texts) {
  std::vector<int32_t> sequences(texts.size());
  std::vector<SourceInput> sources;
  for (size_t i = 0; i != texts.size(); ++i)
    if (decoder.hasSources())
      sources.push_back({texts[i]->ids.data(), texts[i]->mask.data(),
                         int64_t(texts[i]->ids.size())});
    else
      sequences[i] = need(decoder.create());
  if (decoder.hasSources())
    need(decoder.addSources(sources.data(), sources.size(), sequences.data()));
  return sequences;
}

/// Lengths near panel and block boundaries, and some at random.
std::vector<Text> randomTexts(const DecodeEngine &decoder,
                              std::mt19937 &random) {
  std::vector<Text> texts;
  int64_t longest = std::min<int64_t>(decoder.context().value_or(700), 700);
  auto add = [&](int64_t length) {
    Text &text = texts.emplace_back();
    for (int64_t i = 0; i != std::min(length, longest); ++i)
      text.tokens.push_back(int64_t(random() % uint64_t(decoder.vocabulary())));
    if (decoder.hasSources())
      addSource(decoder, text, random);
  };
  for (int64_t length : {1, 2, 31, 33, 255, 257, 513, 700})
    if (length <= longest)
      add(length);
  for (int i = 0; i != 3; ++i)
    add(1 + int64_t(random() % uint64_t(longest)));
  return texts;
}

/// Appends summary rows.
void append(std::vector<float> &all, const float *rows, int64_t count,
            int64_t width) {
  if (rows)
    all.insert(all.end(), rows, rows + count * getNumSummaryGroups(width));
}

/// Logits for whole texts, one alone at a time. A summarizing step holds few
/// logits, so they are requested token by token.
void runWhole(const Model &model, std::vector<Text> &texts) {
  auto session = makeSession(model, Way(), 1, 700);
  DecodeEngine &decoder = *session->decoder();
  for (Text &text : texts) {
    int32_t sequence = open(decoder, {&text})[0];
    int64_t count = int64_t(text.tokens.size());
    text.logits.assign(size_t(count * decoder.width()), -1);
    StepInput rows{sequence, text.tokens.data(), count, count};
    need(decoder.stepInto(&rows, 1, text.logits.data()));
    for (float logit : text.logits)
      if (!(logit - logit == 0))
        fail("a logit is no number");
    need(decoder.rewind(sequence, 0));
    for (const int64_t &token : text.tokens) {
      const StepInput one{sequence, &token, 1, 1};
      StepLogits out = need(decoder.step(&one, 1, LogitSummary::MaximaAndSums));
      append(text.maxima, out.maxima, 1, decoder.width());
      append(text.sums, out.sums, 1, decoder.width());
    }
    decoder.free(sequence);
  }
}

/// A text's progress through a session.
struct Reader {
  const Text *text = nullptr;
  int32_t sequence = -1;
  int64_t at = 0;
  int64_t left() const { return int64_t(text->tokens.size()) - at; }
};

/// Sequences that read texts in random steps.
class RandomReaders {
public:
  RandomReaders(const Model &model, const Way &way, const std::string &file,
                const std::vector<Text> &texts, std::mt19937 &random)
      : way(way), file(file), texts(texts), random(random),
        session(makeSession(model, way, 1 + random() % 6, 768)),
        decoder(*session->decoder()), isa(model.isa().name) {}

  void run(int64_t steps) {
    const int64_t sourcePositions = decoder.freeSourcePositions();
    readers.resize(size_t(decoder.maxSequences()));
    beginAll();
    for (int64_t i = 0; i != steps; ++i) {
      for (Reader &reader : readers)
        change(reader);
      step();
    }
    for (Reader &reader : readers)
      decoder.free(reader.sequence);
    if (decoder.freePositions() != decoder.allPositions() ||
        decoder.freeSourcePositions() != sourcePositions)
      fail("blocks are lost with " + way.name());
    if (compared == 0)
      fail("nothing was compared with " + way.name());
  }

private:
  bool oneIn(unsigned count) { return random() % count == 0; }

  void begin(Reader &reader) {
    reader.text = &texts[random() % texts.size()];
    reader.at = 0;
    reader.sequence = open(decoder, {reader.text})[0];
  }
  /// Begins all texts in one call.
  void beginAll() {
    std::vector<const Text *> chosen;
    for (Reader &reader : readers)
      chosen.push_back(reader.text = &texts[random() % texts.size()]);
    const std::vector<int32_t> sequences = open(decoder, chosen);
    for (size_t i = 0; i != readers.size(); ++i)
      readers[i].sequence = sequences[i];
  }

  /// Ends, rewinds or copies a sequence.
  void change(Reader &reader) {
    if (reader.left() == 0 || oneIn(40)) {
      decoder.free(reader.sequence);
      Reader &other = readers[random() % readers.size()];
      if (&other == &reader || oneIn(2))
        return begin(reader);
      reader = other; // a copy continues next to its original
      reader.sequence = need(decoder.copy(other.sequence));
    }
    if (reader.at && oneIn(12)) {
      int64_t length = int64_t(random() % uint64_t(reader.at));
      if (decoder.rewind(reader.sequence,
                         length)) // else a window is in the way
        reader.at = length;
    }
    if (oneIn(60)) {
      need(decoder.save(reader.sequence, file.c_str()));
      decoder.free(reader.sequence);
      reader.sequence = need(decoder.load(file.c_str()));
    }
  }

  /// New tokens for some sequences.
  void step() {
    std::vector<StepInput> rows;
    std::vector<Reader *> of;
    int64_t numLogits = 0;
    // A random subset reads random chunks and requests all, one or no logits.
    for (Reader &reader : readers) {
      if (reader.left() == 0 || oneIn(4))
        continue;
      uint64_t most = oneIn(2) ? 1 : oneIn(2) ? 9 : 400;
      int64_t count = std::min(reader.left(), 1 + int64_t(random() % most));
      int64_t asked = oneIn(4) ? count : int64_t(count == 1 || oneIn(2));
      rows.push_back({reader.sequence, &reader.text->tokens[size_t(reader.at)],
                      count, asked});
      of.push_back(&reader);
      numLogits += asked;
    }
    if (rows.empty())
      return;
    // Run the step with or without a summary.
    std::vector<float> logits(size_t(numLogits * decoder.width()), -1);
    StepLogits given{logits.data()};
    if (numLogits <= decoder.maxLogits() && oneIn(2))
      given = need(decoder.step(rows.data(), rows.size(),
                                oneIn(2) ? LogitSummary::Maxima
                                         : LogitSummary::MaximaAndSums));
    else
      need(decoder.stepInto(rows.data(), rows.size(), logits.data()));
    const int64_t groups = getNumSummaryGroups(decoder.width());
    // Compare each row with its text, and advance the readers.
    int64_t first = 0;
    for (size_t i = 0; i != rows.size(); ++i) {
      const int64_t count = rows[i].num_logits;
      const int64_t at = of[i]->at + rows[i].num_tokens - count;
      const Text &text = *of[i]->text;
      compare(*of[i], rows[i], given.logits + first * decoder.width());
      compareSummary(given.maxima, first, text.maxima, at, count * groups);
      compareSummary(given.sums, first, text.sums, at, count * groups);
      first += count;
      of[i]->at += rows[i].num_tokens;
    }
  }

  /// Compares `count` values in summary rows from `first` on with tokens from
  /// `at` on.
  void compareSummary(const float *given, int64_t first,
                      const std::vector<float> &expected, int64_t at,
                      int64_t count) {
    const int64_t groups = getNumSummaryGroups(decoder.width());
    if (given &&
        std::memcmp(given + first * groups, expected.data() + at * groups,
                    size_t(count) * sizeof(float)))
      fail("the summary of tokens from " + std::to_string(at) +
           " on differs from that of the whole text with " + way.name() +
           " on " + isa);
  }

  void compare(const Reader &reader, const StepInput &rows,
               const float *given) {
    compared += rows.num_logits;
    int64_t first = reader.at + rows.num_tokens - rows.num_logits;
    const float *expected = &reader.text->logits[0] + first * decoder.width();
    if (std::memcmp(given, expected,
                    size_t(rows.num_logits * decoder.width()) * sizeof(float)))
      fail("logits of tokens " + std::to_string(first) + " to " +
           std::to_string(reader.at + rows.num_tokens - 1) + ", " +
           std::to_string(rows.num_tokens) + " new ones after " +
           std::to_string(reader.at) +
           ", differ from those of the whole text " + "with " + way.name() +
           " on " + isa);
  }

  const Way way;
  const std::string file;
  const std::vector<Text> &texts;
  std::mt19937 &random;
  std::unique_ptr<Session> session;
  DecodeEngine &decoder;
  std::string isa;
  std::vector<Reader> readers;
  int64_t compared = 0;
};

//===----------------------------------------------------------------------===//
// Beams
//===----------------------------------------------------------------------===//

/// Beam results for prompts, in a session with this number of sequences.
std::vector<Continuation> runBeams(const Model &model, const Way &way,
                                   int64_t sequences,
                                   const GenerationPrompts &prompts) {
  auto session = makeSession(model, way, sequences, 768);
  DecoderSource source = need(DecoderSource::create(*session));
  GenerationConfig config;
  config.numBeams = config.numReturnSequences = 3;
  config.maxNewTokens = 12;
  config.noRepeatNgramSize = 3;
  config.decoderStart = 1;
  config.endTokens = {2, 5, 11};
  need(config.resolve());
  std::vector<Continuation> rows;
  need(generate(source, config, nullptr, prompts, nullptr, rows));
  return rows;
}

/// Beams for some texts, in any order and batch, against each text's beams
/// alone.
void checkBeams(const Model &model, const std::vector<Text> &texts) {
  GenerationPrompts all;
  // Prompts with at most 100 tokens; the first one is never masked.
  for (const Text &text : texts) {
    const bool hasSources = !text.ids.empty();
    all.ids.push_back(hasSources ? text.ids : text.tokens);
    all.ids.back().resize(std::min<size_t>(all.ids.back().size(), 100));
    if (!hasSources)
      continue;
    all.masks.push_back(text.mask);
    all.masks.back().resize(all.ids.back().size());
    all.masks.back()[0] = 1;
  }
  auto getSome = [&](const std::vector<size_t> &order) {
    GenerationPrompts some;
    for (size_t i : order) {
      some.ids.push_back(all.ids[i]);
      if (!all.masks.empty())
        some.masks.push_back(all.masks[i]);
    }
    return some;
  };
  // Each prompt alone is the reference.
  std::vector<std::vector<Continuation>> alone;
  for (size_t i = 0; i != texts.size(); ++i)
    alone.push_back(runBeams(model, Way(), 3, getSome({i})));
  std::mt19937 random(5);
  std::vector<size_t> order;
  for (size_t i = 0; i != texts.size(); ++i)
    order.push_back(i);
  // Shuffled batches on different threads, hosts and budgets.
  for (unsigned threads = 1; threads != 9; ++threads) {
    std::shuffle(order.begin(), order.end(), random);
    const Way way{threads, threads % 4 == 3, threads % 2 == 0, 300,
                  1 + int64_t(threads % 3)};
    const auto rows =
        runBeams(model, way, 3 * (1 + int64_t(random() % 5)), getSome(order));
    for (size_t i = 0; i != rows.size(); ++i) {
      const Continuation &expected = alone[order[i / 3]][i % 3];
      if (rows[i].tokens != expected.tokens || rows[i].score != expected.score)
        fail("beam " + std::to_string(i % 3) + " of prompt " +
             std::to_string(order[i / 3]) +
             " differs from the one alone with " + way.name() + " on " +
             model.isa().name);
    }
  }
}

/// `expected`: the texts for the first artifact or instruction set with the
/// same results.
void check(const Model &model, const std::string &file,
           std::vector<Text> &expected) {
  std::mt19937 random(31);
  std::vector<Text> texts =
      randomTexts(*makeSession(model, Way(), 1, 1)->decoder(), random);
  runWhole(model, texts);
  if (expected.empty())
    expected = texts;
  for (size_t i = 0; i != texts.size(); ++i)
    if (texts[i].logits != expected[i].logits ||
        texts[i].maxima != expected[i].maxima ||
        texts[i].sums != expected[i].sums)
      fail("a text of " + std::to_string(texts[i].tokens.size()) +
           " tokens on " + model.isa().name +
           " differs from what was run first");
  for (unsigned round = 0; round != 8; ++round) {
    const int64_t sizes[] = {1, 7, 64, 300, 1024};
    Way way{1 + round, random() % 3 == 0, random() % 2 == 0,
            sizes[random() % 5], 1 + int64_t(round % 4)};
    RandomReaders(model, way, file, texts, random).run(50);
  }
  checkBeams(model, texts);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    fail("usage: same-bits-decoder FILE MODEL...");
  // In f32 all instruction sets agree; some have their own bf16 multiplication.
  std::map<std::string, std::vector<Text>> expected;
  for (int i = 2; i != argc; ++i) {
    Manifest manifest = need(ArtifactFile::open(argv[i])).manifest();
    if (!manifest.decoder)
      fail(std::string(argv[i]) + " is not a decoder");
    std::string types = manifest.dtype;
    for (const ManifestCache &cache : manifest.decoder->caches)
      types += std::string(" ") + std::string(dtypeName(cache.dtype));
    bool exact = types.find("bf16") == std::string::npos;
    for (const std::string &isa : manifest.isas) {
      if (!chooseIsa(manifest.isas, isa, argv[i])) {
        std::printf("skipped: this CPU lacks %s\n", isa.c_str());
        continue;
      }
      auto model = need(Model::load(argv[i], {isa}));
      check(*model, argv[1], expected[exact ? types : types + " " + isa]);
    }
    std::printf("%s: the same bits in all ways\n", argv[i]);
  }
  return 0;
}
