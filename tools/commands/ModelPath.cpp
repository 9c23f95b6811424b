// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognizes formats by their first bytes, and folders by the files in them.
#include "tools/commands/ModelPath.h"
#include "runtime/base/File.h"
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

namespace {

/// A recognized file format.
struct FileKind {
  Status status;      ///< error status if a model folder is expected
  const char *what;   ///< `is a GGUF file`
  const char *advice; ///< for users of `compile`
};

} // namespace

static constexpr const char *kUseFolder =
    "compile the model folder that it was made from (config.json and "
    "*.safetensors)";

static bool startsWith(const std::string &text, const char *prefix) {
  return text.compare(0, strlen(prefix), prefix) == 0;
}

static bool endsWith(const std::string &text, const char *suffix) {
  const size_t length = strlen(suffix);
  return text.size() >= length &&
         text.compare(text.size() - length, length, suffix) == 0;
}

/// Reads the first bytes in a file; fewer if it is short or unreadable.
static std::string readHead(const std::string &path) {
  std::string head(512, '\0');
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return {};
  const ssize_t count = read(fd, head.data(), head.size());
  close(fd);
  head.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return head;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static bool isHtml(const std::string &head) {
  std::string start = head.substr(0, 64);
  start.erase(0, start.find_first_not_of(" \t\r\n"));
  for (char &c : start)
    c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return startsWith(start, "<!doctype html") || startsWith(start, "<html");
}

/// Safetensors: a header length, then the header, a JSON object.
static bool isSafetensors(const std::string &head) {
  uint64_t length = 0;
  if (head.size() < 10)
    return false;
  memcpy(&length, head.data(), sizeof length);
  return length < (uint64_t(1) << 30) && head[8] == '{' &&
         (head[9] == '"' || head[9] == '}');
}

/// ONNX: a protobuf message with ir_version, then the producer's name.
static bool isOnnx(const std::string &path, const std::string &head) {
  return endsWith(path, ".onnx") ||
         (head.size() > 4 && head[0] == 8 && head[1] < 32 && head[2] == 18 &&
          static_cast<unsigned char>(head[3]) < 64);
}

/// PyTorch: a zip archive or a pickle, as torch.save() writes them.
static bool isPyTorch(const std::string &path, const std::string &head) {
  return startsWith(head, "PK\x03\x04") ||
         (head.size() > 1 && head[0] == '\x80' && head[1] < 6) ||
         endsWith(path, ".bin") || endsWith(path, ".pt") ||
         endsWith(path, ".pth") || endsWith(path, ".ckpt");
}

/// Recognizes a pointer or error page that was downloaded instead of a file.
static std::optional<FileKind> recognizePlaceholder(const std::string &head) {
  if (startsWith(head, "version ") && head.find("git-lfs") < 32)
    return FileKind{Status::Rejected, "is a Git LFS pointer, not the file",
                    "fetch the file with 'git lfs pull'"};
  if (isHtml(head))
    return FileKind{Status::Rejected, "is an HTML page, not the file",
                    "download the file again; the page says why the server "
                    "did not send it"};
  return std::nullopt;
}

bool tools::isGgufFile(const std::string &path) {
  return startsWith(readHead(path), "GGUF");
}

/// Recognizes a file by its first bytes. Returns nullopt for an unreadable
/// file, since its reader reports the reason.
static std::optional<FileKind> recognizeFile(const std::string &path,
                                             const std::string &head) {
  if (head.empty())
    return std::nullopt;
  if (std::optional<FileKind> kind = recognizePlaceholder(head))
    return kind;
  if (startsWith(head, "GGUF"))
    return FileKind{Status::Unsupported, "is a GGUF file", kUseFolder};
  if (startsWith(head, "\x7f"
                       "ELF"))
    return FileKind{Status::Rejected,
                    "is a compiled model or another shared object", kUseFolder};
  if (endsWith(path, ".safetensors") || isSafetensors(head))
    return FileKind{Status::Unsupported,
                    "is a safetensors file, which holds weights alone",
                    "compile the folder of its config.json"};
  if (isOnnx(path, head))
    return FileKind{Status::Unsupported, "is an ONNX file", kUseFolder};
  if (isPyTorch(path, head))
    return FileKind{Status::Unsupported, "is a PyTorch checkpoint",
                    "save the model as safetensors with 'save_pretrained' and "
                    "compile that folder"};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Paths and folders
//===----------------------------------------------------------------------===//

/// Returns true for `org/name`, a model hub name.
static bool isHubName(const std::string &path) {
  const size_t slash = path.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == path.size() ||
      path.find('/', slash + 1) != std::string::npos || path[0] == '.' ||
      endsWith(path, ".json") || endsWith(path, ".so") ||
      isFolder(path.substr(0, slash)))
    return false;
  return path.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "-_./") == std::string::npos;
}

/// Returns an error for a broken link, an inaccessible folder, or a hub name
/// that does not exist as a path.
static Result<void> checkExists(const std::string &path) {
  struct stat info;
  if (lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode) &&
      stat(path.c_str(), &info) != 0 && (errno == ENOENT || errno == ELOOP)) {
    char target[512];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    return unavailable(
        quote(path) + " is a broken link" +
        (length > 0
             ? " to " + quote(std::string(target, static_cast<size_t>(length)))
             : ""));
  }
  if (isFolder(path) && access(path.c_str(), X_OK) != 0)
    return systemError("cannot open", path, errno);
  if (!fileExists(path) && isHubName(path))
    return unavailable("no file or folder " + quote(path) +
                       "; to compile a model of the Hugging Face hub, download "
                       "it first: 'hf download " +
                       path + " --local-dir " + getFileName(path) + "'");
  return {};
}

