// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom translate and transom summarize: print one output line for each input
// line, in the same order.
#include "runtime/json/Json.h"
#include "tools/commands/attention/WordAligner.h"
#include "tools/commands/generate/TranslationSession.h"
#include "tools/commands/text/Texts.h"
#include <algorithm>
#include <cmath>

using namespace transom;
using namespace transom::tools;

namespace {

/// Max lines that are read together and sorted by length.
constexpr size_t window = 1024;

struct TranslateFlags {
  std::string model;
  TextInput input;
  Languages languages;
  std::string prefix, prefixFile;
  size_t batch = 0; ///< from `--batch-size`
  bool scores = false, truncate = false;
  AlignmentFlags alignment;
  GenerationFlags generation;
};

/// An input line and its result. It has no ids if it is blank or invalid.
struct Line : TranslationSource {
  std::string text;
  std::vector<transom_token> tokens; ///< tokens for `ids`, if words are aligned
  size_t alignment = 0;              ///< index of its first result's alignment
  std::optional<Error> error;        ///< reason why it has no result
  /// Its results and its prompt index in them; NULL: it has none.
  const transom_generation *results = nullptr;
  size_t prompt = 0;
  bool done = false; ///< counted by the progress
};

/// Translates lines with one model, a window at a time.
class Translator {
public:
  Translator(const TranslateFlags &flags, const CommonFlags &common,
             TextModel model, TranslationTarget target, int64_t maximum)
      : flags(flags), common(common), model(std::move(model)),
        target(std::move(target)), maximum(maximum),
        session(this->model.model.get(), this->target,
                {common.threads, flags.batch, maximum}) {}
  Translator(const Translator &) = delete;
  Translator &operator=(const Translator &) = delete;

  /// Opens the prefix file and the word aligner.
  Result<void> open();
  /// Translates the lines in a window and prints the results for each.
  Result<void> run(std::vector<std::string> texts, TextProgress &progress);
  /// Prints notes and returns the error about lines without a result, after the
  /// last window.
  Result<void> finish();

private:
  Result<void> prepareLine(Line &line);
  Result<void> setTarget(Line &line, const std::string &prefix);
  Result<void> generate(const std::vector<Line *> &sources,
                        TextProgress &progress);
  Result<void> generateHalves(const std::vector<Line *> &sources,
                              TextProgress &progress);
  void fail(Line &line, Error error);
  Result<void> printLine(const Line &line);
  Result<void> print(const Line &line, const transom_continuation *continuation,
                     const std::optional<Alignment> &alignment);
  Result<void> printText(const std::string &text, double score,
                         const std::optional<Alignment> &alignment) const;
  Result<transom_continuation> getResult(const Line &line, size_t number) const;
  Result<void> align(const std::vector<Line *> &sources);
  std::optional<Alignment> takeAlignment(const Line &line, size_t number);

  const TranslateFlags &flags;
  const CommonFlags &common;
  TextModel model;
  TranslationTarget target;
  int64_t maximum; ///< max source tokens; 0: no limit
  LinePartner prefixes;
  std::optional<WordAligner> aligner;
  std::vector<AlignmentTask> alignments; ///< in the window
  TranslationSession session;
  std::vector<GenerationPtr> generations; ///< in the window
  size_t done = 0;                        ///< lines in previous windows
  const Line *first = nullptr;            ///< first line in the window
  size_t failed = 0, cut = 0; ///< lines without a result, truncated lines
};

} // namespace

/// Returns true for errors that concern a single line. All others end the
/// command.
static bool isOfLine(const Error &error) {
  return error.status == Status::Rejected || error.status == Status::Limit;
}

/// Reports a line that has no result.
void Translator::fail(Line &line, Error error) {
  ++failed;
  const size_t index = done + size_t(&line - first);
  say("error: " + inText(flags.input, index, error).message);
  line.error = std::move(error);
}

/// Sets the prefix of a line's translation.
Result<void> Translator::setTarget(Line &line, const std::string &prefix) {
  Result<std::vector<int64_t>> begin =
      target.getPrefix(model.model.get(), prefix);
  if (!begin)
    return begin.takeError();
  line.target = std::move(*begin);
  return {};
}

