// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common parts of text commands: text sources, sessions that fit a batch, and
// the note about truncated texts.
#pragma once
#include "tools/commands/Command.h"
#include "tools/commands/Models.h"
#include "tools/commands/text/Lines.h"
#include <optional>

namespace transom::tools {

/// Max texts per batch.
inline constexpr size_t textBatch = 256;

/// A command's texts: from `--text`, or the lines in a file.
struct TextInput {
  std::vector<std::string> texts; ///< from `--text`
  std::string file;               ///< from `--file`
  std::string dash;               ///< the positional `-`
  std::string progress = "auto";  ///< from `--progress`
  /// Fails unless exactly one source was given.
  Result<void> validate() const;
  /// Returns the file path; `-` is stdin.
  const std::string &getPath() const { return file.empty() ? dash : file; }
};

/// Adds `--text`, `--file`, `-` and `--progress`.
void addTextInput(CLI::App &command, TextInput &input);
/// Adds `--progress`.
void addTextProgress(CLI::App &command, std::string &progress);
/// Adds `--pair`, the second text for each `--text`.
void addPairs(CLI::App &command, std::vector<std::string> &pairs,
              const std::string &help);
/// Fails unless there are no pairs or one for each `--text`.
Result<void> checkPairs(const TextInput &input,
                        const std::vector<std::string> &pairs);

/// Calls `run` with up to `textBatch` texts at a time, in order, and flushes
/// stdout after each call. A batch ends early if reading a further line would
/// block. A line ends with a newline, optionally preceded by a carriage return;
/// the last line may lack it.
Result<void>
forEachBatch(const TextInput &input, const CommonFlags &common,
             const std::function<Result<void>(std::vector<std::string>)> &run);

/// Does the same with up to `most` texts at a time; `run` counts finished
/// texts.
Result<void> forEachBatch(
    const TextInput &input, const CommonFlags &common, size_t most,
    const std::function<Result<void>(std::vector<std::string>, TextProgress &)>
        &run);

/// Prepends a text's location to an error: `FILE:LINE`, or its number if there
/// are several `--text`. Texts count from 0.
Error inText(const TextInput &input, size_t text, Error error);
/// Names one of several texts in an error, in place of "the text".
Error inText(size_t text, Error error);
/// An error about one of the texts, prompts or rows in a library call.
struct NumberedError {
  size_t number; ///< index of the text in the call
  Error error;   ///< without the number
};
/// Splits an error that begins with a kind and a number: for `prompt`,
/// `prompt 3: ...` and `prompt 3, ...` become `...`, and `prompt 3 has ...`
/// becomes `the prompt has ...`.
std::optional<NumberedError> findNumber(const Error &error,
                                        const std::string &kind);
/// Prepends the location for an error in a library call on `count` texts that
/// starts at text `first`. The error contains the text's index in the call.
Error inBatch(const TextInput &input, size_t first, size_t count, Error error);

/// Returns the texts as C API views; they refer to `texts`.
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

/// Tokenizes a text of any length; sets `truncated` to 1 if it was truncated to
/// the model's limit.
Result<std::vector<transom_token>>
tokenizeText(const transom_model *model, const TextOrPair &text,
             const transom_tokenize_options &options, uint32_t &truncated);

/// Returns the token ids.
std::vector<int64_t> getIds(const std::vector<transom_token> &tokens);

/// Decodes ids; `flags` are `transom_detokenize_flags`.
Result<std::string> detokenize(const transom_model *model,
                               const std::vector<int64_t> &ids, uint32_t flags);

/// Returns a token's spelling in the vocabulary; nullopt if the id has none.
std::optional<std::string> getToken(const transom_model *model, int64_t id);

/// Returns true for a text that contains only white space.
bool isBlank(const std::string &text);

/// Source and target language for a translator; empty: from the model's files.
struct Languages {
  std::string source, target;
  /// Fails with `Usage` for a language that the model does not know.
  Result<void> check(const transom_model *model) const;
  /// Returns the tokenization options for one language; they refer to this
  /// object.
  transom_tokenize_options getOptions(bool isTarget) const;
};
/// Adds `--source-lang` and `--target-lang`.
void addLanguages(CLI::App &command, Languages &languages);

/// Returns the error for a model without a tokenizer, with the reason from its
/// files: `NAME has no tokenizer: REASON`, then `advice`.
Error noTokenizer(const transom_model *model, const std::string &name,
                  const std::string &advice = "");

/// Loads a model; fails with `Unsupported` if it has no tokenizer.
Result<TextModel> openTextModel(const std::string &path);

/// Creates a session for texts in any number and length.
Result<SessionPtr> createTextSession(const transom_model *model,
                                     unsigned threads);

/// Counts texts that were truncated to the model's limit.
struct CutTexts {
  size_t count = 0;
  /// Prints a note if there are any.
  void tell(const CommonFlags &common, size_t most) const;
};

} // namespace transom::tools
