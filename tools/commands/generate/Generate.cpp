// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom generate: prints continuations for prompts, streamed or as JSON
// lines.
#include "runtime/generate/GenerationOptions.h"
#include "runtime/json/Json.h"
#include "tools/commands/generate/GenerationFlags.h"
#include "tools/commands/generate/Prompts.h"
#include "tools/commands/text/Texts.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

using namespace transom;
using namespace transom::tools;

namespace {

using Clock = std::chrono::steady_clock;

struct GenerateFlags {
  std::string model, file, dash, progress = "auto";
  std::vector<std::string> prompts, idLists;
  bool noSpecial = false;
  GenerationFlags generation;
};

/// State of the token callback.
struct Progress {
  bool stream = false; ///< print tokens to stdout as they arrive
  bool texts = false;  ///< the model has a tokenizer
  Result<void> written;
  size_t tokens = 0;
  Clock::time_point first;
};

/// Runs the prompts in one call and prints their continuations.
class GenerateCommand {
public:
  /// Model properties that the command uses.
  struct Facts {
    int64_t continuations = 1; ///< per prompt
    bool hasSources = false;   ///< prompts are encoder-decoder sources
  };

  GenerateCommand(const GenerateFlags &flags, const CommonFlags &common,
                  const transom_model *model, const transom_model_info &info,
                  Facts facts)
      : flags(flags), common(common), model(model), info(info), facts(facts) {}

  Result<void> run(const std::vector<Prompt> &prompts, bool only);

private:
  Result<SessionPtr> session(const std::vector<Prompt> &prompts);
  Result<size_t> getLength(const Prompt &prompt) const;
  Result<void> print(const transom_generation *generation,
                     const std::vector<Prompt> &prompts) const;
  void tellEqual(const transom_generation *generation) const;
  void tellContext(const transom_generation *generation) const;
  std::string formatLine(const transom_continuation &continuation,
                         const Prompt &prompt) const;
  void writeTop(JsonWriter &json,
                const transom_continuation &continuation) const;
  void tellTimes(const transom_generation *generation, const Progress &progress,
                 Clock::time_point begin, Clock::time_point end) const;

  const GenerateFlags &flags;
  const CommonFlags &common;
  const transom_model *model;
  const transom_model_info &info;
  Facts facts;
  std::vector<size_t> lengths; ///< prompt lengths in tokens
};

} // namespace

/// Returns the prompts in `-p` and `--ids`.
static Result<std::vector<Prompt>> givenPrompts(const GenerateFlags &flags) {
  std::vector<Prompt> prompts;
  for (const std::string &text : flags.prompts)
    prompts.push_back({text, std::nullopt});
  for (const std::string &list : flags.idLists) {
    TRANSOM_ASSIGN(std::vector<int64_t> ids, parseIds(list));
    prompts.push_back({{}, std::move(ids)});
  }
  return prompts;
}

static Result<void> checkSources(const GenerateFlags &flags,
                                 const CommonFlags &common) {
  // Its environment variable may be meant for `score`.
  if (flags.generation.values.top_logprobs >= 0 && !common.json &&
      !getenv("TRANSOM_TOP_LOGPROBS"))
    return usageError("'--top-logprobs' needs '--json'");
  const int sources = !flags.prompts.empty() + !flags.idLists.empty() +
                      !flags.file.empty() + !flags.dash.empty();
  if (!flags.dash.empty() && flags.dash != "-")
    return usageError("unexpected argument '" + flags.dash +
                      "'; prompts are given by --prompt, --file, --ids or -");
  if (sources > 1)
    return usageError("'--prompt', '--ids', '--file' and '-' exclude each "
                      "other");
  if (sources == 0)
    return usageError("no prompt was given: use --prompt, --ids, --file or -");
  return {};
}

/// Returns a prompt's token count.
Result<size_t> GenerateCommand::getLength(const Prompt &prompt) const {
  if (prompt.ids)
    return prompt.ids->size();
  if (prompt.text.empty() && info.vocabulary_size == 0)
    return size_t(0);
  const transom_text text{prompt.text.data(), prompt.text.size()};
  transom_tokenize_options how = transom_tokenize_options_default();
  how.no_special = flags.noSpecial;
  how.no_truncation = 1;
  size_t count = 0;
  const transom_status status = transom_model_tokenize(
      model, &text, nullptr, &how, nullptr, 0, &count, nullptr);
  if (status != TRANSOM_STATUS_OK && status != TRANSOM_STATUS_LIMIT)
    return lastError(status);
  return count;
}

