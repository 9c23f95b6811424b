// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distinguishes model folders from graph.json files, and names the model.
#include "compiler/import/Import.h"
#include "compiler/import/gguf/GgufModel.h"
#include "compiler/import/graphjson/GraphImport.h"
#include "compiler/import/huggingface/HuggingFace.h"
#include "compiler/import/huggingface/gliner/GlinerConfig.h"
#include "compiler/import/huggingface/sentence_transformers/StaticEmbedding.h"
#include "dialects/attn/Attn.h"
#include "runtime/base/File.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace transom;

/// Returns a path without trailing slashes.
static std::string trimmed(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

/// Returns the folder's own name, also for `.` and `..`.
static std::string nameOfFolder(const std::string &folder) {
  std::string name = getFileName(folder);
  if (name != "." && name != ".." && !name.empty() && name != "/")
    return name;
  SmallString<256> absolute(folder);
  if (!llvm::sys::fs::real_path(folder, absolute))
    return llvm::sys::path::filename(absolute).str();
  return "model";
}

static Result<OwningOpRef<ModuleOp>>
importGraphFile(MLIRContext &context, const ImportOptions &options,
                ImportInfo &info) {
  if (!options.task.empty())
    return usageError("'--task " + options.task +
                      "': a graph.json has no adapters");
  if (!options.lora.empty())
    return usageError("'--lora': a graph.json has no modules to merge it into");
  if (!options.scoring.trueToken.empty())
    return usageError("'--true-token': a graph.json has no pipeline");
  if (!options.layers.empty())
    return usageError("'--layers': a graph.json names its own results");
  return importGraph(context, info);
}

static Result<OwningOpRef<ModuleOp>> importPath(MLIRContext &context,
                                                const ImportOptions &options,
                                                ImportInfo &info) {
  const ScoringOptions &scoring = options.scoring;
  if (scoring.trueToken.empty() &&
      !(scoring.falseToken.empty() && scoring.chatTemplate.empty()))
    return usageError("'--false-token' and '--chat-template' need "
                      "'--true-token'");
  // A folder: the first known file determines the importer.
  const std::string path = trimmed(options.path);
  if (isFolder(path)) {
    info.folder = path;
    info.name = nameOfFolder(path);
    if (fileExists(joinPath(path, glinerFile))) {
      info.baseFile = glinerFile;
      return importHuggingFace(context, options, info);
    }
    const std::string firstModule = getFirstModule(path);
    if (firstModule == "StaticEmbedding") {
      info.baseFile = "modules.json";
      return importStaticEmbedding(context, options, info);
    }
    if (fileExists(joinPath(path, "config.json"))) {
      info.baseFile = "config.json";
      return importHuggingFace(context, options, info);
    }
    if (fileExists(joinPath(path, "graph.json"))) {
      info.baseFile = "graph.json";
      TRANSOM_ASSIGN(info.pipeline, readPipelineConfig(path));
      if (info.pipeline)
        info.pipeline->refuse("modules.json: the pipeline of a graph.json is "
                              "not supported");
      return importGraphFile(context, options, info);
    }
    if (!firstModule.empty()) { // it does not belong to this folder's model
      TRANSOM_ASSIGN(info.pipeline, readPipelineConfig(path));
      if (!info.pipeline->refusal.empty())
        return unsupported(joinPath(path, info.pipeline->refusal));
    }
    return unavailable(path + ": no config.json and no graph.json in this "
                              "folder");
  }
  // A file: a config.json, a GGUF file or a graph.json.
  if (!fileExists(path))
    return unavailable(path + ": no such file or folder");
  info.baseFile = getFileName(path);
  std::string folder = path.substr(0, path.size() - info.baseFile.size());
  info.folder = folder.empty() ? "." : trimmed(folder);
  if (info.baseFile == "config.json") {
    info.name = nameOfFolder(info.folder);
    return importHuggingFace(context, options, info);
  }
  if (gguf::isGguf(path)) {
    info.name = info.baseFile.substr(0, info.baseFile.rfind('.'));
    return importHuggingFace(context, options, info);
  }
  info.name = info.baseFile == "graph.json"
                  ? nameOfFolder(info.folder)
                  : info.baseFile.substr(0, info.baseFile.rfind('.'));
  return importGraphFile(context, options, info);
}

/// File and tensor names may contain any character; an error is one line.
static std::string oneLine(StringRef text) {
  std::string line;
  for (unsigned char c : text) {
    if (c < 0x20 || c == 0x7f)
      line += "\\x" + llvm::utohexstr(c, /*LowerCase=*/true, /*Width=*/2);
    else
      line += static_cast<char>(c);
  }
  return line;
}

Result<OwningOpRef<ModuleOp>> transom::importModel(MLIRContext &context,
                                                   const ImportOptions &options,
                                                   ImportInfo &info) {
  context.loadDialect<attn::AttnDialect, func::FuncDialect>();
  Result<OwningOpRef<ModuleOp>> module = importPath(context, options, info);
  if (module)
    return module;
  Error error = module.takeError();
  error.message = oneLine(error.message);
  return error;
}

func::FuncOp transom::getStepEntry(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.getOps<attn::DecodeBatchOp>().empty())
      return function;
  return func::FuncOp();
}

std::string transom::getLogitRows(func::FuncOp step) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto role = step.getArgAttrOfType<StringAttr>(i, "attn.role");
    auto name = step.getArgAttrOfType<StringAttr>(i, "attn.name");
    if (name && role && role.getValue() != "ids")
      return name.str();
  }
  return {};
}

/// Weight file names, including files that are never opened.
static constexpr const char *weightFiles[] = {
    "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
    "pytorch_model.bin.index.json"};

bool transom::isConfigAlone(const std::string &path) {
  if (!isFolder(path))
    return getFileName(path) == "config.json";
  return fileExists(joinPath(path, "config.json")) &&
         llvm::none_of(weightFiles, [&](const char *name) {
           return fileExists(joinPath(path, name));
         });
}
