// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the commands on texts share: their input, sessions that fit a batch,
// and the note about texts that were cut.
#pragma once
#include "tools/commands/Command.h"
#include "tools/commands/Models.h"

namespace transom::tools {

/// Texts that are read and handed to the model at a time.
inline constexpr size_t textBatch = 256;

/// Texts for a command: of `--text`, of a file (`-` is stdin) one a line.
struct TextInput {
  std::vector<std::string> texts; ///< of `--text`
  std::string file;               ///< of `--file`
  std::string dash;               ///< the positional `-`
  /// An error unless exactly one source was given.
  Result<void> validate() const;
};

/// Adds `--text`, `--file` and `-`.
void addTextInput(CLI::App &command, TextInput &input);

/// Calls `take` with up to `batch` texts at a time, in order. A line ends with
/// a newline, which a carriage return may precede; the last may lack it.
Result<void>
forEachBatch(const TextInput &input, size_t batch,
             const std::function<Result<void>(std::vector<std::string>)> &take);

/// An error in a text, with its place before it: `FILE:LINE`, or its number
/// where flags give several. Texts count from 0.
Error inText(const TextInput &input, size_t text, Error error);
/// An error in a text of several; what it says of "the text" it says of this.
Error inText(size_t text, Error error);

/// The texts as the C API takes them; they belong to `texts`.
std::vector<transom_text> viewsOf(const std::vector<std::string> &texts);

/// A model with a tokenizer.
struct TextModel {
  ModelPtr model;
  transom_model_info info;
};

/// Loads it; `Unsupported` without a tokenizer.
Result<TextModel> openTextModel(const std::string &path);

/// A session for texts of any number and length.
Result<SessionPtr> textSession(const transom_model *model, unsigned threads);

/// Counts the texts that were longer than the model takes.
struct CutTexts {
  size_t count = 0;
  /// A note about them, if any.
  void tell(const CommonFlags &common, size_t most) const;
};

} // namespace transom::tools
