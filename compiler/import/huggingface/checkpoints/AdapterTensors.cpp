// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor names come from the wrapped model:
// `base_model.model.MODULE.lora_A.weight`, with the wrappers added by PEFT and
// torch between the modules.
#include "compiler/import/huggingface/checkpoints/AdapterTensors.h"
#include "compiler/import/huggingface/checkpoints/PeftAdapter.h"
#include "runtime/base/Utf8.h"
#include <algorithm>

namespace transom {
namespace {

/// Name components that are not model modules.
constexpr const char *wrappers[] = {"base_layer", "modules_to_save", "default",
                                    "_orig_mod"};

/// Returns a name without its prefix in the model.
std::string getOwnName(const std::string &name) {
  return name.substr(std::string(adapterPrefix).size());
}

/// Splits a name into modules and parameter.
std::vector<std::string> splitName(const std::string &name) {
  std::string rest = getOwnName(name);
  for (const std::string start : {"base_model.model.", "base_model."})
    if (rest.rfind(start, 0) == 0) {
      rest.erase(0, start.size());
      break;
    }
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= rest.size();) {
    const size_t end = std::min(rest.find('.', begin), rest.size());
    words.push_back(rest.substr(begin, end - begin));
    begin = end + 1;
  }
  words.erase(std::remove_if(words.begin(), words.end(),
                             [](const std::string &word) {
                               return std::count(std::begin(wrappers),
                                                 std::end(wrappers), word);
                             }),
              words.end());
  return words;
}

std::string join(std::vector<std::string>::const_iterator begin,
                 std::vector<std::string>::const_iterator end) {
  std::string text;
  for (auto word = begin; word != end; ++word)
    text += (text.empty() ? "" : ".") + *word;
  return text;
}

/// Returns the member for a tensor in a change, by the name component added by
/// PEFT; null for others.
std::string *findPlace(ModuleChange &change, const std::string &part) {
  if (part == "lora_A.weight")
    return &change.a;
  if (part == "lora_B.weight")
    return &change.b;
  if (part == "lora_B.bias")
    return &change.bias;
  if (part == "lora_embedding_A" || part == "lora_embedding_B") {
    change.isTable = true;
    return part.back() == 'A' ? &change.a : &change.b;
  }
  if (part == "lora_magnitude_vector" || part == "lora_magnitude_vector.weight")
    return &change.magnitude;
  if (part == "token_adapter.trainable_tokens_delta" ||
      part == "trainable_tokens_delta")
    return &change.tokens;
  return nullptr;
}

Result<void> addTensor(AdapterTensors &tensors, const std::string &folder,
                       const std::string &name) {
  const std::vector<std::string> words = splitName(name);
  const auto part =
      std::find_if(words.begin(), words.end(), [](const std::string &word) {
        return word.rfind("lora_", 0) == 0 || word == "token_adapter" ||
               word == "trainable_tokens_delta";
      });
  if (words.size() < 2 || part == words.begin())
    return getAdapterError(folder, name, "names no module of a model");
  if (part == words.end()) {
    tensors.wholes.push_back(
        {name, join(words.begin(), words.end() - 1), words.back()});
    return {};
  }
  if (*part == "lora_velora_embed") // used in training only
    return {};
  ModuleChange &change = tensors.modules[join(words.begin(), part)];
  std::string *place = findPlace(change, join(part, words.end()));
  if (!place)
    return getAdapterError(folder, name,
                           "is of a kind of adapter that is not supported",
                           Status::Unsupported);
  if (!place->empty())
    return getAdapterError(folder, name,
                           "is for the same parameter as '" +
                               utf8::printable(getOwnName(*place)) + "'");
  *place = name;
  return {};
}

} // namespace

bool AdapterTensors::changes(const std::string &parameter) const {
  const bool isWhole =
      std::any_of(wholes.begin(), wholes.end(), [&](const WholeTensor &whole) {
        return whole.module + "." + whole.parameter == parameter;
      });
  return isWhole || modules.count(parameter.substr(0, parameter.rfind('.')));
}

bool AdapterTensors::replacesRows(const std::string &parameter) const {
  return std::any_of(modules.begin(), modules.end(), [&](const auto &entry) {
    const std::string own = "." + entry.first + ".weight";
    const std::string name = "." + parameter;
    return !entry.second.tokens.empty() && name.size() >= own.size() &&
           name.compare(name.size() - own.size(), own.size(), own) == 0;
  });
}

Error getAdapterError(const std::string &folder, const std::string &name,
                      const std::string &text, Status status) {
  return {status,
          joinPath(folder, adapterWeights) + ": tensor '" +
              utf8::printable(getOwnName(name)) + "' " + text,
          {}};
}

Result<AdapterTensors> readAdapterTensors(ModelFiles &files,
                                          const std::string &folder) {
  const std::vector<std::string> before = files.names();
  TRANSOM_TRY(files.addAdapter(folder, adapterWeights, adapterPrefix));
  AdapterTensors tensors;
  bool isEmpty = true;
  for (const std::string &name : files.names())
    if (!std::binary_search(before.begin(), before.end(), name)) {
      isEmpty = false;
      TRANSOM_TRY(addTensor(tensors, folder, name));
    }
  if (isEmpty)
    return rejected(joinPath(folder, adapterWeights) +
                    ": the adapter has no tensors");
  return Result<AdapterTensors>(std::move(tensors));
}

/// Consecutive rows from the table or the tensor form one slice.
WeightExpr replaceRows(const WeightExpr &table, int64_t count,
                       const std::string &rows,
                       const std::vector<int64_t> &ids) {
  // The last row for an id is used.
  std::map<int64_t, int64_t> sources;
  for (size_t i = 0; i < ids.size(); ++i)
    sources[ids[i]] = static_cast<int64_t>(i);
  std::vector<WeightExpr> parts;
  int64_t next = 0; // first table row not yet in a part
  for (auto place = sources.begin(); place != sources.end();) {
    const auto [id, source] = *place;
    if (id > next)
      parts.push_back(WeightExpr::slice(table, 0, next, id - next));
    int64_t size = 0;
    for (; place != sources.end() && place->first == id + size &&
           place->second == source + size;
         ++place)
      ++size;
    parts.push_back(WeightExpr::slice(WeightExpr::file(rows), 0, source, size));
    next = id + size;
  }
  if (next < count)
    parts.push_back(WeightExpr::slice(table, 0, next, count - next));
  return parts.size() == 1 ? parts.front()
                           : WeightExpr::concat(0, std::move(parts));
}

} // namespace transom