Result<SessionPtr>
GenerateCommand::session(const std::vector<Prompt> &prompts) {
  lengths.clear();
  for (size_t i = 0; i != prompts.size(); ++i) {
    Result<size_t> length = getLength(prompts[i]);
    if (!length && prompts.size() > 1)
      return Error{length.error().status,
                   "prompt " + std::to_string(i) + ": " +
                       length.error().message,
                   {}};
    if (!length)
      return length.takeError();
    lengths.push_back(*length);
  }
  transom_session_options options = transom_session_options_default();
  options.threads = common.threads;
  TRANSOM_TRY(check(transom_session_options_fit_generate(
      model, lengths.data(), lengths.size(), flags.generation.options(),
      &options)));
  return createSession(model, options);
}

/// Writes the new text of the only continuation.
static int takeToken(void *context, const transom_generated_token *token) {
  auto &progress = *static_cast<Progress *>(context);
  if (progress.tokens++ == 0)
    progress.first = Clock::now();
  if (!progress.stream)
    return 0;
  std::string text(token->text.data ? token->text.data : "", token->text.size);
  if (!progress.texts && token->id >= 0)
    text = (progress.tokens > 1 ? "," : "") + std::to_string(token->id);
  if (text.empty() && token->finish == TRANSOM_FINISH_NONE)
    return 0;
  progress.written = writeOut(text);
  if (progress.written)
    progress.written = flushOut();
  return progress.written ? 0 : 1;
}

void GenerateCommand::writeTop(JsonWriter &json,
                               const transom_continuation &continuation) const {
  json.key("logprobs");
  json.array(std::vector<double>(continuation.logprobs,
                                 continuation.logprobs + continuation.num_ids));
  if (continuation.num_top == 0)
    return;
  json.key("top_logprobs");
  json.beginArray();
  for (size_t i = 0; i != continuation.num_ids; ++i) {
    json.beginArray();
    for (size_t k = 0; k != continuation.num_top; ++k) {
      const transom_token_logprob &top =
          continuation.top[i * continuation.num_top + k];
      json.beginObject();
      json.member("id", top.id);
      if (info.vocabulary_size)
        json.member("token", getTokenText(model, top.id));
      json.member("logprob", top.logprob);
      json.endObject();
    }
    json.endArray();
  }
  json.endArray();
}

std::string
GenerateCommand::formatLine(const transom_continuation &continuation,
                            const Prompt &prompt) const {
  std::string line;
  JsonWriter json(line);
  // Prompt.
  json.beginObject();
  if (prompt.ids) {
    json.key("prompt_ids");
    json.array(*prompt.ids);
  } else {
    json.member("prompt", prompt.text);
  }
  json.member("prompt_tokens", uint64_t(continuation.prompt_tokens));
  // Continuation.
  if (facts.continuations > 1)
    json.member("continuation", uint64_t(continuation.number));
  if (info.vocabulary_size)
    json.member("text", std::string_view(continuation.text.data,
                                         continuation.text.size));
  json.key("ids");
  json.array(std::vector<int64_t>(continuation.ids,
                                  continuation.ids + continuation.num_ids));
  // End, score and alternatives.
  json.member("finish_reason", transom_finish_name(continuation.finish));
  if (!std::isnan(continuation.score))
    json.member("score", continuation.score);
  if (flags.generation.values.top_logprobs >= 0)
    writeTop(json, continuation);
  json.endObject();
  return line + "\n";
}

Result<void> GenerateCommand::print(const transom_generation *generation,
                                    const std::vector<Prompt> &prompts) const {
  for (size_t i = 0; i != transom_generation_count(generation); ++i) {
    transom_continuation continuation = transom_continuation_default();
    if (Result<void> got =
            check(transom_generation_get(generation, i, &continuation));
        !got)
      return got;
    std::string line;
    if (common.json) {
      line = formatLine(continuation, prompts[continuation.prompt]);
    } else if (info.vocabulary_size) {
      line = std::string(continuation.text.data, continuation.text.size) + "\n";
    } else {
      for (size_t k = 0; k != continuation.num_ids; ++k)
        line += (k ? "," : "") + std::to_string(continuation.ids[k]);
      line += "\n";
    }
    if (Result<void> written = writeOut(line); !written)
      return written;
  }
  return {};
}

