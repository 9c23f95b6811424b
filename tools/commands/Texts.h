// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common parts of the commands that work on texts: where texts come from,
// sessions that fit a batch, and the note about truncated texts.
#pragma once
#include "tools/commands/Command.h"
#include "tools/commands/Lines.h"
#include "tools/commands/Models.h"
#include <optional>

namespace transom::tools {

/// The number of texts of a batch at most.
inline constexpr size_t textBatch = 256;

/// The texts of a command: those of `--text`, or the lines of a file.
struct TextInput {
  std::vector<std::string> texts; ///< of `--text`
  std::string file;               ///< of `--file`
  std::string dash;               ///< the positional `-`
  std::string progress = "auto";  ///< of `--progress`
  /// Returns an error unless exactly one source was given.
  Result<void> validate() const;
  /// The file; `-` is stdin.
  const std::string &getPath() const { return file.empty() ? dash : file; }
};

/// Adds `--text`, `--file`, `-` and `--progress`.
void addTextInput(CLI::App &command, TextInput &input);
/// Adds `--progress`.
void addTextProgress(CLI::App &command, std::string &progress);
/// Adds `--pair`, the second text of each `--text`.
void addPairs(CLI::App &command, std::vector<std::string> &pairs,
              const std::string &help);
/// Returns an error unless there are no pairs or one for each `--text`.
Result<void> checkPairs(const TextInput &input,
                        const std::vector<std::string> &pairs);

/// Calls `run` with up to `textBatch` texts at a time, in order, and flushes
/// stdout after each call. A batch ends early when no further line can be read
/// without waiting. A line ends with a newline, which a carriage return may
/// precede; the last line may lack it.
Result<void>
forEachBatch(const TextInput &input, const CommonFlags &common,
             const std::function<Result<void>(std::vector<std::string>)> &run);

/// The same with up to `most` texts at a time, of which `run` counts those that
/// are done.
Result<void> forEachBatch(
    const TextInput &input, const CommonFlags &common, size_t most,
    const std::function<Result<void>(std::vector<std::string>, TextProgress &)>
        &run);

/// Prepends the location of a text to an error: `FILE:LINE`, or the number of
/// the text if there are several `--text`. Texts count from 0.
Error inText(const TextInput &input, size_t text, Error error);
/// Names one of several texts in an error, in place of "the text".
Error inText(size_t text, Error error);
/// An error about one of the texts, prompts or rows of a library call.
struct NumberedError {
  size_t number; ///< of the text in the call
  Error error;   ///< without the number
};
/// The error of one of them if it begins with its kind and number: of `prompt`,
/// `prompt 3: ...` and `prompt 3, ...` become `...`, and `prompt 3 has ...`
/// becomes `the prompt has ...`.
std::optional<NumberedError> findNumber(const Error &error,
                                        const std::string &kind);
/// The same for an error of a library call on a batch of `count` texts, of
/// which `first` is the first. The error itself says which text of the call it
/// is.
Error inBatch(const TextInput &input, size_t first, size_t count, Error error);

/// The texts as the C API takes them; they refer to `texts`.
std::vector<transom_text> getViews(const std::vector<std::string> &texts);

/// A model with a tokenizer.
struct TextModel {
  ModelPtr model;
  transom_model_info info;
};

/// A text, or a pair of texts.
struct TextOrPair {
  std::string first;
  std::optional<std::string> pair;
};

/// The tokens of a text, as many as there are; `truncated` is set to 1 if it
/// was cut to the model's limit.
Result<std::vector<transom_token>>
tokenizeText(const transom_model *model, const TextOrPair &text,
             const transom_tokenize_options &options, uint32_t &truncated);

/// The ids of tokens.
std::vector<int64_t> getIds(const std::vector<transom_token> &tokens);

/// The text of ids; `flags` are `transom_detokenize_flags`.
Result<std::string> detokenize(const transom_model *model,
                               const std::vector<int64_t> &ids, uint32_t flags);

/// A token as the vocabulary spells it; nothing where the id has none.
std::optional<std::string> getToken(const transom_model *model, int64_t id);

/// Whether a text has no character but white space.
bool isBlank(const std::string &text);

/// The languages of a translator's texts; empty: as the model's files say.
struct Languages {
  std::string source, target;
  /// `Usage` for a language that the model does not know.
  Result<void> check(const transom_model *model) const;
  /// How texts are tokenized in one of them, which the result refers to.
  transom_tokenize_options getOptions(bool isTarget) const;
};
/// Adds `--source-lang` and `--target-lang`.
void addLanguages(CLI::App &command, Languages &languages);

/// The error of a model without a tokenizer, with the reason that its files
/// gave: `NAME has no tokenizer: REASON`, then `advice`.
Error noTokenizer(const transom_model *model, const std::string &name,
                  const std::string &advice = "");

/// Loads a model; `Unsupported` if it has no tokenizer.
Result<TextModel> openTextModel(const std::string &path);

/// Creates a session for texts of any number and length.
Result<SessionPtr> createTextSession(const transom_model *model,
                                     unsigned threads);

/// Counts the texts that were truncated to the model's limit.
struct CutTexts {
  size_t count = 0;
  /// Prints a note if there are any.
  void tell(const CommonFlags &common, size_t most) const;
};

} // namespace transom::tools
