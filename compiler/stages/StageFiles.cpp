// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The index is renamed after the files that it lists. It is not trusted: names
// have no folders, and hashes show whether a file is the one that the compile
// wrote.
#include "compiler/stages/StageFiles.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Suggest.h"
#include "runtime/json/Json.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include <unistd.h>

using namespace transom;

static constexpr const char *kIndexName = "index.json";
/// The index format; it changes with the keys.
static constexpr int64_t kIndexFormat = 1;
/// The first line in a module file: this prefix and the stage name.
static constexpr llvm::StringLiteral kStageLine = "// stage: ";
/// The maximum size of a stage file, which is read as a whole.
static constexpr uint64_t kMaxFileBytes = uint64_t(4) << 30;
/// The maximum bracket nesting; modules have about twenty levels.
static constexpr unsigned kMaxNesting = 256;

/// The stages that a compile can resume from.
static const std::vector<std::string> kResumable = {"attn", "attn-opt", "kern",
                                                    "llvm-ir", "obj"};

static bool hasModule(Stage stage) { return stage <= Stage::Kern; }

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Returns `3-kern.mlir`, `4-llvm-ir.avx2.ll`, `5-obj.avx2.o`. Assembly and
/// objects are created in one step.
static std::string getStageFileName(Stage stage, const std::string &isa) {
  const unsigned number =
      std::min(static_cast<unsigned>(stage), unsigned(Stage::Asm)) + 1;
  const char *extension = hasModule(stage)         ? ".mlir"
                          : stage == Stage::LlvmIr ? ".ll"
                          : stage == Stage::Asm    ? ".s"
                                                   : ".o";
  return std::to_string(number) + "-" + getStageInfo(stage).name +
         (isa.empty() ? "" : "." + isa) + extension;
}

Result<StageWriter> StageWriter::create(const std::string &folder,
                                        OutputSet &outputs) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return systemError("cannot create the folder", folder, error.value());
  StageWriter writer;
  writer.folder = folder;
  writer.outputs = &outputs;
  TRANSOM_ASSIGN(writer.index, outputs.create(joinPath(folder, kIndexName), {},
                                              OutputSet::Order::Result));
  return Result<StageWriter>(std::move(writer));
}

Result<void> StageWriter::add(Stage stage, const std::string &isa,
                              const std::string &contents) {
  StageFile file{stage, isa, getStageFileName(stage, isa), {}};
  const std::string text =
      hasModule(stage)
          ? (kStageLine + getStageInfo(stage).name + "\n" + contents).str()
          : contents;
  file.sha256 = Sha256::getHex(text);
  TRANSOM_ASSIGN(OutputFile * output,
                 outputs->create(joinPath(folder, file.file)));
  TRANSOM_TRY(output->append(text));
  files.push_back(std::move(file));
  return {};
}

