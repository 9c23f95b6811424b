// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// safetensors: a reader that checks every format rule before use, the tensors
// in a model folder as one source (one file or shards with an index), and a
// writer.
#pragma once
#include "dialects/weights/StoredGroups.h"
#include "dialects/weights/WeightExpr.h"
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/File.h"
#include "runtime/base/OutputFile.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace transom {

inline constexpr uint64_t safetensorsMaxHeader = 100000000;

/// One tensor in a file.
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  uint64_t begin = 0; ///< file offset of the first byte
  uint64_t end = 0;   ///< file offset after the last byte
  /// For a pre-quantized matrix in another format: reads its fields; `dtype` is
  /// then the dequantized type, and `type` the format's type name.
  std::shared_ptr<const StoredTensor> stored = nullptr;
  std::string type = "";

  /// Its type name, as in safetensors.
  std::string getTypeName() const {
    return stored ? type : std::string(safetensorsName(dtype));
  }
};

/// A parsed header; `tensors` are in data order.
struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Reads and checks the header of a whole safetensors file; `fileName` is for
/// errors, each of which is one line with the file, the tensor and both values.
/// Data is not read.
Result<SafetensorsHeader> parseSafetensors(std::string_view file,
                                           const std::string &fileName);

/// A mapped safetensors file with a checked header. Move-only.
class SafetensorsFile {
public:
  static Result<SafetensorsFile> open(const std::string &path);
  /// A mapped file in another format, whose own reader found the tensors and
  /// checked that they are inside the file.
  static SafetensorsFile ofTensors(MappedFile file,
                                   std::vector<SafetensorsTensor> tensors);

  const std::vector<SafetensorsTensor> &tensors() const {
    return header.tensors;
  }
  const std::vector<std::pair<std::string, std::string>> &metadata() const {
    return header.metadata;
  }
  /// The tensor with that name, or null.
  const SafetensorsTensor *find(std::string_view name) const;
  /// The tensor's bytes in the file (no alignment).
  std::string_view data(const SafetensorsTensor &tensor) const {
    return file.bytes().substr(tensor.begin, tensor.end - tensor.begin);
  }
  const MappedFile &mapped() const { return file; }
  const std::string &path() const { return file.path(); }

private:
  void indexNames();
  MappedFile file;
  SafetensorsHeader header;
  std::unordered_map<std::string_view, size_t> byName;
};

/// The tensors in a model folder as one source. Move-only; concurrent reads are
/// safe.
class ModelFiles : public TensorSource {
public:
  /// Opens `model.safetensors`, or else the shards in
  /// `model.safetensors.index.json`. Without either, the error lists the weight
  /// formats found and how to convert them.
  static Result<ModelFiles> openFolder(const std::string &folder);
  /// Opens plain file names in a folder; a tensor in two files is an error.
  static Result<ModelFiles> openFiles(const std::string &folder,
                                      const std::vector<std::string> &names);
  /// One file in another format with its reader's tensors; `name` is its plain
  /// name in the folder.
  static ModelFiles ofFile(const std::string &folder, const std::string &name,
                           SafetensorsFile file);
  /// Adds a tensor computed from file tensors. It is found under its name, and
  /// `resolve` substitutes the expression. `stored` is the tensor named in
  /// errors.
  Result<void> addDerived(const std::string &name, const WeightExpr &expr,
                          const std::string &stored);
  /// The same for a name that may exist: the expression replaces it.
  Result<void> replaceDerived(const std::string &name, const WeightExpr &expr);
  /// Adds a matrix that a reader makes from stored tensors and that replaces
  /// them; errors name the first of them.
  Result<void> addStored(SafetensorsTensor tensor,
                         const std::vector<std::string> &of);
  /// Adds the tensors from a file in another folder, each under PREFIX + NAME.
  /// The file is not in `fileNames`.
  Result<void> addAdapter(const std::string &folder, const std::string &name,
                          const std::string &prefix);
  /// A stored tensor's bytes in its file.
  std::string_view getData(const std::string &name) const;
  /// Substitutes derived tensors, and adds the quantization to pre-quantized
  /// ones.
  WeightExpr resolve(const WeightExpr &expr) const;
  /// Adds the tensors from `model.safetensors` in a subfolder, each under
  /// `FOLDER/NAME`.
  Result<void> addModule(const std::string &module);
  /// No files and no tensors, for models without weights.
  ModelFiles() = default;
  ModelFiles(ModelFiles &&) = default;
  ModelFiles &operator=(ModelFiles &&) = default;

