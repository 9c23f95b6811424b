// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom score: prints log-probabilities for given texts as JSON lines, or a
// file's perplexity.
#include "runtime/base/File.h"
#include "runtime/json/Json.h"
#include "tools/commands/generate/GenerationFlags.h"
#include "tools/commands/generate/ScoreTargets.h"
#include "tools/commands/text/Texts.h"
#include <cmath>

using namespace transom;
using namespace transom::tools;

namespace {

struct ScoreFlags {
  std::string model, perplexity;
  std::string targets; ///< from `--target`
  Languages languages;
  TextInput input;
  std::vector<std::string> idLists;
  int64_t window = 0, stride = 0;
  int32_t topLogprobs = 0;
  bool noSpecial = false;
};

/// Scores texts with one model; its session grows with them.
class Scorer {
public:
  Scorer(const ScoreFlags &flags, const CommonFlags &common,
         const transom_model *model, const transom_model_info &info)
      : flags(flags), common(common), model(model), info(info) {}

  Result<void> scoreText(const std::string &text);
  Result<void> scoreIds(const std::vector<int64_t> &ids,
                        const std::string *text);
  Result<void> scoreFile(const std::string &path);

private:
  Result<std::vector<int64_t>> getTokens(const std::string &text) const;
  /// Creates a larger session unless it holds a sequence with this token count.
  Result<void> prepare(size_t tokens);
  Result<size_t> getWindow(size_t tokens);

  const ScoreFlags &flags;
  const CommonFlags &common;
  const transom_model *model;
  const transom_model_info &info;
  SessionPtr session;
  size_t room = 0; ///< session capacity in tokens
};

} // namespace

Result<std::vector<int64_t>> Scorer::getTokens(const std::string &text) const {
  if (info.vocabulary_size == 0)
    return noTokenizer(model, "the model", "; give '--ids'");
  transom_tokenize_options how = transom_tokenize_options_default();
  how.no_special = flags.noSpecial;
  how.no_truncation = 1;
  uint32_t truncated = 0;
  TRANSOM_ASSIGN(std::vector<transom_token> tokens,
                 tokenizeText(model, {text, std::nullopt}, how, truncated));
  return getIds(tokens);
}

Result<void> Scorer::prepare(size_t tokens) {
  if (session && tokens <= room)
    return {};
  transom_session_options options = transom_session_options_default();
  transom_generate_options generation = transom_generate_options_default();
  generation.max_new_tokens = 0;
  generation.num_return_sequences = generation.num_beams = 1;
  options.threads = common.threads;
  session.reset();
  if (Result<void> fits = check(transom_session_options_fit_generate(
          model, &tokens, 1, &generation, &options));
      !fits)
    return fits;
  TRANSOM_ASSIGN(SessionPtr made, createSession(model, options));
  session = std::move(made);
  room = tokens;
  return {};
}

Result<void> Scorer::scoreText(const std::string &text) {
  Result<std::vector<int64_t>> ids = getTokens(text);
  return ids ? scoreIds(*ids, &text) : Result<void>(ids.takeError());
}

/// Writes the sum over log-probabilities, and the perplexity if defined.
static void writeSum(JsonWriter &json, double sum, int64_t tokens) {
  json.member("sum", sum);
  json.key("perplexity");
  if (tokens)
    json.value(std::exp(-sum / double(tokens)));
  else
    json.null();
}

