// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library may report texts in any order.
#include "tools/commands/text/Entities.h"
#include "runtime/json/Json.h"

using namespace transom;
using namespace transom::tools;

void tools::addEntityFlags(CLI::App &command, EntityFlags &flags) {
  command
      .add_option("--entity", flags.types,
                  "a type of entities to find, with a model that takes types "
                  "(GLiNER); may be repeated")
      ->type_name("TYPE")
      ->allow_extra_args(false);
  command
      .add_option("--threshold", flags.threshold,
                  "with --entity: entities have larger scores (default: 0.5)")
      ->type_name("NUMBER")
      ->check(CLI::Range(0.0, 1.0));
  command.add_flag("--nested", flags.nested,
                   "with --entity: an entity may lie in another");
  command.add_flag("--multi-label", flags.multiLabel,
                   "with --entity: an entity may have several types");
}

bool tools::findsEntities(const TextModel &model) {
  return std::string(model.info.head) == "zero_shot_entities";
}

Result<void> tools::checkEntityFlags(const TextModel &model,
                                     const std::string &path,
                                     const EntityFlags &flags) {
  if (!findsEntities(model)) {
    if (flags.any())
      return unsupported(quote(path) +
                         " takes no types of entities; its head is '" +
                         model.info.head + "'");
    return {};
  }
  if (flags.types.empty())
    return usageError(quote(path) + " finds entities of types that are given; "
                                    "name one or more with '--entity'");
  for (const std::string &type : flags.types)
    if (type.empty())
      return usageError("'--entity' is empty; expected a type such as person");
  return {};
}

static std::string getLine(const std::string &text, const EntityFlags &flags,
                           const transom_entity *entities, size_t count) {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  json.key("entities");
  json.beginArray();
  for (size_t i = 0; i != count; ++i) {
    const transom_entity &entity = entities[i];
    json.beginObject();
    json.member("start", static_cast<uint64_t>(entity.begin));
    json.member("end", static_cast<uint64_t>(entity.end));
    json.member("text", text.substr(entity.begin, entity.end - entity.begin));
    json.member("label", flags.types[entity.type]);
    json.member("score", entity.score);
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return line + "\n";
}

namespace {
/// Data for building the lines.
struct EntityLines {
  const std::vector<std::string> &texts;
  const EntityFlags &flags;
  CutTexts &cuts;
  std::vector<std::string> lines;
};
} // namespace

/// Returns the lines in text order.
static Result<std::vector<std::string>>
getLines(transom_session *session, const std::vector<std::string> &texts,
         const EntityFlags &flags, CutTexts &cuts) {
  EntityLines made = {texts, flags, cuts,
                      std::vector<std::string>(texts.size())};
  auto take = [](void *context, size_t text, const transom_entity *entities,
                 size_t count, uint32_t truncated) {
    auto &own = *static_cast<EntityLines *>(context);
    own.cuts.count += truncated;
    own.lines[text] = getLine(own.texts[text], own.flags, entities, count);
  };
  transom_entity_options options = transom_entity_options_default();
  options.threshold = flags.threshold.value_or(options.threshold);
  options.nested = flags.nested;
  options.multi_label = flags.multiLabel;
  const std::vector<transom_text> views = getViews(texts),
                                  types = getViews(flags.types);
  TRANSOM_TRY(check(transom_session_find_entities_batch(
      session, views.data(), views.size(), types.data(), types.size(), &options,
      take, &made)));
  return std::move(made.lines);
}

Result<void> tools::printEntities(const TextModel &model,
                                  const TextInput &input,
                                  const EntityFlags &flags,
                                  const CommonFlags &common) {
  TRANSOM_ASSIGN(SessionPtr session,
                 createTextSession(model.model.get(), common.threads));
  size_t first = 0;
  CutTexts cuts;
  auto print = [&](const std::vector<std::string> &texts) -> Result<void> {
    Result<std::vector<std::string>> lines =
        getLines(session.get(), texts, flags, cuts);
    if (!lines)
      return inBatch(input, first, texts.size(), lines.takeError());
    first += texts.size();
    for (const std::string &line : *lines)
      TRANSOM_TRY(writeOut(line));
    return {};
  };
  Result<void> done = forEachBatch(input, common, print);
  cuts.tell(common, model.info.max_text_tokens);
  return done;
}
