// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generation flags, which `generate` and `run ... generate` share, and id lists
// on the command line.
#pragma once
#include "tools/commands/Command.h"
#include "tools/commands/Models.h"
#include <limits>

namespace transom::tools {

/// Flag values; the model's files provide defaults.
struct GenerationFlags {
  transom_generate_options values = transom_generate_options_default();
  std::vector<int64_t> endIds;
  std::vector<std::string> stops, biases;
  bool ignoreEnd = false, truncate = false, shift = false;

  /// Converts the values to C API options.
  Result<void> finish();
  /// Returns the options after finish(); they belong to the flags.
  const transom_generate_options *options() const { return &values; }

private:
  std::vector<transom_text> stopViews;
  std::vector<transom_logit_bias> biasValues;
};

/// Adds all generation flags to a command.
void addGenerationFlags(CLI::App &command, GenerationFlags &flags);

/// Adds `--top-logprobs`.
void addTopLogprobs(CLI::App &command, int32_t &count);

/// Adds `--ids`, id lists that are prompts or texts.
void addIds(CLI::App &command, std::vector<std::string> &lists);

/// Parses an id list such as "1,2,3"; empty for "".
Result<std::vector<int64_t>> parseIds(const std::string &list);

/// While it exists, SIGINT and SIGTERM cancel the session's current call.
class CancelOnSignal {
public:
  explicit CancelOnSignal(transom_session *session);
  ~CancelOnSignal();
  CancelOnSignal(const CancelOnSignal &) = delete;
  CancelOnSignal &operator=(const CancelOnSignal &) = delete;
  /// Returns `error`, with the signal's exit code if a signal arrived.
  Error explain(Error error) const;
};

/// Returns a token's text, or its id if it has none.
std::string getTokenText(const transom_model *model, int64_t id);

} // namespace transom::tools
