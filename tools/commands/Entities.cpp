// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text has few entities, so that the first call for one has room for some,
// and a second one is made where that was not enough.
#include "tools/commands/Entities.h"
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

/// The entities of one text.
static Result<std::vector<transom_entity>>
findEntities(transom_session *session, const std::string &text,
             const EntityFlags &flags, uint32_t &truncated) {
  const std::vector<transom_text> types = getViews(flags.types);
  transom_entity_options options = transom_entity_options_default();
  options.threshold = flags.threshold.value_or(options.threshold);
  options.nested = flags.nested;
  options.multi_label = flags.multiLabel;
  const transom_text view{text.data(), text.size()};
  std::vector<transom_entity> entities(64);
  size_t count = 0;
  auto find = [&] {
    return transom_session_find_entities(
        session, &view, types.data(), types.size(), &options, entities.data(),
        entities.size() * sizeof(transom_entity), &count, &truncated);
  };
  transom_status status = find();
  if (status == TRANSOM_STATUS_LIMIT && count > entities.size()) {
    entities.resize(count);
    status = find();
  }
  TRANSOM_TRY(check(status));
  entities.resize(count);
  return entities;
}

static std::string getLine(const std::string &text, const EntityFlags &flags,
                           const std::vector<transom_entity> &entities) {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  json.key("entities");
  json.beginArray();
  for (const transom_entity &entity : entities) {
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

Result<void> tools::printEntities(const TextModel &model,
                                  const TextInput &input,
                                  const EntityFlags &flags,
                                  const CommonFlags &common) {
  TRANSOM_ASSIGN(SessionPtr session,
                 createTextSession(model.model.get(), common.threads));
  size_t number = 0;
  CutTexts cuts;
  auto print = [&](const std::vector<std::string> &texts) -> Result<void> {
    for (const std::string &text : texts) {
      uint32_t truncated = 0;
      Result<std::vector<transom_entity>> entities =
          findEntities(session.get(), text, flags, truncated);
      if (!entities)
        return inText(input, number, entities.takeError());
      TRANSOM_TRY(writeOut(getLine(text, flags, *entities)));
      cuts.count += truncated;
      ++number;
    }
    return {};
  };
  Result<void> done = forEachBatch(input, common, print);
  cuts.tell(common, model.info.max_text_tokens);
  return done;
}
