// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The converter changed some tensors; expressions over the stored tensors undo
// it.
#include "compiler/import/gguf/GgufTensors.h"
#include "compiler/import/gguf/GgufBlocks.h"
#include "runtime/base/Utf8.h"
#include <set>

namespace transom::gguf {
namespace {

/// Returns a table name with the layer substituted for `{i}`.
std::string withLayer(std::string name, int64_t layer) {
  if (size_t at = name.find("{i}"); at != name.npos)
    name.replace(at, 3, std::to_string(layer));
  return name;
}

/// A tensor's two names.
struct Names {
  std::string stored, derived;
  TensorChange change;
};

/// Opens a file's tensors.
class TensorOpener {
public:
  TensorOpener(File file, const Architecture &row, const ConfigText &config)
      : file(std::move(file)), row(row), config(config) {}

  Result<ModelFiles> run() {
    TRANSOM_TRY(checkTypes());
    TRANSOM_TRY(findNames());
    TRANSOM_TRY(checkUnknown());
    const std::string path = file.path(), name = getFileName(path);
    std::string folder = path.substr(0, path.size() - name.size());
    if (folder.size() > 1)
      folder.pop_back(); // trailing slash
    ModelFiles files =
        ModelFiles::ofFile(folder.empty() ? "." : folder, name, giveTensors());
    for (const Names &tensor : names)
      TRANSOM_TRY(files.addDerived(tensor.derived, getExpr(files, tensor),
                                   tensor.stored));
    TRANSOM_TRY(addTypes(files));
    return files;
  }

private:
  Error fail(const Tensor &tensor, const std::string &text,
             Status status = Status::Rejected) const {
    return file.error(tensor.entry,
                      "tensor '" + utf8::printable(tensor.name) + "' " + text,
                      status);
  }

  Result<void> checkTypes() const {
    for (const Tensor &tensor : file.tensors()) {
      const bool isBlocks = findBlockType(tensor.type->name) != nullptr;
      if (!isBlocks && (!tensor.type->dtype || !isFloat(*tensor.type->dtype)))
        return fail(tensor,
                    "has the type " + std::string(tensor.type->name) +
                        "; supported: F32, F16, BF16, F64, " +
                        getBlockTypeNames(),
                    Status::Unsupported);
      if (isBlocks && tensor.shape.size() != 2)
        return fail(tensor,
                    "of shape " + shapeText(tensor.shape) + " has the type " +
                        tensor.type->name + "; supported: matrices of it",
                    Status::Unsupported);
    }
    return {};
  }

  Result<void> findNames() {
    for (const TensorMap &map : row.tensors) {
      const bool layered =
          std::string_view(map.name).find("{i}") != std::string_view::npos;
      for (int64_t i = 0; i < (layered ? config.layers : 1); ++i) {
        TRANSOM_TRY(addName(map, i, ".weight", map.weight));
        TRANSOM_TRY(addName(map, i, ".bias", map.bias));
      }
    }
    return {};
  }

  Result<void> addName(const TensorMap &map, int64_t layer, const char *end,
                       Needs needs) {
    if (needs == Needs::Never)
      return {};
    const std::string stored = withLayer(map.name, layer) + end;
    const Tensor *tensor = file.findTensor(stored);
    if (!tensor) {
      if (needs == Needs::Maybe)
        return {};
      return rejected(utf8::printable(file.path(), 400) + ": tensor '" +
                      stored + "' is missing");
    }
    TRANSOM_TRY(checkShape(*tensor, map.change));
    names.push_back({stored, withLayer(map.module, layer) + end, map.change});
    return {};
  }

  /// Checks shape properties that expressions require. The importer compares
  /// the shape with the config.
  Result<void> checkShape(const Tensor &tensor, TensorChange change) const {
    if (change == TensorChange::Transposed && tensor.shape.size() > 2)
      return fail(tensor,
                  "of shape " + shapeText(tensor.shape) + " is no matrix");
    const int64_t heads = getHeads(change);
    if (heads != 0 && (tensor.shape.empty() || tensor.shape[0] == 0 ||
                       tensor.shape[0] % (2 * heads) != 0))
      return fail(tensor, "of shape " + shapeText(tensor.shape) +
                              " has no even number of rows for each of " +
                              std::to_string(heads) + " heads");
    return {};
  }

  int64_t getHeads(TensorChange change) const {
    return change == TensorChange::PairedQuery ? config.heads
           : change == TensorChange::PairedKey ? config.kvHeads
                                               : 0;
  }

  /// A tensor that nothing reads may change results.
  Result<void> checkUnknown() const {
    std::set<std::string_view> read = {"rope_freqs.weight"};
    for (const Names &name : names)
      read.insert(name.stored);
    for (const Tensor &tensor : file.tensors())
      if (!read.count(tensor.name))
        return fail(tensor,
                    "is not supported in a model of architecture '" +
                        std::string(row.name) + "' with " +
                        std::to_string(config.layers) + " layers",
                    Status::Unsupported);
    return {};
  }

  SafetensorsFile giveTensors() {
    std::vector<SafetensorsTensor> tensors;
    for (const Tensor &tensor : file.tensors()) {
      SafetensorsTensor given = {std::string(tensor.name),
                                 tensor.type->dtype.value_or(DType::F32),
                                 tensor.shape, tensor.begin, tensor.end};
      if (const BlockType *block = findBlockType(tensor.type->name)) {
        given.stored = makeBlockReader(*tensor.type, *block,
                                       file.getData(tensor), tensor.shape[1]);
        given.type = tensor.type->name;
      }
      tensors.push_back(std::move(given));
    }
    return SafetensorsFile::ofTensors(file.takeMapped(), std::move(tensors));
  }

  /// Adds zeros as token types if the file has none.
  Result<void> addTypes(ModelFiles &files) const {
    const char *name = "embeddings.token_type_embeddings.weight";
    const char *words = "token_embd.weight";
    if (!row.tokenTypes || files.find(name))
      return {};
    const std::vector<int64_t> &shape = files.find(words)->shape;
    return files.addDerived(name, WeightExpr::fill({1, shape[1]}, 0), words);
  }

  WeightExpr getExpr(const ModelFiles &files, const Names &names) const {
    const WeightExpr stored = WeightExpr::file(names.stored);
    const std::vector<int64_t> &shape = files.find(names.stored)->shape;
    switch (names.change) {
    case TensorChange::None:
      return stored;
    case TensorChange::PlusOne:
      return WeightExpr::add(stored, WeightExpr::fill(shape, -1));
    case TensorChange::Transposed:
      return shape.size() == 2 ? WeightExpr::transpose(stored, {1, 0}) : stored;
    case TensorChange::PairedQuery:
    case TensorChange::PairedKey:
      break;
    }
    const int64_t heads = getHeads(names.change);
    const int64_t columns = shape.size() == 2 ? shape[1] : 1;
    const WeightExpr pairs =
        WeightExpr::reshape(stored, {heads, shape[0] / heads / 2, 2, columns});
    return WeightExpr::reshape(WeightExpr::transpose(pairs, {0, 2, 1, 3}),
                               shape);
  }

  File file;
  const Architecture &row;
  const ConfigText &config;
  std::vector<Names> names;
};

} // namespace

Result<ModelFiles> openTensors(File file, const Architecture &row,
                               const ConfigText &config) {
  return TensorOpener(std::move(file), row, config).run();
}

} // namespace transom::gguf
