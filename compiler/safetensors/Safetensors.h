// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// safetensors: a reader that checks every rule of the format before anything
// is used, the tensors of a model folder as one source (one file or shards
// with an index), and a writer.
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

/// One tensor of a file.
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  uint64_t begin = 0; ///< offset of its first byte in the file
  uint64_t end = 0;   ///< offset after its last byte in the file
  /// How a reader of another format reads a matrix of whole numbers; `dtype` is
  /// then what it is read as, and `type` the name of what it is.
  std::shared_ptr<const StoredTensor> stored = nullptr;
  std::string type = "";

  /// The name of its type, as of safetensors.
  std::string getTypeName() const {
    return stored ? type : std::string(safetensorsName(dtype));
  }
};

/// What a header says; `tensors` in the order of the data.
struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Reads and checks the header of a whole safetensors file; `fileName` is for
/// errors, each of which is one line that names the file, the tensor and both
/// values. Data is not touched.
Result<SafetensorsHeader> parseSafetensors(std::string_view file,
                                           const std::string &fileName);

/// A mapped safetensors file with a checked header. Move-only.
class SafetensorsFile {
public:
  static Result<SafetensorsFile> open(const std::string &path);
  /// A mapped file of another format, whose own reader found the tensors and
  /// checked that they lie in it.
  static SafetensorsFile ofTensors(MappedFile file,
                                   std::vector<SafetensorsTensor> tensors);

  const std::vector<SafetensorsTensor> &tensors() const {
    return header.tensors;
  }
  const std::vector<std::pair<std::string, std::string>> &metadata() const {
    return header.metadata;
  }
  /// The tensor of that name, or null.
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

/// The tensors of a model folder as one source. Move-only; safe to read from
/// several threads at once.
class ModelFiles : public TensorSource {
public:
  /// `model.safetensors`, else the shards of `model.safetensors.index.json`.
  /// Without either an error that says what is there instead and what to
  /// convert to.
  static Result<ModelFiles> openFolder(const std::string &folder);
  /// Given plain file names in a folder; a tensor in two of them is an error.
  static Result<ModelFiles> openFiles(const std::string &folder,
                                      const std::vector<std::string> &names);
  /// One file of another format with the tensors of its reader; `name` is its
  /// plain name in the folder.
  static ModelFiles ofFile(const std::string &folder, const std::string &name,
                           SafetensorsFile file);
  /// Adds a tensor that is made of those of the files. It is found under its
  /// name, and `resolve` puts the expression in its place. `stored` is the
  /// tensor that errors name.
  Result<void> addDerived(const std::string &name, const WeightExpr &expr,
                          const std::string &stored);
  /// The same for a name that may be there: the expression takes its place.
  Result<void> replaceDerived(const std::string &name, const WeightExpr &expr);
  /// Adds a matrix that a reader makes of some stored tensors, in their place;
  /// errors name the first of them.
  Result<void> addStored(SafetensorsTensor tensor,
                         const std::vector<std::string> &of);
  /// Adds the tensors of a file in another folder, each under PREFIX + NAME.
  /// The file is not among `fileNames`.
  Result<void> addAdapter(const std::string &folder, const std::string &name,
                          const std::string &prefix);
  /// The bytes of a stored tensor in its file.
  std::string_view getData(const std::string &name) const;
  /// An expression without names of derived tensors, which says how tensors are
  /// stored.
  WeightExpr resolve(const WeightExpr &expr) const;
  /// Adds the tensors of `model.safetensors` in a folder of this folder, each
  /// under `FOLDER/NAME`.
  Result<void> addModule(const std::string &module);
  /// No files and no tensors, for models that have none.
  ModelFiles() = default;
  ModelFiles(ModelFiles &&) = default;
  ModelFiles &operator=(ModelFiles &&) = default;

