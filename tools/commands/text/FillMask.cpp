// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom fill-mask: prints one JSON line per text with the most likely tokens
// for each mask.
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/text/Texts.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

namespace {

struct FillMaskFlags {
  std::string model;
  std::vector<std::string> candidates;
  uint64_t topK = 5;
  TextInput input;
};

/// A masked language model and its session.
class MaskFiller {
public:
  static Result<MaskFiller> open(const FillMaskFlags &flags,
                                 const CommonFlags &common);
  Result<void> fill(const std::string &text);
  void finish(const CommonFlags &common) const {
    cuts.tell(common, model.info.max_text_tokens);
  }

private:
  Result<void> findCandidates(const std::vector<std::string> &names);
  Result<void> write(const std::string &text,
                     const std::vector<transom_fill> &fills,
                     const std::vector<size_t> &masks);

  TextModel model;
  SessionPtr session;
  std::vector<int64_t> candidates;
  size_t topK = 5;
  CutTexts cuts;
};

} // namespace

Result<void> MaskFiller::findCandidates(const std::vector<std::string> &names) {
  candidates.assign(names.size(), -1);
  for (size_t id = 0; !names.empty() && id != model.info.vocabulary_size; ++id)
    if (auto token = getToken(model.model.get(), int64_t(id)))
      for (size_t i = 0; i != names.size(); ++i)
        if (*token == names[i])
          candidates[i] = int64_t(id);
  for (size_t i = 0; i != names.size(); ++i)
    if (candidates[i] < 0)
      return usageError("--candidate " + quote(names[i]) +
                        " is not a token of the vocabulary; 'transom tokenize' "
                        "shows how a word is spelled there");
  return {};
}

Result<MaskFiller> MaskFiller::open(const FillMaskFlags &flags,
                                    const CommonFlags &common) {
  MaskFiller filler;
  TRANSOM_ASSIGN(filler.model, openTextModel(flags.model));
  const transom_model_info &info = filler.model.info;
  if (std::string(info.head) != "masked_lm")
    return unsupported(quote(flags.model) +
                       " is not a masked language model; its head is '" +
                       info.head + "'");
  TRANSOM_TRY(filler.findCandidates(flags.candidates));
  filler.topK = flags.topK;
  TRANSOM_ASSIGN(filler.session,
                 createTextSession(filler.model.model.get(), common.threads));
  return Result<MaskFiller>(std::move(filler));
}

Result<void> MaskFiller::fill(const std::string &text) {
  const transom_text view{text.data(), text.size()};
  // Start with room for a few masks.
  transom_fill_options options = transom_fill_options_default();
  options.top_k = topK;
  options.targets = candidates.data();
  options.num_targets = candidates.size();
  std::vector<size_t> masks(4);
  std::vector<transom_fill> fills(masks.size() * topK);
  size_t numMasks = 0, numFills = 0;
  uint32_t truncated = 0;
  auto run = [&] {
    return transom_session_fill_masks(
        session.get(), &view, &options, fills.data(),
        fills.size() * sizeof(transom_fill), masks.data(),
        masks.size() * sizeof(size_t), &numMasks, &numFills, &truncated);
  };
  // If there are more masks, repeat with enough room.
  transom_status status = run();
  if (status == TRANSOM_STATUS_LIMIT && numMasks > masks.size()) {
    masks.resize(numMasks);
    fills.resize(numMasks * numFills);
    status = run();
  }
  TRANSOM_TRY(check(status));
  masks.resize(numMasks);
  fills.resize(numMasks * numFills);
  cuts.count += truncated;
  return write(text, fills, masks);
}

Result<void> MaskFiller::write(const std::string &text,
                               const std::vector<transom_fill> &fills,
                               const std::vector<size_t> &masks) {
  const transom_model *handle = model.model.get();
  uint32_t truncated = 0;
  TRANSOM_ASSIGN(std::vector<transom_token> tokens,
                 tokenizeText(handle, {text, std::nullopt},
                              transom_tokenize_options_default(), truncated));
  const size_t perMask = fills.size() / masks.size();
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  json.key("masks");
  json.beginArray();
  for (size_t mask = 0; mask != masks.size(); ++mask) {
    json.beginArray();
    for (size_t i = 0; i != perMask; ++i) {
      const transom_fill &fill = fills[mask * perMask + i];
      std::vector<int64_t> ids = getIds(tokens);
      ids[masks[mask]] = fill.id;
      // Keep special tokens, so that other masks remain visible.
      TRANSOM_ASSIGN(
          std::string sequence,
          detokenize(handle, ids,
                     masks.size() == 1 ? TRANSOM_DETOKENIZE_SKIP_SPECIAL : 0));
      TRANSOM_ASSIGN(std::string token, detokenize(handle, {fill.id}, 0));
      json.beginObject();
      json.member("score", fill.score);
      json.member("token", fill.id);
      json.member("token_str", token);
      json.member("sequence", sequence);
      json.endObject();
    }
    json.endArray();
  }
  json.endArray();
  json.endObject();
  return writeOut(line + "\n");
}

static Result<void> runFillMask(const FillMaskFlags &flags,
                                const CommonFlags &common) {
  TRANSOM_TRY(flags.input.validate());
  TRANSOM_ASSIGN(MaskFiller filler, MaskFiller::open(flags, common));
  size_t text = 0;
  Result<void> done =
      forEachBatch(flags.input, common,
                   [&](const std::vector<std::string> &texts) -> Result<void> {
                     for (const std::string &each : texts)
                       if (Result<void> line = filler.fill(each); !line)
                         return inText(flags.input, text, line.takeError());
                       else
                         ++text;
                     return {};
                   });
  filler.finish(common);
  return done;
}

void tools::addFillMask(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(
      app, commands, "fill-mask",
      "print the tokens that fit into the masks of each text as JSON");
  auto flags = std::make_shared<FillMaskFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  addTextInput(*command.app, flags->input);
  command.app
      ->add_option("--top-k", flags->topK, "tokens of a mask (default: 5)")
      ->check(wholeNumber(1, 65536))
      ->type_name("N");
  command.app
      ->add_option("--candidate", flags->candidates,
                   "choose among these tokens only, spelled as in the "
                   "vocabulary; may be repeated")
      ->type_name("TOKEN")
      ->allow_extra_args(false);
  command.run = [flags](const CommonFlags &common) {
    return runFillMask(*flags, common);
  };
}
