// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folder tensors as one source: finding the files, the shard index, and reading
// blocks with conversion.
#include "compiler/safetensors/Safetensors.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/JsonParser.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>

namespace transom {
namespace {

constexpr const char *singleFile = "model.safetensors";
constexpr const char *indexFile = "model.safetensors.index.json";

/// The command that converts PyTorch weights in a folder.
std::string getConversion(const std::string &folder) {
  return "python -c \"import glob, torch; from safetensors.torch import "
         "save_file; save_file({k: v.clone().contiguous() for f in "
         "sorted(glob.glob('" +
         folder +
         "/pytorch_model*.bin')) for k, v in torch.load(f, 'cpu', "
         "weights_only=True).items()}, '" +
         folder + "/" + singleFile + "', {'format': 'pt'})\"";
}

/// The error for a folder without safetensors: other formats are never opened.
Error noWeights(const std::string &folder) {
  std::string shown = utf8::printable(folder, 400);
  if (!isFolder(folder))
    return unavailable("cannot open '" + shown + "': no such folder");
  for (const char *other :
       {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5",
        "flax_model.msgpack", "model.ckpt.index", "adapter_model.safetensors"})
    if (fileExists(joinPath(folder, other))) {
      const bool isPyTorch = std::string_view(other).substr(0, 8) == "pytorch_";
      return unsupported(
          "'" + shown + "' has no '" + singleFile + "', only '" + other +
          "', which is not read; convert it to '" + singleFile + "'" +
          (isPyTorch ? ": " + getConversion(shown)
                     : " (save_pretrained(..., safe_serialization=True))"));
    }
  return unavailable("'" + shown + "' has no '" + singleFile + "' and no '" +
                     indexFile + "'");
}

/// Reads each tensor's shard from the index.
Result<std::vector<std::pair<std::string, std::string>>>
readIndex(const std::string &path) {
  TRANSOM_ASSIGN(JsonDocument json, parseJsonFile(path, JsonNumbers::Python));
  TRANSOM_ASSIGN(JsonValue map, json.root().get("weight_map"));
  TRANSOM_TRY(map.expectObject());
  std::vector<std::pair<std::string, std::string>> entries;
  for (JsonValue::Member member : map.members()) {
    TRANSOM_ASSIGN(std::string_view shard, member.value.asString());
    TRANSOM_TRY(checkPlainFileName(shard, member.value.where() + ": shard"));
    entries.emplace_back(member.key, shard);
  }
  if (entries.empty())
    return map.error("the index names no tensor");
  return entries;
}

/// Calls visit(elementOffset, elements, outOffset) for a block's longest
/// contiguous runs in the tensor, in order.
template <typename Visit>
void forEachRun(const std::vector<int64_t> &shape,
                const std::vector<int64_t> &offsets,
                const std::vector<int64_t> &sizes, Visit visit) {
  size_t rank = shape.size();
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return;
  std::vector<int64_t> strides(rank, 1);
  for (size_t d = rank; d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  // Dimensions from `inner` on form a run.
  size_t inner = rank;
  int64_t run = 1;
  while (inner > 0) {
    --inner;
    run *= sizes[inner];
    if (sizes[inner] != shape[inner])
      break;
  }
  int64_t at = 0;
  for (size_t d = 0; d < rank; ++d)
    at += offsets[d] * strides[d];
  std::vector<int64_t> index(inner, 0);
  for (int64_t done = 0;; done += run) {
    visit(at, run, done);
    size_t d = inner;
    while (d > 0) {
      --d;
      at += strides[d];
      if (++index[d] < sizes[d])
        break;
      at -= sizes[d] * strides[d];
      index[d] = 0;
      if (d == 0)
        return;
    }
    if (inner == 0)
      return;
  }
}

/// Fails if a block is not inside the tensor.
Result<void> checkBlock(const SafetensorsTensor &tensor,
                        const std::vector<int64_t> &offsets,
                        const std::vector<int64_t> &sizes) {
  size_t rank = tensor.shape.size();
  bool inside = offsets.size() == rank && sizes.size() == rank;
  for (size_t d = 0; inside && d < rank; ++d)
    inside = offsets[d] >= 0 && sizes[d] >= 0 &&
             offsets[d] <= tensor.shape[d] &&
             sizes[d] <= tensor.shape[d] - offsets[d];
  if (inside)
    return {};
  return internalError("block at " + shapeText(offsets) + " of " +
                       shapeText(sizes) + " is outside of tensor '" +
                       utf8::printable(tensor.name) + "' of shape " +
                       shapeText(tensor.shape));
}

bool convert(DType type, const void *data, size_t count, float *out) {
  return convertToF32(type, data, count, out);
}
bool convert(DType type, const void *data, size_t count, int64_t *out) {
  return convertToI64(type, data, count, out);
}

template <typename Out>
Result<void> readBlock(const SafetensorsFile &file,
                       const SafetensorsTensor &tensor,
                       const std::vector<int64_t> &offsets,
                       const std::vector<int64_t> &sizes, Out *out) {
  if (Result<void> inside = checkBlock(tensor, offsets, sizes); !inside)
    return inside;
  const char *data = file.data(tensor).data();
  unsigned width = dtypeBits(tensor.dtype) / 8;
  forEachRun(tensor.shape, offsets, sizes,
             [&](int64_t at, int64_t count, int64_t done) {
               convert(tensor.dtype, data + at * width,
                       static_cast<size_t>(count), out + done);
             });
  return {};
}

Error wrongType(const SafetensorsFile &file, const SafetensorsTensor &tensor,
                const char *supported) {
  return unsupported(file.path() + ": tensor '" + utf8::printable(tensor.name) +
                     "' has dtype " +
                     std::string(safetensorsName(tensor.dtype)) +
                     "; supported here: " + supported);
}

} // namespace

Result<ModelFiles> ModelFiles::openFolder(const std::string &folder) {
  if (fileExists(joinPath(folder, singleFile)))
    return openFiles(folder, {singleFile});
  std::string indexPath = joinPath(folder, indexFile);
  if (!fileExists(indexPath))
    return noWeights(folder);
  // Open each shard once.
  TRANSOM_ASSIGN(auto index, readIndex(indexPath));
  std::set<std::string> shards;
  for (const auto &entry : index)
    shards.insert(entry.second);
  ModelFiles files;
  files.where = folder;
  files.opened.push_back(indexFile);
  for (const std::string &shard : shards)
    if (Result<void> added = files.addFile(shard); !added) {
      Error error = added.takeError();
      if (error.status == Status::Unavailable)
        error.message += std::string(" (a shard of ") + indexFile + ")";
      return error;
    }
  // Names in the index that are in no shard are an error only if a model needs
  // the tensor, as in transformers, which reads all tensors in all shards.
  for (const auto &[name, shard] : index)
    if (!files.slots.count(name))
      files.stale.emplace(name, shard);
  return files;
}

Result<ModelFiles>
ModelFiles::openFiles(const std::string &folder,
                      const std::vector<std::string> &names) {
  ModelFiles files;
  files.where = folder;
  for (const std::string &name : names) {
    TRANSOM_TRY(checkPlainFileName(name, "weights file"));
    TRANSOM_TRY(files.addFile(name));
  }
  return files;
}

ModelFiles ModelFiles::ofFile(const std::string &folder,
                              const std::string &name, SafetensorsFile file) {
  ModelFiles files;
  files.where = folder;
  files.opened.push_back(name);
  files.shards.push_back(std::move(file));
  for (const SafetensorsTensor &tensor : files.shards[0].tensors())
    files.slots.emplace(tensor.name, Slot{0, &tensor});
  return files;
}

Result<void> ModelFiles::addDerived(const std::string &name,
                                    const WeightExpr &expr,
                                    const std::string &stored) {
  TRANSOM_ASSIGN(const Slot *from, slot(stored));
  SafetensorsTensor tensor;
  tensor.name = name;
  tensor.dtype = from->tensor->dtype;
  TRANSOM_ASSIGN(tensor.shape, expr.shape(*this));
  derived.emplace(name, Derived{std::move(tensor), expr, stored});
  return {};
}

WeightExpr ModelFiles::resolve(const WeightExpr &expr) const {
  auto describe = [&](const std::string &name) -> std::optional<WeightExpr> {
    auto found = slots.find(name);
    if (found == slots.end() || !found->second.tensor->stored)
      return std::nullopt;
    return WeightExpr::file(name, found->second.tensor->stored->getGroups());
  };
  return expr.replaceFiles([&](const std::string &name) {
    auto found = derived.find(name);
    return found == derived.end()
               ? describe(name)
               : std::optional(found->second.expr.replaceFiles(describe));
  });
}

Result<void> ModelFiles::addModule(const std::string &module) {
  TRANSOM_TRY(checkPlainFileName(module, "folder of a module"));
  return addFile(module + "/" + singleFile, module + "/");
}

Result<void> ModelFiles::addFile(const std::string &name,
                                 const std::string &prefix) {
  TRANSOM_ASSIGN(SafetensorsFile file,
                 SafetensorsFile::open(joinPath(where, name)));
  TRANSOM_TRY(addTensors(std::move(file), prefix));
  opened.push_back(name);
  return {};
}

Result<void> ModelFiles::addAdapter(const std::string &folder,
                                    const std::string &name,
                                    const std::string &prefix) {
  TRANSOM_ASSIGN(SafetensorsFile file,
                 SafetensorsFile::open(joinPath(folder, name)));
  return addTensors(std::move(file), prefix);
}

Result<void> ModelFiles::addTensors(SafetensorsFile file,
                                    const std::string &prefix) {
  size_t index = shards.size();
  for (const SafetensorsTensor &tensor : file.tensors()) {
    auto [place, isNew] =
        slots.emplace(prefix + tensor.name, Slot{index, &tensor});
    if (!isNew)
      return rejected(file.path() + ": tensor '" +
                      utf8::printable(tensor.name) + "' is in '" +
                      shards[place->second.file].path() + "' too");
  }
  shards.push_back(std::move(file));
  return {};
}

Result<void> ModelFiles::replaceDerived(const std::string &name,
                                        const WeightExpr &expr) {
  const std::string stored = getStoredName(name);
  if (auto made = derived.find(name); made != derived.end())
    derived.erase(made);
  return addDerived(name, expr, stored);
}

Result<void> ModelFiles::addStored(SafetensorsTensor tensor,
                                   const std::vector<std::string> &of) {
  TRANSOM_ASSIGN(const Slot *first, slot(of[0]));
  const size_t file = first->file;
  tensor.begin = first->tensor->begin;
  tensor.end = first->tensor->end;
  for (const std::string &name : of)
    slots.erase(name);
  made.push_back(std::make_unique<const SafetensorsTensor>(std::move(tensor)));
  slots[made.back()->name] = Slot{file, made.back().get()};
  return {};
}

std::string_view ModelFiles::getData(const std::string &name) const {
  auto found = slots.find(name);
  return found == slots.end()
             ? std::string_view()
             : shards[found->second.file].data(*found->second.tensor);
}

const SafetensorsTensor *ModelFiles::find(const std::string &name) const {
  if (auto made = derived.find(name); made != derived.end())
    return &made->second.tensor;
  auto found = slots.find(name);
  return found == slots.end() ? nullptr : found->second.tensor;
}

std::vector<std::string> ModelFiles::names() const {
  std::vector<std::string> names;
  for (const auto &slot : slots)
    names.push_back(slot.first);
  std::sort(names.begin(), names.end());
  return names;
}

const std::string &ModelFiles::getStoredName(const std::string &name) const {
  auto made = derived.find(name);
  return made == derived.end() ? name : made->second.stored;
}

std::string ModelFiles::getFile(const std::string &name) const {
  auto found = slots.find(getStoredName(name));
  return found == slots.end() ? "" : shards[found->second.file].path();
}

std::string ModelFiles::describeStale(const std::string &name) const {
  auto found = stale.find(name);
  return found == stale.end()
             ? ""
             : "; '" + std::string(indexFile) + "' names shard '" +
                   utf8::printable(found->second) +
                   "' for it, which does not have it";
}

Result<const ModelFiles::Slot *>
ModelFiles::slot(const std::string &name) const {
  auto found = slots.find(name);
  if (found != slots.end())
    return &found->second;
  std::string places;
  for (const SafetensorsFile &file : shards)
    places += (places.empty() ? "" : ", ") + file.path();
  return rejected("tensor '" + utf8::printable(name) + "' is not in " +
                  (places.empty() ? "the model: it has no tensor files"
                                  : utf8::printable(places, 400)) +
                  describeStale(name));
}

Result<std::vector<int64_t>> ModelFiles::shape(const std::string &name) const {
  if (auto made = derived.find(name); made != derived.end())
    return made->second.tensor.shape;
  TRANSOM_ASSIGN(const Slot *found, slot(name));
  return found->tensor->shape;
}

template <typename Out>
Result<void> ModelFiles::readAs(Accepts accepts, const std::string &name,
                                const std::vector<int64_t> &offsets,
                                const std::vector<int64_t> &sizes,
                                Out *out) const {
  TRANSOM_ASSIGN(const Slot *found, slot(name));
  const SafetensorsTensor &tensor = *found->tensor;
  const SafetensorsFile &file = shards[found->file];
  if constexpr (std::is_same_v<Out, float>)
    if (tensor.stored) {
      TRANSOM_TRY(checkBlock(tensor, offsets, sizes));
      return tensor.stored->readNumbers(offsets[0], sizes[0], offsets[1],
                                        sizes[1], out)
                 ? Result<void>()
                 : getScaleError(*found);
    }
  bool floats = accepts != Accepts::Integers;
  bool integers = accepts != Accepts::Floats;
  if (!(floats && isFloat(tensor.dtype)) &&
      !(integers && isInteger(tensor.dtype)))
    return wrongType(file, tensor,
                     !integers ? "F32, F16, BF16, F64"
                     : !floats ? "integers, BOOL"
                               : "F32, F16, BF16, F64, integers, BOOL");
  return readBlock(file, tensor, offsets, sizes, out);
}

Result<void> ModelFiles::read(const std::string &name,
                              const std::vector<int64_t> &offsets,
                              const std::vector<int64_t> &sizes,
                              float *out) const {
  return readAs(Accepts::Floats, name, offsets, sizes, out);
}

Error ModelFiles::getScaleError(const Slot &slot) const {
  return rejected(shards[slot.file].path() + ": tensor '" +
                  utf8::printable(slot.tensor->name) +
                  "' has a group whose scale or minimum is not finite");
}

Result<void> ModelFiles::readStored(const std::string &name, StoredField field,
                                    const std::vector<int64_t> &offsets,
                                    const std::vector<int64_t> &sizes,
                                    float *out) const {
  TRANSOM_ASSIGN(const Slot *found, slot(name));
  const StoredTensor *stored = found->tensor->stored.get();
  if (!stored)
    return TensorSource::readStored(name, field, offsets, sizes, out);
  SafetensorsTensor shape;
  shape.name = name;
  shape.shape = found->tensor->shape;
  if (field != StoredField::Elements)
    shape.shape[1] = stored->getGroups().getNumGroups();
  TRANSOM_TRY(checkBlock(shape, offsets, sizes));
  const int64_t count = sizes[0] * sizes[1];
  if (field == StoredField::Minimums && !stored->getGroups().minimums) {
    std::fill_n(out, count, 0.0f);
    return {};
  }
  stored->read(field, offsets[0], sizes[0], offsets[1], sizes[1], out);
  return std::all_of(out, out + count, [](float x) { return std::isfinite(x); })
             ? Result<void>()
             : getScaleError(*found);
}

Result<void> ModelFiles::readAsF32(const std::string &name,
                                   const std::vector<int64_t> &offsets,
                                   const std::vector<int64_t> &sizes,
                                   float *out) const {
  return readAs(Accepts::All, name, offsets, sizes, out);
}

Result<void> ModelFiles::readIntegers(const std::string &name,
                                      const std::vector<int64_t> &offsets,
                                      const std::vector<int64_t> &sizes,
                                      int64_t *out) const {
  return readAs(Accepts::Integers, name, offsets, sizes, out);
}

void ModelFiles::release(const std::string &name) const {
  auto found = slots.find(name);
  if (found == slots.end())
    return;
  const SafetensorsTensor &tensor = *found->second.tensor;
  // Also release pages shared with neighbors: reading maps them again.
  constexpr uint64_t page = 4096;
  shards[found->second.file].mapped().release(
      tensor.begin - tensor.begin % page, tensor.end + page);
}

void ModelFiles::releaseAll() const {
  for (const SafetensorsFile &file : shards)
    file.mapped().release();
}

} // namespace transom