  /// The tensor with that name, or null. A derived tensor has a shape and no
  /// data.
  const SafetensorsTensor *find(const std::string &name) const;
  /// All stored tensor names, sorted.
  std::vector<std::string> names() const;
  /// The path of the tensor's file, for errors; empty if it is missing.
  std::string getFile(const std::string &name) const;
  /// An error suffix for a tensor that is in the shard index but in no shard;
  /// empty for others.
  std::string describeStale(const std::string &name) const;
  /// The stored tensor from which a derived one is made; other names are
  /// returned unchanged.
  const std::string &getStoredName(const std::string &name) const;
  /// All opened files (including the index) as plain names in the folder, in
  /// opening order; for hashing.
  const std::vector<std::string> &fileNames() const { return opened; }
  const std::string &folder() const { return where; }
  /// The mapped safetensors files.
  const std::vector<SafetensorsFile> &files() const { return shards; }

  Result<std::vector<int64_t>> shape(const std::string &name) const override;
  /// Reads a block from a float tensor; integers are refused.
  Result<void> read(const std::string &name,
                    const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override;
  Result<void> readStored(const std::string &name, StoredField field,
                          const std::vector<int64_t> &offsets,
                          const std::vector<int64_t> &sizes,
                          float *out) const override;
  /// The same, but also converts integers and Bool.
  Result<void> readAsF32(const std::string &name,
                         const std::vector<int64_t> &offsets,
                         const std::vector<int64_t> &sizes, float *out) const;
  /// Reads a block from an integer or Bool tensor.
  Result<void> readIntegers(const std::string &name,
                            const std::vector<int64_t> &offsets,
                            const std::vector<int64_t> &sizes,
                            int64_t *out) const;
  /// Releases a tensor's pages; does not affect later reads.
  void release(const std::string &name) const;
  /// Releases the pages of all files.
  void releaseAll() const;

private:
  struct Slot {
    size_t file;
    const SafetensorsTensor *tensor;
  };
  /// Tensor types that a read accepts.
  enum class Accepts { Floats, Integers, All };
  Result<void> addFile(const std::string &name, const std::string &prefix = "");
  Result<void> addTensors(SafetensorsFile file, const std::string &prefix);
  Result<const Slot *> slot(const std::string &name) const;
  template <typename Out>
  Result<void> readAs(Accepts accepts, const std::string &name,
                      const std::vector<int64_t> &offsets,
                      const std::vector<int64_t> &sizes, Out *out) const;
  Error getScaleError(const Slot &slot) const;
  /// A tensor made from stored ones.
  struct Derived {
    SafetensorsTensor tensor;
    WeightExpr expr;
    std::string stored;
  };
  std::string where;
  std::vector<std::string> opened;
  std::vector<SafetensorsFile> shards;
  std::unordered_map<std::string, Slot> slots;
  std::unordered_map<std::string, std::string> stale; ///< names in the index
  std::unordered_map<std::string, Derived> derived;
  std::vector<std::unique_ptr<const SafetensorsTensor>> made; ///< addStored
};

/// Writes a safetensors file. Tensors are declared first; then their data
/// follows in the same order, in blocks with any size.
///
///   SafetensorsWriter writer;
///   writer.add("x", DType::F32, {2, 3});
///   writer.begin(std::move(file)); writer.append(bytes); writer.commit();
class SafetensorsWriter {
public:
  /// Declares a tensor; names are unique.
  Result<void> add(const std::string &name, DType dtype,
                   std::vector<int64_t> shape);
  void addMetadata(std::string key, std::string value);
  /// The 8-byte length and the header; the end is a multiple of 8.
  std::string headerBytes() const;
  /// Writes the header to an output, or to a new file at `path`.
  Result<void> begin(OutputFile file);
  Result<void> begin(const std::string &path);
  Result<void> append(std::string_view bytes);
  /// Checks that all data was written, and gives the file its name.
  Result<void> commit();

private:
  struct Entry {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
    uint64_t begin, end;
  };
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  uint64_t dataBytes = 0, written = 0;
  OutputFile out;
};

/// A tensor in memory.
struct TensorView {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};
/// Writes tensors from memory to an output and commits it.
Result<void> writeSafetensors(OutputFile file,
                              const std::vector<TensorView> &tensors);
/// The same to a file at `path`.
Result<void> writeSafetensors(const std::string &path,
                              const std::vector<TensorView> &tensors);

} // namespace transom