/// Prints a note if all continuations for each prompt are equal: nothing was
/// sampled, or the model has no doubt.
void GenerateCommand::tellEqual(const transom_generation *generation) const {
  const size_t count = transom_generation_count(generation);
  bool several = false;
  transom_continuation first = transom_continuation_default();
  for (size_t i = 0; i != count; ++i) {
    transom_continuation continuation = transom_continuation_default();
    if (transom_generation_get(generation, i, &continuation) !=
            TRANSOM_STATUS_OK ||
        continuation.num_ids == 0)
      return;
    if (continuation.number == 0)
      first = continuation;
    else if (!std::equal(continuation.ids,
                         continuation.ids + continuation.num_ids, first.ids,
                         first.ids + first.num_ids))
      return;
    several |= continuation.number > 0;
  }
  if (several)
    note(common, "the continuations of each prompt are equal; a higher "
                 "'--temperature' makes them differ");
}

/// Prints notes on prompts and continuations truncated by the context length.
void GenerateCommand::tellContext(const transom_generation *generation) const {
  size_t cut = 0, ended = 0;
  for (size_t i = 0; i != transom_generation_count(generation); ++i) {
    transom_continuation continuation = transom_continuation_default();
    if (transom_generation_get(generation, i, &continuation) !=
        TRANSOM_STATUS_OK)
      continue;
    // Source tokens are not counted, because sources are never truncated.
    cut += continuation.number == 0 && !facts.hasSources &&
           continuation.prompt_tokens < lengths[continuation.prompt];
    ended += continuation.finish == TRANSOM_FINISH_CONTEXT;
  }
  if (cut)
    note(common, std::to_string(cut) +
                     (cut == 1 ? " prompt was" : " prompts were") +
                     " cut to the last tokens");
  if (ended)
    note(common, std::to_string(ended) +
                     (ended == 1 ? " continuation" : " continuations") +
                     " ended at the end of the model's context");
}

void GenerateCommand::tellTimes(const transom_generation *generation,
                                const Progress &progress,
                                Clock::time_point begin,
                                Clock::time_point end) const {
  // Count each prompt once.
  size_t prompt = 0;
  const size_t continuations = transom_generation_count(generation);
  for (size_t i = 0; i != continuations; ++i) {
    transom_continuation continuation = transom_continuation_default();
    if (transom_generation_get(generation, i, &continuation) ==
            TRANSOM_STATUS_OK &&
        continuation.number == 0)
      prompt += continuation.prompt_tokens;
  }
  // With a single continuation, separate the prompt from new tokens.
  const auto seconds = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  };
  char text[256];
  if (continuations == 1 && progress.tokens > 1)
    snprintf(text, sizeof text,
             "%zu tokens of the prompt in %.3f s (%.1f tokens/s), then %zu "
             "tokens in %.3f s (%.1f tokens/s)",
             prompt, seconds(begin, progress.first),
             double(prompt) / seconds(begin, progress.first),
             progress.tokens - 1, seconds(progress.first, end),
             double(progress.tokens - 1) / seconds(progress.first, end));
  else
    snprintf(text, sizeof text,
             "%zu continuations: %zu tokens of prompts and %zu new tokens in "
             "%.3f s (%.1f tokens/s)",
             continuations, prompt, progress.tokens, seconds(begin, end),
             double(progress.tokens) / seconds(begin, end));
  note(common, text);
}

Result<void> GenerateCommand::run(const std::vector<Prompt> &prompts,
                                  bool only) {
  // Create the session and prompt views.
  TRANSOM_ASSIGN(SessionPtr made, session(prompts));
  std::vector<transom_prompt> views;
  static const int64_t none = 0;
  for (const Prompt &prompt : prompts)
    views.push_back({!prompt.ids           ? nullptr
                     : prompt.ids->empty() ? &none
                                           : prompt.ids->data(),
                     prompt.ids ? prompt.ids->size() : 0,
                     {prompt.text.data(), prompt.text.size()}});
  // Options; a single continuation is streamed.
  transom_generate_options options = *flags.generation.options();
  Progress progress;
  progress.stream =
      only && !common.json && facts.continuations == 1 && prompts.size() == 1;
  progress.texts = info.vocabulary_size != 0;
  options.no_special = flags.noSpecial;
  options.callback = takeToken;
  options.callback_context = &progress;
  // Generate. Finished continuations are printed even if others fail.
  transom_generation *generation = nullptr;
  const CancelOnSignal signals(made.get());
  const Clock::time_point begin = Clock::now();
  Result<void> done = check(transom_session_generate(
      made.get(), views.data(), views.size(), &options, &generation));
  const GenerationPtr owner(generation);
  if (!progress.written)
    return progress.written;
  if (generation) {
    Result<void> printed =
        progress.stream && transom_generation_count(generation) == 1
            ? writeOut("\n")
            : print(generation, prompts);
    if (!printed)
      return printed;
    tellEqual(generation);
    tellContext(generation);
    if (common.verbose)
      tellTimes(generation, progress, begin, Clock::now());
  }
  return done ? done : Result<void>(signals.explain(done.takeError()));
}

