// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom tag: prints one JSON line per text with labeled spans or entities.
#include "runtime/json/Json.h"
#include "runtime/text/Tags.h"
#include "tools/commands/Command.h"
#include "tools/commands/text/Entities.h"
#include "tools/commands/text/Texts.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

namespace {

struct TagFlags {
  std::string model, merge = "simple";
  std::vector<std::string> ignored = {"O"};
  TextInput input;
  EntityFlags entities;
  bool merges = false, ignores = false; ///< their flags are given
};

/// A token classification model, and its session.
class Tagger {
public:
  static Result<Tagger> open(TextModel model, const TagFlags &flags,
                             const CommonFlags &common);
  Result<void> tag(const std::string &text);
  void finish(const CommonFlags &common) const {
    cuts.tell(common, text.info.max_text_tokens);
  }

private:
  /// Spells a span by its tokens; parts without a token are as in the text.
  Result<std::string> spell(const std::string &text,
                            const std::vector<transom_token> &tokens,
                            const transom_span &span) const;
  /// Returns true for the unknown token: decoding omits it even though it has a
  /// spelling, unlike a single space marker.
  Result<bool> isUnknown(int64_t id) const;
  Result<void> writeSpan(JsonWriter &json, const std::string &text,
                         const std::vector<transom_token> &tokens,
                         const transom_span &span) const;

  TextModel text;
  SessionPtr session;
  transom_span_merge merge = TRANSOM_SPAN_MERGE_SIMPLE;
  std::vector<std::string> ignored;
  CutTexts cuts;
};

const std::vector<std::string> mergeNames = {"none", "simple", "first",
                                             "average", "max"};

} // namespace

Result<Tagger> Tagger::open(TextModel model, const TagFlags &flags,
                            const CommonFlags &common) {
  Tagger tagger;
  tagger.text = std::move(model);
  const transom_model_info &info = tagger.text.info;
  if (std::string(info.head) != "token_classification")
    return unsupported(quote(flags.model) +
                       " does not classify tokens; its head is '" + info.head +
                       "'");
  TRANSOM_ASSIGN(tagger.session,
                 createTextSession(tagger.text.model.get(), common.threads));
  tagger.merge = static_cast<transom_span_merge>(
      std::find(mergeNames.begin(), mergeNames.end(), flags.merge) -
      mergeNames.begin());
  tagger.ignored = flags.ignored;
  return Result<Tagger>(std::move(tagger));
}

Result<bool> Tagger::isUnknown(int64_t id) const {
  const transom_model *model = text.model.get();
  TRANSOM_ASSIGN(std::string shown,
                 detokenize(model, {id}, TRANSOM_DETOKENIZE_SKIP_SPECIAL));
  TRANSOM_ASSIGN(std::string whole, detokenize(model, {id}, 0));
  return shown.empty() && !whole.empty();
}

Result<std::string> Tagger::spell(const std::string &text,
                                  const std::vector<transom_token> &tokens,
                                  const transom_span &span) const {
  const transom_model *model = this->text.model.get();
  const std::string original = text.substr(span.begin, span.end - span.begin);
  if (merge == TRANSOM_SPAN_MERGE_NONE) {
    const int64_t id = tokens[span.token_begin].id;
    TRANSOM_ASSIGN(bool unknown, isUnknown(id));
    return unknown ? original : getToken(model, id).value_or(original);
  }
  std::string spelled;
  std::vector<int64_t> known;
  size_t begin = span.begin; // start of the known tokens
  bool marksSpaces = false;
  auto append = [&](const std::string &more, size_t at) {
    const bool isApart = !spelled.empty() && text[at - 1] == ' ';
    spelled += (isApart && more[0] != ' ' ? " " : "") + more;
  };
  auto appendKnown = [&]() -> Result<void> {
    // Decode as tokens, so that no setting cleans up spaces.
    TRANSOM_ASSIGN(std::string decoded,
                   detokenize(model, known,
                              TRANSOM_DETOKENIZE_SKIP_SPECIAL |
                                  TRANSOM_DETOKENIZE_KEEP_SPACES));
    if (!decoded.empty())
      append(decoded, begin);
    known.clear();
    return {};
  };
  for (size_t i = span.token_begin; i != span.token_end; ++i) {
    const transom_token &token = tokens[i];
    TRANSOM_ASSIGN(bool unknown, isUnknown(token.id));
    if (!unknown) {
      marksSpaces |= getToken(model, token.id).value_or("").rfind("▁", 0) == 0;
      if (known.empty())
        begin = token.begin;
      known.push_back(token.id);
      continue;
    }
    // The unknown token, which decoding omits.
    TRANSOM_TRY(appendKnown());
    append(text.substr(token.begin, token.end - token.begin), token.begin);
  }
  TRANSOM_TRY(appendKnown());
  // Transformers joins merged words as if they were tokens. These have no
  // spaces of their own if `▁` marks spaces.
  if (marksSpaces && merge != TRANSOM_SPAN_MERGE_SIMPLE)
    spelled.erase(std::remove(spelled.begin(), spelled.end(), ' '),
                  spelled.end());
  return spelled;
}

