// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks numbers independently of the model; the library checks the rest.
#include "tools/commands/generate/GenerationFlags.h"
#include "runtime/generate/GenerationOptions.h"
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>

using namespace transom;
using namespace transom::tools;

/// Adds the flag for an integer option.
static void addOption(CLI::App &command, const GenerationOption &option,
                      int64_t &value) {
  command.add_option(option.flag, value, option.help)
      ->type_name("N")
      ->check(wholeNumber(int64_t(option.flagLow)));
}

/// Adds the flag for a floating-point option.
static void addOption(CLI::App &command, const GenerationOption &option,
                      double &value) {
  const double low = option.flagLow, high = option.high;
  command.add_option(option.flag, value, option.help)
      ->type_name("X")
      ->check([low, high](const std::string &text) -> std::string {
        char *end = nullptr;
        const double given = strtod(text.c_str(), &end);
        if (end != text.c_str() && !*end && given >= low && given <= high)
          return {};
        char range[96];
        if (high == GenerationOption::unbounded)
          snprintf(range, sizeof range, "expected a number, %g or more", low);
        else
          snprintf(range, sizeof range, "expected a number in [%g, %g]", low,
                   high);
        return range + (", got '" + text + "'");
      });
}

/// Adds the flag for an enumerated option: the value is the index of the word.
static void addOption(CLI::App &command, const GenerationOption &option,
                      int32_t &value) {
  std::vector<std::string> words;
  std::stringstream list(option.words);
  for (std::string word; std::getline(list, word, ',');)
    words.push_back(word);
  auto given = std::make_shared<std::string>();
  addChoice(command, option.flag, *given, words, option.help)
      ->each([given, words, &value](const std::string &word) {
        value = int32_t(std::find(words.begin(), words.end(), word) -
                        words.begin());
      });
}

void tools::addTopLogprobs(CLI::App &command, int32_t &count) {
  command
      .add_option("--top-logprobs", count,
                  "also the log-probabilities, and so many of the most "
                  "probable tokens at each place")
      ->type_name("N")
      ->check(wholeNumber(0, 1024));
}

/// Adds flags for end conditions and the context.
static void addEnds(CLI::App &command, GenerationFlags &flags) {
  command
      .add_option("--eos-token-id", flags.endIds,
                  "end tokens (default: as the model says)")
      ->type_name("ID,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(wholeNumber(INT64_MIN));
  command.add_flag("--ignore-eos", flags.ignoreEnd,
                   "an end token may be chosen and does not stop");
  command
      .add_option("--stop", flags.stops,
                  "end where this text appears (repeatable)")
      ->type_name("T")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  CLI::Option *truncate = command.add_flag(
      "--truncate-prompt", flags.truncate,
      "keep the last tokens of a prompt that is longer than the context");
  command
      .add_flag("--context-shift", flags.shift,
                "go on with the last half of a full context")
      ->excludes(truncate);
}

void tools::addGenerationFlags(CLI::App &command, GenerationFlags &flags) {
  visitGenerationOptions([&](const GenerationOption &option, auto, auto field) {
    if constexpr (!std::is_null_pointer_v<decltype(field)>)
      addOption(command, option, flags.values.*field);
  });
  command
      .add_option("--logit-bias", flags.biases,
                  "add to the logit of a token; -inf excludes it (repeatable)")
      ->type_name("ID:X")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--seed", flags.values.seed,
                  "seed of the random numbers (default 0)")
      ->type_name("N")
      ->check(wholeNumber(0, UINT64_MAX));
  addEnds(command, flags);
}

void tools::addIds(CLI::App &command, std::vector<std::string> &lists) {
  command
      .add_option("--ids", lists, "token ids in place of a text (repeatable)")
      ->type_name("ID,...")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<std::vector<int64_t>> tools::parseIds(const std::string &list) {
  std::vector<int64_t> ids;
  const char *at = list.c_str();
  while (*at) {
    char *end = nullptr;
    errno = 0;
    const long long id = strtoll(at, &end, 10);
    if (end == at || errno || (*end && *end != ',' && *end != ' '))
      return usageError("'--ids' takes whole numbers with commas between "
                        "them, got '" +
                        list + "'");
    ids.push_back(id);
    at = end;
    while (*at == ',' || *at == ' ')
      ++at;
  }
  return ids;
}

/// Parses a bias such as "15:-2.5".
static Result<transom_logit_bias> parseBias(const std::string &text) {
  char *end = nullptr, *last = nullptr;
  errno = 0;
  const long long id = strtoll(text.c_str(), &end, 10);
  const bool separated = end != text.c_str() && *end == ':' && !errno;
  const double bias = separated ? strtod(end + 1, &last) : 0;
  if (!separated || last == end + 1 || *last)
    return usageError("'--logit-bias' takes ID:X, such as 15:-2.5, got '" +
                      text + "'");
  return transom_logit_bias{id, bias};
}

Result<void> GenerationFlags::finish() {
  for (const std::string &text : biases) {
    TRANSOM_ASSIGN(transom_logit_bias bias, parseBias(text));
    biasValues.push_back(bias);
  }
  for (const std::string &stop : stops)
    stopViews.push_back({stop.data(), stop.size()});
  values.ignore_end = ignoreEnd;
  values.context_policy = shift      ? TRANSOM_CONTEXT_SHIFT
                          : truncate ? TRANSOM_CONTEXT_TRUNCATE
                                     : TRANSOM_CONTEXT_STOP;
  values.end_ids = endIds.empty() ? nullptr : endIds.data();
  values.num_end_ids = endIds.size();
  values.biases = biasValues.data();
  values.num_biases = biasValues.size();
  values.stops = stopViews.empty() ? nullptr : stopViews.data();
  values.num_stops = stopViews.size();
  return {};
}

static transom_session *volatile signalled = nullptr;
static volatile sig_atomic_t received = 0;

static void cancelSession(int signal) {
  received = signal;
  if (signalled)
    transom_session_cancel(signalled);
}

CancelOnSignal::CancelOnSignal(transom_session *session) {
  signalled = session;
  signal(SIGINT, cancelSession);
  signal(SIGTERM, cancelSession);
}

CancelOnSignal::~CancelOnSignal() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signalled = nullptr;
}

Error CancelOnSignal::explain(Error error) const {
  if (received && int(error.status) == TRANSOM_STATUS_CANCELLED)
    error = {Status(128 + received), "interrupted", {}};
  return error;
}

std::string tools::getTokenText(const transom_model *model, int64_t id) {
  size_t size = 0;
  std::string text(64, '\0');
  transom_status status = transom_model_detokenize(
      model, &id, 1, 0, text.data(), text.size(), &size);
  if (status == TRANSOM_STATUS_LIMIT && size > text.size()) {
    text.resize(size);
    status = transom_model_detokenize(model, &id, 1, 0, text.data(),
                                      text.size(), &size);
  }
  if (status != TRANSOM_STATUS_OK)
    return std::to_string(id);
  text.resize(size);
  return text;
}