/// Replaces the prompt number by the line number in an error.
static Error inLine(const std::string &file, const std::vector<size_t> &lines,
                    Error error) {
  std::optional<NumberedError> one = findNumber(error, "prompt");
  if (!one || one->number >= lines.size())
    return error;
  one->error.message = file + ":" + std::to_string(lines[one->number]) + ": " +
                       one->error.message;
  return std::move(one->error);
}

/// Continues the prompts in a JSON lines file, a batch at a time.
static Result<void> runFile(const GenerateFlags &flags,
                            const CommonFlags &common,
                            GenerateCommand &command) {
  TextInput input;
  input.file = flags.file.empty() ? flags.dash : flags.file;
  input.progress = flags.progress;
  const std::string name = input.file == "-" ? "stdin" : input.file;
  size_t line = 0;
  return forEachBatch(
      input, common, [&](std::vector<std::string> texts) -> Result<void> {
        std::vector<Prompt> prompts;
        std::vector<size_t> lines; // line numbers of the prompts
        for (const std::string &text : texts) {
          ++line;
          if (text.find_first_not_of(" \t") == std::string::npos)
            continue;
          TRANSOM_ASSIGN(Prompt prompt, parsePromptLine(text, name, line));
          prompts.push_back(std::move(prompt));
          lines.push_back(line);
        }
        if (prompts.empty())
          return {};
        Result<void> done = command.run(prompts, false);
        return done ? done : inLine(name, lines, done.takeError());
      });
}

/// Reads the model properties. The flag for the number of continuations takes
/// precedence over the model's files.
static Result<GenerateCommand::Facts> getFacts(const GenerateFlags &flags,
                                               const transom_model *model) {
  GenerateCommand::Facts facts;
  TRANSOM_ASSIGN(Manifest manifest, getManifest(model));
  if (!manifest.decoder)
    return facts;
  facts.hasSources = !manifest.decoder->encoder.empty();
  TRANSOM_ASSIGN(GenerationConfig config,
                 GenerationConfig::parse(manifest.decoder->generation));
  applyOptions(*flags.generation.options(), config);
  facts.continuations = config.numReturnSequences;
  return facts;
}

static Result<void> runGenerate(GenerateFlags &flags,
                                const CommonFlags &common) {
  if (Result<void> valid = checkSources(flags, common); !valid)
    return valid;
  if (Result<void> finished = flags.generation.finish(); !finished)
    return finished;
  TRANSOM_ASSIGN(std::vector<Prompt> prompts, givenPrompts(flags));
  TRANSOM_ASSIGN(ModelPtr model, loadModel(flags.model));
  TRANSOM_ASSIGN(transom_model_info info, getInfo(model.get()));
  TRANSOM_ASSIGN(GenerateCommand::Facts facts, getFacts(flags, model.get()));
  GenerateCommand command(flags, common, model.get(), info, facts);
  return prompts.empty() ? runFile(flags, common, command)
                         : command.run(prompts, true);
}

void tools::addGenerate(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(app, commands, "generate",
                                "continue prompts, as text or JSON lines");
  auto flags = std::make_shared<GenerateFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  // Prompts, from flags or a file.
  command.app
      ->add_option("-p,--prompt", flags->prompts, "a prompt (repeatable)")
      ->type_name("T")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.app
      ->add_option("--file", flags->file,
                   "prompts, a line of JSON each: a text, a list of ids, or "
                   "an object with 'prompt' or 'ids'; - is stdin")
      ->type_name("F");
  command.app->add_option("INPUT", flags->dash,
                          "-: prompts from stdin, as of --file");
  // Progress, token ids and generation settings.
  addTextProgress(*command.app, flags->progress);
  addIds(*command.app, flags->idLists);
  command.app->add_flag("--no-special", flags->noSpecial,
                        "without the tokens that the tokenizer adds");
  addTopLogprobs(*command.app, flags->generation.values.top_logprobs);
  addGenerationFlags(*command.app, flags->generation);
  command.run = [flags](const CommonFlags &common) {
    return runGenerate(*flags, common);
  };
}