Result<void> StageWriter::finish(const FileHashes &inputs,
                                 const CompileOptions &options) {
  // The compiler version and the options.
  std::string text;
  JsonWriter json(text, 2);
  json.beginObject();
  json.member("format", kIndexFormat);
  json.member("compiler", TRANSOM_VERSION);
  json.member("opt_level", options.optLevel);
  json.key("options");
  json.beginObject();
  for (const auto &[flag, value] : options.flags)
    json.member(flag, value);
  json.endObject();
  json.key("disabled_passes");
  json.array(options.disabledPasses);
  // The input files and the stages, with their hashes.
  json.key("inputs_sha256");
  json.beginObject();
  for (const auto &[name, hash] : inputs)
    json.member(name, hash);
  json.endObject();
  json.key("stages");
  json.beginArray();
  for (const StageFile &file : files) {
    json.beginObject();
    json.member("stage", getStageInfo(file.stage).name);
    if (!file.isa.empty())
      json.member("isa", file.isa);
    json.member("file", file.file);
    json.member("sha256", file.sha256);
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return index->append(text + "\n");
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Result<std::string> getString(JsonValue object, const char *key) {
  TRANSOM_ASSIGN(JsonValue value, object.get(key));
  TRANSOM_ASSIGN(std::string_view text, value.asString());
  return std::string(text);
}

static Result<StageFile> readEntry(JsonValue entry) {
  StageFile file;
  TRANSOM_ASSIGN(JsonValue stage, entry.get("stage"));
  TRANSOM_ASSIGN(std::string_view name, stage.asString());
  Result<Stage> known = parseStage(std::string(name));
  if (!known)
    return stage.error(known.error().message);
  file.stage = *known;
  if (entry.find("isa")) {
    TRANSOM_ASSIGN(file.isa, getString(entry, "isa"));
  }
  TRANSOM_ASSIGN(JsonValue path, entry.get("file"));
  TRANSOM_ASSIGN(std::string_view text, path.asString());
  file.file = text;
  if (Result<void> plain = checkPlainFileName(text, "file"); !plain)
    return path.error(plain.error().message);
  TRANSOM_ASSIGN(file.sha256, getString(entry, "sha256"));
  return file;
}

static Result<StageIndex> readIndex(const std::string &path) {
  // An index from another compiler version is rejected.
  TRANSOM_ASSIGN(JsonDocument document, parseJsonFile(path));
  JsonValue root = document.root();
  TRANSOM_TRY(root.expectObject());
  TRANSOM_ASSIGN(JsonValue format, root.get("format"));
  TRANSOM_ASSIGN(int64_t number, format.asInt());
  TRANSOM_ASSIGN(JsonValue compiler, root.get("compiler"));
  TRANSOM_ASSIGN(std::string_view version, compiler.asString());
  if (number != kIndexFormat || version != TRANSOM_VERSION)
    return compiler.error("written by version '" + std::string(version) +
                          "' of the compiler; expected '" TRANSOM_VERSION
                          "', whose dialects this one reads");
  // Optimization level and input file hashes.
  StageIndex index;
  TRANSOM_ASSIGN(JsonValue level, root.get("opt_level"));
  TRANSOM_ASSIGN(int64_t optLevel, level.asInt(0, 2));
  index.optLevel = static_cast<unsigned>(optLevel);
  TRANSOM_ASSIGN(JsonValue inputs, root.get("inputs_sha256"));
  TRANSOM_TRY(inputs.expectObject());
  for (auto [name, value] : inputs.members()) {
    TRANSOM_ASSIGN(std::string_view hash, value.asString());
    index.inputs[std::string(name)] = hash;
  }
  TRANSOM_ASSIGN(JsonValue stages, root.get("stages"));
  TRANSOM_TRY(stages.expectArray());
  for (JsonValue entry : stages.elements()) {
    TRANSOM_ASSIGN(StageFile file, readEntry(entry));
    index.files.push_back(std::move(file));
  }
  return Result<StageIndex>(std::move(index));
}

namespace {

/// The location of a stage.
struct StagePlace {
  std::string folder;
  std::string file; ///< the module file; empty: listed in the index
  Stage stage = Stage::Attn;
  StageIndex index;
};

} // namespace

/// Returns the stage for a file: from the index, or from the file's first line.
static Result<Stage> getStageOfFile(const StagePlace &place) {
  for (const StageFile &file : place.index.files)
    if (file.file == place.file)
      return file.stage;
  const std::string path = joinPath(place.folder, place.file);
  TRANSOM_ASSIGN(MappedFile mapped, MappedFile::open(path));
  llvm::StringRef line = llvm::StringRef(mapped.bytes()).split('\n').first;
  if (line.consume_front(kStageLine))
    if (Result<Stage> stage = parseStage(line.trim().str());
        stage && hasModule(*stage))
      return stage;
  return rejected(path + ": of no known stage; expected a file that "
                         "'index.json' beside it lists, or one that begins "
                         "with '// stage: attn', 'attn-opt' or 'kern'");
}

/// Finds FILE or FOLDER/STAGE.
static Result<StagePlace> findStage(const std::string &path) {
  // Split the path into the folder, whose index is read, and the last name.
  if (isFolder(path))
    return usageError("'" + path +
                      "' is a folder; expected FOLDER/STAGE, such "
                      "as '" +
                      joinPath(path, "kern") + "'");
  const size_t slash = path.rfind('/');
  StagePlace place;
  place.folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string last = getFileName(path);
  const std::string index = joinPath(place.folder, kIndexName);
  if (fileExists(index)) {
    TRANSOM_ASSIGN(place.index, readIndex(index));
  }
  if (fileExists(path)) {
    place.file = last;
    TRANSOM_ASSIGN(place.stage, getStageOfFile(place));
  } else {
    Result<Stage> stage = parseStage(last);
    if (!stage || !fileExists(index))
      return unavailable(
          path + ": no such file" +
          (stage ? ", and no '" + index + "'" : suggest(last, kResumable)));
    place.stage = *stage;
  }
  const std::string name = getStageInfo(place.stage).name;
  if (std::find(kResumable.begin(), kResumable.end(), name) == kResumable.end())
    return usageError("a compile does not go on from '" + name +
                      "'; supported: " + joinNames(kResumable));
  return Result<StagePlace>(std::move(place));
}

/// Returns the index entries for a stage.
static std::vector<StageFile> getFiles(const StageIndex &index, Stage stage) {
  std::vector<StageFile> files;
  for (const StageFile &file : index.files)
    if (file.stage == stage)
      files.push_back(file);
  return files;
}

/// Returns the module file for a stage: the given file, or the index entry.
static Result<StageFile> findModule(const StagePlace &place, Stage stage) {
  const std::vector<StageFile> modules = getFiles(place.index, stage);
  if (stage == place.stage && !place.file.empty()) {
    for (const StageFile &file : modules)
      if (file.file == place.file)
        return file;
    return StageFile{stage, {}, place.file, {}};
  }
  if (modules.size() != 1)
    return rejected(joinPath(place.folder, kIndexName) +
                    ": expected one file of the stage '" +
                    getStageInfo(stage).name + "', got " +
                    std::to_string(modules.size()));
  return modules.front();
}

std::string ResumedStage::getIsas() const {
  std::vector<std::string> names;
  for (const auto &[isa, text] : code)
    names.push_back(isa);
  return joinNames(names);
}

std::optional<std::string>
ResumedStage::describe(const FileHashes &inputs) const {
  if (!edited && inputs == index.inputs)
    return std::nullopt;
  return std::string(getStageInfo(stage).name) + " sha256:" + sha256;
}

Result<ResumedStage> transom::readStage(const std::string &path) {
  TRANSOM_ASSIGN(StagePlace place, findStage(path));
  ResumedStage resumed;
  resumed.stage = place.stage;
  resumed.edited = false;

  Sha256 all;
  auto read = [&](const StageFile &file) -> Result<std::string> {
    TRANSOM_ASSIGN(
        std::string text,
        readSmallFile(joinPath(place.folder, file.file), kMaxFileBytes));
    all.update(text);
    resumed.edited |= Sha256::getHex(text) != file.sha256;
    return text;
  };
  const Stage stage = hasModule(place.stage) ? place.stage : Stage::Kern;
  TRANSOM_ASSIGN(StageFile module, findModule(place, stage));
  resumed.path = joinPath(place.folder, module.file);
  TRANSOM_ASSIGN(resumed.module, read(module));
  TRANSOM_TRY(checkNesting(resumed.module, resumed.path));

  // Read the code for all instruction sets.
  if (!hasModule(place.stage))
    for (const StageFile &file : getFiles(place.index, place.stage)) {
      TRANSOM_ASSIGN(std::string text, read(file));
      if (place.stage == Stage::LlvmIr)
        TRANSOM_TRY(checkNesting(text, joinPath(place.folder, file.file)));
      resumed.code[file.isa] = std::move(text);
    }
  resumed.sha256 = all.hex();
  resumed.index = std::move(place.index);
  return Result<ResumedStage>(std::move(resumed));
}

Result<void> transom::checkNesting(const std::string &text,
                                   const std::string &path) {
  unsigned depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"')
      inString = !inString;
    else if (inString && c == '\\')
      ++i;
    else if (!inString && llvm::StringRef("([{<").contains(c) &&
             ++depth > kMaxNesting)
      return rejected(path + ": more than " + std::to_string(kMaxNesting) +
                      " brackets in each other at byte " + std::to_string(i));
    else if (!inString && depth > 0 && llvm::StringRef(")]}>").contains(c) &&
             (c != '>' || text[i - 1] != '-'))
      --depth;
  }
  return {};
}