/// Sets a line's tokens, or its error if only this line is invalid.
Result<void> Translator::prepareLine(Line &line) {
  std::string prefix = flags.prefix;
  if (!flags.prefixFile.empty()) {
    TRANSOM_ASSIGN(prefix, prefixes.next());
  }
  if (isBlank(line.text))
    return {};
  transom_tokenize_options how = flags.languages.getOptions(false);
  how.no_truncation = !flags.truncate;
  uint32_t truncated = 0;
  Result<std::vector<transom_token>> tokens = tokenizeText(
      model.model.get(), {line.text, std::nullopt}, how, truncated);
  Result<void> ready;
  if (!tokens)
    ready = tokens.takeError();
  else if (tokens->empty())
    ready = rejected("the text has no tokens");
  else if (maximum && int64_t(tokens->size()) > maximum)
    ready = rejected("the text has " + std::to_string(tokens->size()) +
                     " tokens, more than the model's maximum of " +
                     std::to_string(maximum) + "; '--truncate' cuts it");
  else
    ready = setTarget(line, prefix);
  if (!ready && !isOfLine(ready.error()))
    return ready;
  if (!ready) {
    fail(line, ready.takeError());
    return {};
  }
  cut += truncated;
  line.ids = getIds(*tokens);
  if (aligner)
    line.tokens = std::move(*tokens);
  return {};
}

/// Counts a finished line, once.
static void tellDone(Line &line, TextProgress &progress) {
  if (!std::exchange(line.done, true))
    progress.add(1);
}

/// Generates results for lines. A line that is invalid by itself gets an error.
Result<void> Translator::generate(const std::vector<Line *> &sources,
                                  TextProgress &progress) {
  if (sources.empty())
    return {};
  Result<GenerationPtr> made =
      session.generate({sources.begin(), sources.end()},
                       [&](size_t i) { tellDone(*sources[i], progress); });
  if (made) {
    for (size_t i = 0; i != sources.size(); ++i) {
      sources[i]->results = made->get();
      sources[i]->prompt = i;
    }
    generations.push_back(std::move(*made));
    return {};
  }
  std::optional<NumberedError> one = findNumber(made.error(), "prompt");
  if (!one || !isOfLine(made.error()))
    return made.takeError();
  if (sources.size() > 1)
    return generateHalves(sources, progress);
  fail(*sources[0], std::move(one->error));
  tellDone(*sources[0], progress);
  return {};
}

/// Repeats generation for each half of lines that failed together. The error
/// may name the wrong line, since logits that are not finite may spread to
/// other lines. Alone, each line gets its own error.
Result<void> Translator::generateHalves(const std::vector<Line *> &sources,
                                        TextProgress &progress) {
  const auto middle = sources.begin() + int64_t(sources.size() / 2);
  TRANSOM_TRY(generate({sources.begin(), middle}, progress));
  return generate({middle, sources.end()}, progress);
}

/// Returns a result for a line that has some.
Result<transom_continuation> Translator::getResult(const Line &line,
                                                   size_t number) const {
  transom_continuation continuation = transom_continuation_default();
  TRANSOM_TRY(check(transom_generation_get(
      line.results, line.prompt * target.getResults() + number,
      &continuation)));
  return continuation;
}

/// Aligns words in all results, if requested. Sources with similar lengths are
/// adjacent.
Result<void> Translator::align(const std::vector<Line *> &sources) {
  alignments.clear();
  if (!aligner)
    return {};
  for (Line *line : sources) {
    line->alignment = alignments.size();
    for (size_t i = 0; line->results && i != target.getResults(); ++i) {
      TRANSOM_ASSIGN(transom_continuation one, getResult(*line, i));
      std::vector<int64_t> ids = line->target;
      ids.insert(ids.end(), one.ids, one.ids + one.num_ids);
      alignments.push_back(
          {&line->text, &line->tokens, std::move(ids), {}, {}});
    }
  }
  return aligner->alignAll(alignments);
}