Result<void> Scorer::scoreIds(const std::vector<int64_t> &ids,
                              const std::string *text) {
  // Score the sequence; its first token has no log-probability.
  if (Result<void> ready = prepare(ids.size()); !ready)
    return ready;
  const size_t count = ids.empty() ? 0 : ids.size() - 1;
  const size_t tops = size_t(std::max(0, flags.topLogprobs));
  std::vector<double> logprobs(count + 1);
  std::vector<transom_token_logprob> top(count * tops + 1);
  const CancelOnSignal signals(session.get());
  if (Result<void> done = check(transom_session_score(
          session.get(), ids.data(), ids.size(), logprobs.data(),
          tops ? top.data() : nullptr, tops));
      !done)
    return signals.explain(done.takeError());
  // Write the log-probabilities and their sum.
  logprobs.resize(count);
  double sum = 0;
  for (double logprob : logprobs)
    sum += logprob;
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  if (text)
    json.member("text", *text);
  json.key("ids");
  json.array(ids);
  json.key("logprobs");
  json.array(logprobs);
  writeSum(json, sum, int64_t(count));
  // Write the most likely tokens at each position.
  if (tops) {
    json.key("top_logprobs");
    json.beginArray();
    for (size_t i = 0; i != count; ++i) {
      json.beginArray();
      for (size_t k = 0; k != tops; ++k) {
        const transom_token_logprob &one = top[i * tops + k];
        json.beginObject();
        json.member("id", one.id);
        if (info.vocabulary_size)
          json.member("token", getTokenText(model, one.id));
        json.member("logprob", one.logprob);
        json.endObject();
      }
      json.endArray();
    }
    json.endArray();
  }
  json.endObject();
  return writeOut(line + "\n");
}

/// Returns the window size in tokens: the flag, otherwise the context, at most
/// 2048.
Result<size_t> Scorer::getWindow(size_t tokens) {
  constexpr int64_t most = 2048;
  TRANSOM_TRY(prepare(1));
  transom_decoder_info decoder = transom_decoder_info_default();
  TRANSOM_TRY(check(transom_session_get_decoder(session.get(), &decoder)));
  int64_t window = flags.window;
  if (decoder.context && window > decoder.context)
    return limitError("a window of " + std::to_string(window) +
                      " tokens is more than the model's context of " +
                      std::to_string(decoder.context));
  if (window == 0)
    window = decoder.context ? std::min(most, decoder.context) : most;
  return size_t(window);
}

Result<void> Scorer::scoreFile(const std::string &path) {
  // Tokenize the whole file.
  constexpr uint64_t largest = uint64_t(256) << 20;
  TRANSOM_ASSIGN(std::string text, readSmallFile(path, largest));
  TRANSOM_ASSIGN(std::vector<int64_t> ids, getTokens(text));

  // Score in windows; each begins `stride` tokens after the previous one.
  TRANSOM_ASSIGN(size_t window, getWindow(ids.size()));
  if (Result<void> ready = prepare(std::min(window, ids.size())); !ready)
    return ready;
  const int64_t stride =
      flags.stride ? flags.stride : std::max<int64_t>(1, int64_t(window) / 2);
  transom_text_score score{};
  const CancelOnSignal signals(session.get());
  if (Result<void> done = check(
          transom_session_score_windows(session.get(), ids.data(), ids.size(),
                                        int64_t(window), stride, &score));
      !done)
    return signals.explain(done.takeError());

  // Print one line.
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("file", path);
  json.member("tokens", uint64_t(ids.size()));
  json.member("window", uint64_t(window));
  json.member("stride", stride);
  json.member("windows", score.windows);
  json.member("scored", score.tokens);
  writeSum(json, score.sum, score.tokens);
  json.endObject();
  return writeOut(line + "\n");
}

static Result<void> checkSources(const ScoreFlags &flags) {
  const bool texts = !flags.input.texts.empty() || !flags.input.file.empty() ||
                     !flags.input.dash.empty();
  const int sources =
      texts + !flags.idLists.empty() + !flags.perplexity.empty();
  if (sources > 1)
    return usageError("texts, '--ids' and '--perplexity' exclude each other");
  if ((flags.stride || flags.window) && flags.perplexity.empty())
    return usageError("'--stride' and '--window' need '--perplexity'");
  if (!flags.targets.empty() && sources > texts)
    return usageError("'--target' needs sources as texts");
  if (!flags.targets.empty() && flags.topLogprobs > 0)
    return usageError("'--target' and '--top-logprobs' exclude each other");
  if (flags.targets == "-" && flags.input.texts.empty() &&
      flags.input.getPath() == "-")
    return usageError("sources and targets cannot both be stdin");
  if (sources == 0 || texts)
    return flags.input.validate();
  return {};
}