  /// The tensor of that name, or null. One that is derived has a shape and no
  /// data.
  const SafetensorsTensor *find(const std::string &name) const;
  /// All names of stored tensors, sorted.
  std::vector<std::string> names() const;
  /// The file that holds the tensor, as a path, for errors; empty when it is
  /// missing.
  std::string getFile(const std::string &name) const;
  /// The end of an error for a tensor that the index of shards names and no
  /// shard has; empty for others.
  std::string describeStale(const std::string &name) const;
  /// The stored tensor that a derived one is made of; other names as they are.
  const std::string &getStoredName(const std::string &name) const;
  /// All files that were opened (the index too) as plain names in the folder,
  /// in order of opening; for hashing.
  const std::vector<std::string> &fileNames() const { return opened; }
  const std::string &folder() const { return where; }
  /// The mapped safetensors files.
  const std::vector<SafetensorsFile> &files() const { return shards; }

  Result<std::vector<int64_t>> shape(const std::string &name) const override;
  /// Reads a block of a tensor of floats; integers are refused.
  Result<void> read(const std::string &name,
                    const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override;
  Result<void> readStored(const std::string &name, StoredField field,
                          const std::vector<int64_t> &offsets,
                          const std::vector<int64_t> &sizes,
                          float *out) const override;
  /// The same, and integers and Bool are converted too.
  Result<void> readAsF32(const std::string &name,
                         const std::vector<int64_t> &offsets,
                         const std::vector<int64_t> &sizes, float *out) const;
  /// Reads a block of a tensor of integers or Bool.
  Result<void> readIntegers(const std::string &name,
                            const std::vector<int64_t> &offsets,
                            const std::vector<int64_t> &sizes,
                            int64_t *out) const;
  /// Lets go of the pages of a tensor; without effect on later reads.
  void release(const std::string &name) const;
  /// Lets go of the pages of all files.
  void releaseAll() const;

private:
  struct Slot {
    size_t file;
    const SafetensorsTensor *tensor;
  };
  /// Types of tensors that a read takes.
  enum class Accepts { Floats, Integers, All };
  Result<void> addFile(const std::string &name, const std::string &prefix = "");
  Result<void> addTensors(SafetensorsFile file, const std::string &prefix);
  Result<const Slot *> slot(const std::string &name) const;
  template <typename Out>
  Result<void> readAs(Accepts accepts, const std::string &name,
                      const std::vector<int64_t> &offsets,
                      const std::vector<int64_t> &sizes, Out *out) const;
  Error getScaleError(const Slot &slot) const;
  /// A tensor that is made of stored ones.
  struct Derived {
    SafetensorsTensor tensor;
    WeightExpr expr;
    std::string stored;
  };
  std::string where;
  std::vector<std::string> opened;
  std::vector<SafetensorsFile> shards;
  std::unordered_map<std::string, Slot> slots;
  std::unordered_map<std::string, std::string> stale; ///< names of the index
  std::unordered_map<std::string, Derived> derived;
  std::vector<std::unique_ptr<const SafetensorsTensor>> made; ///< addStored
};

/// Writes a safetensors file. Tensors are announced first; then their data
/// follows in the same order, in blocks of any size.
///
///   SafetensorsWriter writer;
///   writer.add("x", DType::F32, {2, 3});
///   writer.begin(std::move(file)); writer.append(bytes); writer.commit();
class SafetensorsWriter {
public:
  /// Announces a tensor; names are unique.
  Result<void> add(const std::string &name, DType dtype,
                   std::vector<int64_t> shape);
  void addMetadata(std::string key, std::string value);
  /// The 8 bytes of the length and the header; its end is a multiple of 8.
  std::string headerBytes() const;
  /// Writes the header to an output, or to a new file at `path`.
  Result<void> begin(OutputFile file);
  Result<void> begin(const std::string &path);
  Result<void> append(std::string_view bytes);
  /// Checks that all data came, and gives the file its name.
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
/// The same into a file at `path`.
Result<void> writeSafetensors(const std::string &path,
                              const std::vector<TensorView> &tensors);

} // namespace transom