/// Returns a result's alignment, if requested. A line without a result has an
/// alignment without words.
std::optional<Alignment> Translator::takeAlignment(const Line &line,
                                                   size_t number) {
  if (!aligner)
    return std::nullopt;
  if (!line.results)
    return Alignment();
  AlignmentTask &task = alignments[line.alignment + number];
  if (task.result)
    return std::move(task.result);
  const size_t index = done + size_t(&line - first);
  note(common, inText(flags.input, index, std::move(*task.error)).message);
  return Alignment();
}

/// Prints a result as a line of text.
Result<void>
Translator::printText(const std::string &text, double score,
                      const std::optional<Alignment> &alignment) const {
  std::string out = text;
  // A line break within a result would shift the lines after it.
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r'; },
      ' ');
  if (flags.scores && !std::isnan(score))
    out.insert(0, std::to_string(score) + "\t");
  if (alignment)
    out += "\t" + formatPairs(alignment->pairs);
  return writeOut(out + "\n");
}

/// Prints one result for a line; null: the line has none.
Result<void> Translator::print(const Line &line,
                               const transom_continuation *continuation,
                               const std::optional<Alignment> &alignment) {
  // A result starts with the given prefix.
  std::string text, out;
  double score = std::nan("");
  if (continuation) {
    score = target.getScore(*continuation);
    TRANSOM_ASSIGN(text, target.getText(model.model.get(), line.target));
    text.append(continuation->text.data, continuation->text.size);
  }
  if (!common.json)
    return printText(text, score, alignment);
  // Source and text.
  JsonWriter json(out);
  json.beginObject();
  json.member("source", line.text);
  if (line.error)
    json.member("error", line.error->message);
  json.member("text", text);
  // Token ids, score and alignment.
  if (continuation) {
    json.key("ids");
    json.array(std::vector<int64_t>(continuation->ids,
                                    continuation->ids + continuation->num_ids));
    if (target.getResults() > 1)
      json.member("continuation", uint64_t(continuation->number));
    if (!std::isnan(score))
      json.member("score", score);
    json.member("finish_reason", transom_finish_name(continuation->finish));
  }
  if (alignment) {
    json.key("alignments");
    writeAlignment(json, *alignment);
  }
  json.endObject();
  return writeOut(out + "\n");
}

/// Prints a line's results; each line has the same number.
Result<void> Translator::printLine(const Line &line) {
  for (size_t i = 0; i != target.getResults(); ++i) {
    transom_continuation continuation = transom_continuation_default();
    if (line.results) {
      TRANSOM_ASSIGN(continuation, getResult(line, i));
    }
    TRANSOM_TRY(print(line, line.results ? &continuation : nullptr,
                      takeAlignment(line, i)));
  }
  return {};
}

Result<void> Translator::run(std::vector<std::string> texts,
                             TextProgress &progress) {
  // Blank lines and lines with an error are not sources.
  std::vector<Line> lines(texts.size());
  first = lines.data();
  std::vector<Line *> sources;
  for (size_t i = 0; i != lines.size(); ++i) {
    lines[i].text = std::move(texts[i]);
    TRANSOM_TRY(prepareLine(lines[i]));
    if (lines[i].ids.empty())
      tellDone(lines[i], progress);
    else
      sources.push_back(&lines[i]);
  }

  // Order sources by length, longest first. Neighbors share the session at the
  // same time, and short sources remain for the end.
  std::sort(sources.begin(), sources.end(), [](Line *a, Line *b) {
    const size_t first = a->ids.size(), second = b->ids.size();
    return first != second ? first > second : a < b;
  });
  generations.clear();
  TRANSOM_TRY(generate(sources, progress));

  TRANSOM_TRY(align(sources));

  // Print results in line order.
  for (const Line &line : lines)
    TRANSOM_TRY(printLine(line));
  done += lines.size();
  return {};
}

Result<void> Translator::open() {
  if (!flags.prefixFile.empty())
    TRANSOM_TRY(prefixes.open(flags.prefixFile));
  if (!flags.alignment.on)
    return {};
  Result<WordAligner> made =
      WordAligner::create(model.model.get(), flags.model, flags.alignment,
                          target.getStart(), common.threads);
  if (!made)
    return made.takeError();
  aligner.emplace(std::move(*made));
  return {};
}