/// Returns the first name that is a file in the folder, or an empty string.
static std::string findFile(const std::string &folder,
                            std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (fileExists(joinPath(folder, name)))
      return name;
  return {};
}

/// Rejects known names in a model folder that have another format.
static Result<void> checkFiles(const std::string &folder) {
  for (const char *name :
       {"config.json", "gliner_config.json", "model.safetensors",
        "model.safetensors.index.json", "tokenizer.json",
        "tokenizer_config.json", "generation_config.json", "graph.json"}) {
    const std::string path = joinPath(folder, name);
    if (!fileExists(path))
      continue;
    if (auto kind = recognizePlaceholder(readHead(path)))
      return Error{kind->status,
                   quote(path) + " " + kind->what + "; " + kind->advice,
                   {}};
  }
  return {};
}

/// Returns the first GGUF file in a folder by name, or an empty string.
static std::string findGguf(const std::string &folder) {
  std::string first;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (endsWith(name, ".gguf") && (first.empty() || name < first))
      first = name;
  }
  return first;
}

/// Returns the base model that an adapter's config names; empty if it names
/// none.
static std::string findBaseModel(const std::string &folder) {
  Result<JsonDocument> config =
      parseJsonFile(joinPath(folder, "adapter_config.json"));
  if (!config || !config->root().isObject())
    return {};
  auto name = config->root().find("base_model_name_or_path");
  return name && name->isString() ? std::string(*name->asString()) : "";
}

/// Returns an error for an adapter in place of a model.
static Error refuseAdapter(const std::string &folder) {
  const std::string base = findBaseModel(folder);
  return unsupported(
      quote(folder) +
      " holds a LoRA adapter, not a model; compile its base "
      "model" +
      (base.empty() ? "" : " " + quote(base)) + " with it: 'transom compile " +
      (isFolder(base) ? base : "MODEL") + " --lora " + folder + "'");
}

/// Recognizes a folder without files that describe a model.
static Result<void> checkOtherFolder(const std::string &folder) {
  if (fileExists(joinPath(folder, "adapter_config.json")))
    return refuseAdapter(folder);
  // Pipelines with several models.
  if (fileExists(joinPath(folder, "model_index.json"))) {
    const std::string part =
        findFile(folder, {"text_encoder/config.json", "prior/config.json"});
    return unsupported(
        quote(folder) +
        " is a pipeline of diffusers, which is not supported; " +
        (part.empty()
             ? "compile the folder of one of its Transformers"
             : "compile one of its Transformers, such as " +
                   quote(joinPath(folder, part.substr(0, part.find('/'))))));
  }
  // Old folder layouts.
  const std::string old =
      findFile(folder, {"0_Transformer/config.json", "0_BERT/config.json",
                        "0_RoBERTa/config.json", "0_DistilBERT/config.json"});
  if (!old.empty())
    return unsupported(
        quote(folder) +
        " has the old layout of sentence-transformers, which is not supported; "
        "save it again with a current version, or compile " +
        quote(joinPath(folder, old.substr(0, old.find('/')))));
  // A GGUF file is compiled without its folder.
  if (const std::string name = findGguf(folder); !name.empty())
    return unavailable(quote(folder) +
                       " has no config.json; compile its GGUF file " +
                       quote(joinPath(folder, name)));
  return {};
}

bool tools::isModelSource(const std::string &path) {
  return isFolder(path) || (path.size() > 5 && endsWith(path, ".json")) ||
         (path.size() > 5 && endsWith(path, ".gguf")) || isGgufFile(path);
}

Result<void> tools::checkModelSource(const std::string &path) {
  TRANSOM_TRY(checkExists(path));
  if (isFolder(path)) {
    TRANSOM_TRY(checkFiles(path));
    if (findFile(path, {"config.json", "gliner_config.json", "graph.json"})
            .empty())
      return checkOtherFolder(path);
    // A folder may contain a config and a tokenizer next to an adapter.
    if (fileExists(joinPath(path, "adapter_config.json")) &&
        findFile(path, {"model.safetensors", "model.safetensors.index.json",
                        "pytorch_model.bin", "pytorch_model.bin.index.json",
                        "graph.json"})
            .empty())
      return refuseAdapter(path);
    return {};
  }
  const std::string name = getFileName(path);
  if (name == "adapter_config.json" || startsWith(name, "adapter_model."))
    return refuseAdapter(path.size() > name.size()
                             ? path.substr(0, path.size() - name.size() - 1)
                             : ".");
  const std::string head = readHead(path);
  if (startsWith(head, "GGUF"))
    return {};
  if (auto kind = recognizeFile(path, head))
    return Error{
        kind->status, quote(path) + " " + kind->what + "; " + kind->advice, {}};
  return {};
}

Result<void> tools::checkModelArtifact(const std::string &path) {
  TRANSOM_TRY(checkExists(path));
  if (isFolder(path))
    return unavailable(quote(path) +
                       " is a folder, expected a compiled model; 'transom "
                       "compile' makes one");
  const std::string head = readHead(path);
  if (auto kind = recognizeFile(path, head); kind && !startsWith(head, "\x7f"
                                                                       "ELF"))
    return rejected(quote(path) + " " + kind->what +
                    ", expected a compiled model; 'transom compile' makes one "
                    "from " +
                    (startsWith(head, "GGUF") ? "it" : "a model folder"));
  return {};
}
