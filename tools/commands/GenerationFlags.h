// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flags of generation, which `generate` and `run ... generate` share, and
// lists of ids on the command line.
#pragma once
#include "tools/commands/Command.h"
#include "tools/commands/Models.h"
#include <limits>

namespace transom::tools {

/// The values of the flags; the model's files decide about unset ones.
struct GenerationFlags {
  transom_generate_options values = transom_generate_options_default();
  std::vector<int64_t> endIds;
  std::vector<std::string> stops, biases;
  bool ignoreEnd = false, truncate = false, shift = false;

  /// The options as the C API takes them.
  Result<void> finish();
  /// What finish() made; it belongs to the flags.
  const transom_generate_options *options() const { return &values; }

private:
  std::vector<transom_text> stopViews;
  std::vector<transom_logit_bias> biasValues;
};

/// Adds all of them to a command.
void addGenerationFlags(CLI::App &command, GenerationFlags &flags);

/// Adds `--top-logprobs`.
void addTopLogprobs(CLI::App &command, int32_t &count);

/// Adds `--ids`, lists of ids that are prompts or texts.
void addIds(CLI::App &command, std::vector<std::string> &lists);

/// The ids of a list such as "1,2,3"; empty for "".
Result<std::vector<int64_t>> parseIds(const std::string &list);

/// Lets SIGINT and SIGTERM cancel what a session runs, as long as it lives.
class CancelOnSignal {
public:
  explicit CancelOnSignal(transom_session *session);
  ~CancelOnSignal();
  CancelOnSignal(const CancelOnSignal &) = delete;
  CancelOnSignal &operator=(const CancelOnSignal &) = delete;
  /// `error`, with the exit code of the signal when there was one.
  Error explain(Error error) const;
};

/// The text of a token by itself; its id where it has none.
std::string getTokenText(const transom_model *model, int64_t id);

} // namespace transom::tools