Result<void> Translator::finish() {
  CutTexts{cut}.tell(common, model.info.max_text_tokens);
  if (!flags.prefixFile.empty())
    TRANSOM_TRY(prefixes.checkEnd());
  if (failed)
    return rejected(std::to_string(failed) +
                    (failed == 1 ? " line has" : " lines have") + " no result");
  return {};
}

/// Returns the max source length in tokens; 0 without a limit.
static int64_t getLongestSource(const Manifest &manifest) {
  const ManifestEntry *encoder = manifest.findEntry(manifest.decoder->encoder);
  return encoder && encoder->positionLimit ? encoder->positionLimit->max : 0;
}

static Result<void> runTranslate(TranslateFlags &flags,
                                 const CommonFlags &common) {
  // Check the flags, and open the model.
  if (flags.input.texts.empty() && flags.input.file.empty() &&
      flags.input.dash.empty())
    flags.input.dash = "-";
  TRANSOM_TRY(flags.input.validate());
  TRANSOM_TRY(flags.generation.finish());
  TRANSOM_ASSIGN(TextModel model, openTextModel(flags.model));
  TRANSOM_ASSIGN(Manifest manifest, getManifest(model.model.get()));
  if (!manifest.decoder || manifest.decoder->encoder.empty())
    return usageError("'" + flags.model + "' is not an encoder-decoder" +
                      (manifest.decoder ? "; use 'generate'" : ""));
  TRANSOM_TRY(flags.languages.check(model.model.get()));
  const TranslationTarget::Request request{
      flags.languages.target,
      !flags.prefix.empty() || !flags.prefixFile.empty(), flags.scores};
  TRANSOM_ASSIGN(TranslationTarget target,
                 TranslationTarget::create(model.model.get(), manifest,
                                           flags.generation, request));
  // An invalid common prefix is reported before the first line is read.
  if (!flags.prefix.empty())
    if (auto prefix = target.getPrefix(model.model.get(), flags.prefix);
        !prefix)
      return prefix.takeError();
  Translator translator(flags, common, std::move(model), std::move(target),
                        getLongestSource(manifest));
  TRANSOM_TRY(translator.open());
  TRANSOM_TRY(
      forEachBatch(flags.input, common, window,
                   [&](std::vector<std::string> texts, TextProgress &progress) {
                     return translator.run(std::move(texts), progress);
                   }));
  return translator.finish();
}

/// Adds the flags to the command under one of its names.
static void setUp(Command &command) {
  auto flags = std::make_shared<TranslateFlags>();
  // Model, sources and languages.
  command.app->add_option("MODEL", flags->model, "a compiled encoder-decoder")
      ->required();
  addTextInput(*command.app, flags->input);
  addLanguages(*command.app, flags->languages);
  // Target prefixes.
  CLI::Option *prefix = command.app
                            ->add_option("--target-prefix", flags->prefix,
                                         "a text that each result begins with")
                            ->type_name("T");
  command.app
      ->add_option("--target-prefix-file", flags->prefixFile,
                   "the same for each line of the input, one per line")
      ->type_name("F")
      ->excludes(prefix);
  // Batches, output, and generation settings.
  command.app
      ->add_option("--batch-size", flags->batch,
                   "lines that are worked on at the same time (default: at "
                   "most 32)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  command.app->add_flag(
      "--scores", flags->scores,
      "print the score of a result and a tab before its text");
  command.app->add_flag("--truncate", flags->truncate,
                        "cut lines that are longer than the model's maximum");
  addAlignmentFlags(*command.app, flags->alignment);
  addGenerationFlags(*command.app, flags->generation);
  command.run = [flags](const CommonFlags &common) {
    return runTranslate(*flags, common);
  };
}

void tools::addTranslate(CLI::App &app, CommandList &commands) {
  setUp(addCommand(app, commands, "translate",
                   "translate texts, one line of output for each line of "
                   "input"));
}

void tools::addSummarize(CLI::App &app, CommandList &commands) {
  setUp(addCommand(app, commands, "summarize",
                   "summarize texts: 'translate' under another name"));
}
