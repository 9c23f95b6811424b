// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads texts from flags, files and stdin, and adds their lines to errors.
#include "tools/commands/text/Texts.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Unicode.h"
#include <charconv>

using namespace transom;
using namespace transom::tools;

void tools::addTextInput(CLI::App &command, TextInput &input) {
  command.add_option("--text", input.texts, "a text (repeatable)")
      ->type_name("T")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--file", input.file,
                  "read texts from a file, one per line; - is stdin")
      ->type_name("F");
  command.add_option("INPUT", input.dash,
                     "-: read texts from stdin, one per line; each line is "
                     "answered before the next is waited for");
  addTextProgress(command, input.progress);
}

void tools::addTextProgress(CLI::App &command, std::string &progress) {
  addChoice(command, "--progress", progress, {"auto", "none", "json"},
            "report texts per second on stderr (default auto: if stderr is a "
            "terminal and stdout is not)");
}

void tools::addPairs(CLI::App &command, std::vector<std::string> &pairs,
                     const std::string &help) {
  command.add_option("--pair", pairs, help)
      ->type_name("T2")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<void> tools::checkPairs(const TextInput &input,
                               const std::vector<std::string> &pairs) {
  if (pairs.empty() || pairs.size() == input.texts.size())
    return {};
  return usageError("each '--pair' belongs to a '--text'; got " +
                    std::to_string(pairs.size()) + " and " +
                    std::to_string(input.texts.size()));
}

Error tools::inText(size_t text, Error error) {
  const std::string any = "the text", name = "text " + std::to_string(text);
  if (error.message.compare(0, any.size(), any) == 0)
    error.message.replace(0, any.size(), name);
  else
    error.message = name + ": " + error.message;
  return error;
}

Error tools::inText(const TextInput &input, size_t text, Error error) {
  if (input.texts.empty())
    error.message = (input.getPath() == "-" ? "stdin" : input.getPath()) + ":" +
                    std::to_string(text + 1) + ": " + error.message;
  else if (input.texts.size() > 1)
    return inText(text, std::move(error));
  return error;
}

std::optional<NumberedError> tools::findNumber(const Error &error,
                                               const std::string &kind) {
  const std::string prefix = kind + " ";
  if (error.message.compare(0, prefix.size(), prefix) != 0)
    return std::nullopt;
  size_t number = 0;
  const char *begin = error.message.data() + prefix.size(),
             *end = error.message.data() + error.message.size();
  auto [next, failure] = std::from_chars(begin, end, number);
  if (failure != std::errc())
    return std::nullopt;
  const std::string rest(next, end);
  const std::string separator = rest.substr(0, 2);
  return NumberedError{number,
                       {error.status,
                        separator == ": " || separator == ", "
                            ? rest.substr(2)
                            : "the " + kind + rest,
                        error.notes}};
}

Error tools::inBatch(const TextInput &input, size_t first, size_t count,
                     Error error) {
  if (!input.texts.empty())
    return error;
  // The library does not number the only text in a call.
  if (count == 1)
    return inText(input, first, std::move(error));
  std::optional<NumberedError> one = findNumber(error, "text");
  return one ? inText(input, first + one->number, std::move(one->error))
             : error;
}

std::vector<transom_text>
tools::getViews(const std::vector<std::string> &texts) {
  std::vector<transom_text> views;
  for (const std::string &text : texts)
    views.push_back({text.data(), text.size()});
  return views;
}

/// Enlarges the buffer until the tokens fit.
Result<std::vector<transom_token>>
tools::tokenizeText(const transom_model *model, const TextOrPair &text,
                    const transom_tokenize_options &options,
                    uint32_t &truncated) {
  std::vector<transom_token> tokens(text.first.size() + 16);
  const transom_text view{text.first.data(), text.first.size()};
  transom_text second{};
  if (text.pair)
    second = {text.pair->data(), text.pair->size()};
  size_t count = 0;
  auto tokenize = [&] {
    return transom_model_tokenize(
        model, &view, text.pair ? &second : nullptr, &options, tokens.data(),
        tokens.size() * sizeof(transom_token), &count, &truncated);
  };
  transom_status status = tokenize();
  if (status == TRANSOM_STATUS_LIMIT && count > tokens.size()) {
    tokens.resize(count);
    status = tokenize();
  }
  if (status != TRANSOM_STATUS_OK)
    return lastError(status);
  tokens.resize(count);
  return tokens;
}

std::vector<int64_t> tools::getIds(const std::vector<transom_token> &tokens) {
  std::vector<int64_t> ids;
  for (const transom_token &token : tokens)
    ids.push_back(token.id);
  return ids;
}

/// Enlarges the buffer until the text fits.
Result<std::string> tools::detokenize(const transom_model *model,
                                      const std::vector<int64_t> &ids,
                                      uint32_t flags) {
  std::string text(ids.size() * 8 + 64, '\0');
  size_t size = 0;
  auto decode = [&] {
    return transom_model_detokenize(model, ids.data(), ids.size(), flags,
                                    text.data(), text.size(), &size);
  };
  transom_status status = decode();
  if (status == TRANSOM_STATUS_LIMIT && size > text.size()) {
    text.resize(size);
    status = decode();
  }
  if (status != TRANSOM_STATUS_OK)
    return lastError(status);
  text.resize(size);
  return text;
}

std::optional<std::string> tools::getToken(const transom_model *model,
                                           int64_t id) {
  std::string text(256, '\0');
  size_t size = 0;
  auto get = [&] {
    return transom_model_token_text(model, id, text.data(), text.size(), &size);
  };
  transom_status status = get();
  if (status == TRANSOM_STATUS_LIMIT) {
    text.resize(size);
    status = get();
  }
  if (status != TRANSOM_STATUS_OK)
    return std::nullopt;
  text.resize(size);
  return text;
}

bool tools::isBlank(const std::string &text) {
  for (size_t position = 0; position < text.size();)
    if (!unicode::isWhitespace(utf8::decode(text, position)))
      return false;
  return true;
}

Result<void> Languages::check(const transom_model *model) const {
  for (const std::string &language : {source, target}) {
    int64_t id = -1;
    if (!language.empty())
      TRANSOM_TRY(tools::check(
          transom_model_language_token(model, language.c_str(), &id)));
  }
  return {};
}

transom_tokenize_options Languages::getOptions(bool isTarget) const {
  transom_tokenize_options options = transom_tokenize_options_default();
  const std::string &language = isTarget ? target : source;
  if (!language.empty())
    options.language = language.c_str();
  options.target = isTarget;
  return options;
}

void tools::addLanguages(CLI::App &command, Languages &languages) {
  command
      .add_option("--source-lang", languages.source,
                  "the language of the texts, of a translator that has tokens "
                  "for languages")
      ->type_name("L");
  command
      .add_option("--target-lang", languages.target,
                  "the language that the model translates into")
      ->type_name("L");
}

Error tools::noTokenizer(const transom_model *model, const std::string &name,
                         const std::string &advice) {
  // Any call that needs a tokenizer reports the reason.
  size_t size = 0;
  Error error =
      lastError(transom_model_token_text(model, 0, nullptr, 0, &size));
  const std::string_view subject = "the model";
  if (error.message.compare(0, subject.size(), subject) == 0)
    error.message.replace(0, subject.size(), name);
  error.message += advice;
  return error;
}

Result<TextModel> tools::openTextModel(const std::string &path) {
  TRANSOM_ASSIGN(ModelPtr model, loadModel(path));
  TRANSOM_ASSIGN(transom_model_info info, getInfo(model.get()));
  if (info.vocabulary_size == 0)
    return noTokenizer(model.get(), quote(path));
  return TextModel{std::move(model), info};
}

Result<SessionPtr> tools::createTextSession(const transom_model *model,
                                            unsigned threads) {
  transom_session_options options = transom_session_options_default();
  options.threads = threads;
  options.max_batch = 32;
  options.hold_results = 1; // also for models whose main entry is another one
  return createSession(model, options);
}

void CutTexts::tell(const CommonFlags &common, size_t most) const {
  if (count > 0)
    note(common, std::to_string(count) +
                     (count == 1 ? " text was" : " texts were") +
                     " cut to the model's " + std::to_string(most) + " tokens");
}

Result<void> TextInput::validate() const {
  int sources = !texts.empty() + !file.empty() + !dash.empty();
  if (sources > 1)
    return usageError("'--text', '--file' and '-' exclude each other");
  if (sources == 0)
    return usageError("no text given; use --text, --file or -");
  if (!dash.empty() && dash != "-")
    return usageError("unexpected argument " + quote(dash) +
                      "; texts are given by --text, --file or -");
  return {};
}

Result<void> tools::forEachBatch(
    const TextInput &input, const CommonFlags &common,
    const std::function<Result<void>(std::vector<std::string>)> &run) {
  auto runAll = [&](std::vector<std::string> texts, TextProgress &progress) {
    const size_t count = texts.size();
    Result<void> done = run(std::move(texts));
    progress.add(count);
    return done;
  };
  return forEachBatch(input, common, textBatch, runAll);
}

Result<void> tools::forEachBatch(
    const TextInput &input, const CommonFlags &common, size_t most,
    const std::function<Result<void>(std::vector<std::string>, TextProgress &)>
        &run) {
  if (!input.texts.empty()) {
    TextProgress none("none", common.quiet);
    return run(input.texts, none);
  }
  LineReader reader;
  TRANSOM_TRY(reader.open(input.getPath()));
  TextProgress progress(input.progress, common.quiet);
  while (true) {
    // Wait for the first line, then take the available lines without waiting,
    // so that a program that writes a line gets its answer before it writes the
    // next.
    std::vector<std::string> texts;
    while (texts.size() < most) {
      TRANSOM_ASSIGN(std::optional<std::string> line,
                     reader.next(/*wait=*/texts.empty()));
      if (!line)
        break;
      texts.push_back(std::move(*line));
    }
    if (texts.empty())
      return {};
    progress.expect(texts.size(), reader.getShare());
    TRANSOM_TRY(run(std::move(texts), progress));
    TRANSOM_TRY(flushOut());
  }
}