/// Scores targets with an encoder-decoder.
static Result<void> runTargets(const ScoreFlags &flags,
                               const CommonFlags &common,
                               const TextModel &model) {
  if (model.info.vocabulary_size == 0)
    return noTokenizer(model.model.get(), quote(flags.model));
  TRANSOM_TRY(checkEntry(model.model.get(), "score"));
  return scoreTargets(
      {flags.input, flags.targets, flags.languages, flags.noSpecial}, common,
      model);
}

static Result<void> runScore(const ScoreFlags &flags,
                             const CommonFlags &common) {
  // Check and parse the flags.
  if (Result<void> valid = checkSources(flags); !valid)
    return valid;
  std::vector<std::vector<int64_t>> lists;
  for (const std::string &list : flags.idLists) {
    TRANSOM_ASSIGN(std::vector<int64_t> ids, parseIds(list));
    lists.push_back(std::move(ids));
  }
  // Open the model. Encoder-decoders score targets instead.
  TRANSOM_ASSIGN(ModelPtr model, loadModel(flags.model));
  TRANSOM_ASSIGN(transom_model_info info, getInfo(model.get()));
  TRANSOM_ASSIGN(Manifest manifest, getManifest(model.get()));
  const bool hasSources =
      manifest.decoder && !manifest.decoder->encoder.empty();
  if (hasSources != !flags.targets.empty())
    return usageError(hasSources ? "the targets of an encoder-decoder are "
                                   "scored; give them by '--target'"
                                 : "'--target' needs an encoder-decoder");
  if (hasSources)
    return runTargets(flags, common, {std::move(model), info});
  // Score the file, the id lists or the texts.
  Scorer scorer(flags, common, model.get(), info);
  if (!flags.perplexity.empty())
    return scorer.scoreFile(flags.perplexity);
  for (size_t i = 0; i != lists.size(); ++i) {
    Result<void> done = scorer.scoreIds(lists[i], nullptr);
    if (done)
      continue;
    return lists.size() > 1 ? inText(i, done.takeError()) : done.takeError();
  }
  if (!lists.empty())
    return {};
  size_t index = 0;
  return forEachBatch(flags.input, common,
                      [&](std::vector<std::string> texts) -> Result<void> {
                        for (const std::string &text : texts) {
                          if (Result<void> done = scorer.scoreText(text); !done)
                            return inText(flags.input, index, done.takeError());
                          ++index;
                        }
                        return {};
                      });
}

void tools::addScore(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "score",
                 "log-probabilities of texts, one JSON line a text");
  auto flags = std::make_shared<ScoreFlags>();
  // Model and texts.
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  addTextInput(*command.app, flags->input);
  command.app
      ->add_option("--target", flags->targets,
                   "the targets of an encoder-decoder, a line for each text; - "
                   "is stdin")
      ->type_name("FILE");
  addLanguages(*command.app, flags->languages);
  addIds(*command.app, flags->idLists);
  command.app->add_flag("--no-special", flags->noSpecial,
                        "without the tokens that the tokenizer adds");
  addTopLogprobs(*command.app, flags->topLogprobs);
  command.app
      ->add_option("--perplexity", flags->perplexity,
                   "the perplexity of a whole file, in windows")
      ->type_name("FILE");
  // Windows for the perplexity.
  command.app
      ->add_option("--window", flags->window,
                   "tokens of a window (default: the context, at most 2048)")
      ->type_name("N")
      ->check(wholeNumber(2, 1 << 30));
  command.app
      ->add_option("--stride", flags->stride,
                   "tokens from window to window (default: half a window)")
      ->type_name("N")
      ->check(wholeNumber(1, 1 << 30));
  command.run = [flags](const CommonFlags &common) {
    return runScore(*flags, common);
  };
}