Result<void> Tagger::writeSpan(JsonWriter &json, const std::string &text,
                               const std::vector<transom_token> &tokens,
                               const transom_span &span) const {
  const std::string label =
      transom_model_label(this->text.model.get(), span.label);
  const bool isToken = merge == TRANSOM_SPAN_MERGE_NONE;
  const std::string name = isToken ? label : std::string(splitTag(label).name);
  if (std::find(ignored.begin(), ignored.end(), name) != ignored.end())
    return {};
  json.beginObject();
  json.member(isToken ? "entity" : "entity_group", name);
  json.member("score", span.score);
  if (isToken)
    json.member("index", static_cast<uint64_t>(span.token_begin));
  TRANSOM_ASSIGN(std::string word, spell(text, tokens, span));
  json.member("word", word);
  json.member("start", static_cast<uint64_t>(span.begin));
  json.member("end", static_cast<uint64_t>(span.end));
  json.endObject();
  return {};
}

Result<void> Tagger::tag(const std::string &text) {
  uint32_t truncated = 0;
  TRANSOM_ASSIGN(std::vector<transom_token> tokens,
                 tokenizeText(this->text.model.get(), {text, std::nullopt},
                              transom_tokenize_options_default(), truncated));
  const transom_text view{text.data(), text.size()};
  std::vector<transom_span> spans(tokens.size());
  size_t count = 0;
  TRANSOM_TRY(check(transom_session_tag(
      session.get(), &view, merge, spans.data(),
      spans.size() * sizeof(transom_span), &count, &truncated)));
  cuts.count += truncated;
  spans.resize(count);
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  json.key("entities");
  json.beginArray();
  for (const transom_span &span : spans)
    TRANSOM_TRY(writeSpan(json, text, tokens, span));
  json.endArray();
  json.endObject();
  return writeOut(line + "\n");
}

static Result<void> runTag(const TagFlags &flags, const CommonFlags &common) {
  TRANSOM_TRY(flags.input.validate());
  TRANSOM_ASSIGN(TextModel model, openTextModel(flags.model));
  TRANSOM_TRY(checkEntityFlags(model, flags.model, flags.entities));
  if (findsEntities(model) && (flags.merges || flags.ignores))
    return usageError(
        std::string(flags.merges ? "'--aggregation'" : "'--ignore'") +
        " is for models with labels of tokens; " + quote(flags.model) +
        " finds entities of given types");
  if (findsEntities(model))
    return printEntities(model, flags.input, flags.entities, common);
  TRANSOM_ASSIGN(Tagger tagger, Tagger::open(std::move(model), flags, common));
  size_t text = 0;
  Result<void> done =
      forEachBatch(flags.input, common,
                   [&](const std::vector<std::string> &texts) -> Result<void> {
                     for (const std::string &each : texts)
                       if (Result<void> line = tagger.tag(each); !line)
                         return inText(flags.input, text, line.takeError());
                       else
                         ++text;
                     return {};
                   });
  tagger.finish(common);
  return done;
}

void tools::addTag(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "tag",
                 "print the labelled spans of each text as a line of JSON");
  auto flags = std::make_shared<TagFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  addTextInput(*command.app, flags->input);
  addChoice(*command.app, "--aggregation", flags->merge, mergeNames,
            "how tokens become spans, as aggregation_strategy of transformers "
            "(default: simple)");
  command.app
      ->add_option("--ignore", flags->ignored,
                   "leave out spans of this label (default: O)")
      ->type_name("LABEL")
      ->allow_extra_args(false);
  addEntityFlags(*command.app, flags->entities);
  command.run = [flags, app = command.app](const CommonFlags &common) {
    flags->merges = app->count("--aggregation") != 0;
    flags->ignores = app->count("--ignore") != 0;
    return runTag(*flags, common);
  };
}
