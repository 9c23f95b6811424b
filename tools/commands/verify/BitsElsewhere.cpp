// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs this program again with ordinary commands and compares their output.
#include "tools/commands/verify/BitsElsewhere.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/base/File.h"
#include "tools/commands/Command.h"
#include "tools/commands/Tensors.h"
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

extern char **environ;

Result<WorkFolder> WorkFolder::create() {
  std::error_code failure;
  std::string name = std::filesystem::temp_directory_path(failure).string();
  if (failure)
    return unavailable("no folder for temporary files: " + failure.message());
  name += "/transom-verify-XXXXXX";
  if (!mkdtemp(name.data()))
    return systemError("cannot create", name, errno);
  WorkFolder folder;
  folder.where = name;
  return Result<WorkFolder>(std::move(folder));
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!where.empty())
    std::filesystem::remove_all(where, ignored);
}

/// Returns the last line in a file; empty if it has none.
static std::string readLastLine(const std::string &path) {
  Result<std::string> text = readSmallFile(path, 1 << 20);
  if (!text)
    return "";
  while (!text->empty() && text->back() == '\n')
    text->pop_back();
  const size_t begin = text->rfind('\n');
  return begin == std::string::npos ? *text : text->substr(begin + 1);
}

/// Runs this program with a command, without environment variables that set
/// flags. `isa`: the instruction set to use, or empty.
static Result<void> runSelf(const std::vector<std::string> &arguments,
                            const std::string &isa, const WorkFolder &folder) {
  // Arguments and environment.
  std::vector<std::string> words{"transom"}, variables;
  words.insert(words.end(), arguments.begin(), arguments.end());
  for (char **variable = environ; *variable; ++variable)
    if (strncmp(*variable, "TRANSOM_", 8) != 0)
      variables.push_back(*variable);
  if (!isa.empty())
    variables.push_back("TRANSOM_FORCE_ISA=" + isa);
  auto getPointers = [](std::vector<std::string> &texts) {
    std::vector<char *> pointers;
    for (std::string &text : texts)
      pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  };
  // Redirect both output streams to a log, then start the process.
  const std::string log = joinPath(folder.path(), "messages");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t process = 0;
  const int failure =
      posix_spawn(&process, "/proc/self/exe", &actions, nullptr,
                  getPointers(words).data(), getPointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0)
    return systemError("cannot start", "/proc/self/exe", failure);
  // Wait for it; a failure reports the last line in the log.
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR)
    continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return {};
  return Error{WIFEXITED(status) ? static_cast<Status>(WEXITSTATUS(status))
                                 : Status::Internal,
               "'transom " + arguments[0] +
                   "' in another process failed: " + readLastLine(log),
               {}};
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

static Result<void> writeInputs(const std::string &path, const Entry &entry,
                                const BitsCall &call) {
  std::vector<TensorView> views;
  for (size_t i = 0; i != call.size(); ++i)
    views.push_back({entry.inputs[i].name, fileType(call[i].dtype),
                     call[i].shape, call[i].bytes.data()});
  return writeSafetensors(path, views);
}

static Result<BitsResults> readResults(const std::string &path,
                                       const Entry &entry) {
  TRANSOM_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
  BitsResults results;
  for (const Argument &output : entry.outputs) {
    const SafetensorsTensor *tensor = file.find(output.name);
    if (!tensor)
      return internalError(path + ": no result '" + output.name + "'");
    results.push_back({publicType(tensor->dtype), tensor->shape,
                       std::string(file.data(*tensor))});
  }
  return Result<BitsResults>(std::move(results));
}

Result<BitsCell> tools::checkProcesses(const std::string &artifact,
                                       const std::string &isa,
                                       const BitsEntry &entry,
                                       const WorkFolder &folder) {
  BitsCell cell;
  cell.axis = "process";
  cell.text = "each call by 'transom run' in a process of its own";
  const std::string in = joinPath(folder.path(), "in.safetensors");
  const std::string out = joinPath(folder.path(), "out.safetensors");
  for (size_t i = 0; i != entry.calls().size(); ++i) {
    TRANSOM_TRY(writeInputs(in, entry.entry(), entry.calls()[i]));
    TRANSOM_TRY(runSelf({"run", artifact, entry.entry().manifest->name, "--in",
                         in, "--out", out, "-q"},
                        isa, folder));
    TRANSOM_ASSIGN(BitsResults found, readResults(out, entry.entry()));
    cell.compare(entry.entry(), entry.results()[i], found, 0,
                 "call " + std::to_string(i) + ", another process");
  }
  return cell;
}

//===----------------------------------------------------------------------===//
// Compiles
//===----------------------------------------------------------------------===//

/// Returns the reason why a compile cannot be repeated; empty if it can.
static std::string whyNotCompiled(const Manifest &manifest,
                                  const std::string &model) {
  if (model.empty())
    return "needs the model that it was compiled from: '--model'";
  if (manifest.compiler != transom_version())
    return "was compiled by version " + manifest.compiler + ", this is " +
           transom_version();
  for (const auto &[flag, value] : manifest.options)
    if (flag == "resume-from" || flag == "load-pass-plugin" ||
        flag == "debug-info" || flag == "calibrate" || flag == "shortlist")
      return "was compiled with '--" + flag + "', which names another file";
  return "";
}

namespace {

/// Compiles a model repeatedly.
class Recompiler {
public:
  Recompiler(const std::string &artifact, const Manifest &manifest,
             const WorkFolder &folder)
      : name(getFileName(artifact)), manifest(manifest), folder(folder) {}

  /// Compiles into the folder `place`; returns the artifact.
  Result<MappedFile> compile(const std::string &model, const std::string &place,
                             const std::vector<std::string> &more) {
    const std::string to = joinPath(folder.path(), place);
    std::error_code failure;
    std::filesystem::create_directories(to, failure);
    if (failure)
      return unavailable("cannot create '" + to + "': " + failure.message());
    const std::string output = joinPath(to, name);
    std::vector<std::string> words{"compile", model, "-q", "-o", output};
    for (const auto &[flag, value] : manifest.options)
      words.push_back("--" + flag + "=" + value);
    std::string disabled;
    for (const std::string &pass : manifest.disabledPasses)
      disabled += (disabled.empty() ? "" : ",") + pass;
    if (!disabled.empty())
      words.push_back("--disable-pass=" + disabled);
    words.insert(words.end(), more.begin(), more.end());
    TRANSOM_TRY(runSelf(words, "", folder));
    return MappedFile::open(output);
  }

  /// Fails unless an artifact was compiled from the same model.
  Result<void> checkModel(const std::string &path,
                          const std::string &model) const {
    TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(path));
    const auto &compiled = file.manifest().inputsSha256;
    for (const auto &[input, hash] : manifest.inputsSha256) {
      auto found = compiled.find(input);
      if (found == compiled.end() || found->second != hash)
        return usageError("'--model " + model +
                          "' is not the model that the artifact was compiled "
                          "from: '" +
                          input + "' has another sha256");
    }
    return {};
  }

private:
  const std::string name;
  const Manifest &manifest;
  const WorkFolder &folder;
};

} // namespace

/// Links the model in another folder, under the same name.
static Result<std::string> linkModel(const std::string &model,
                                     const WorkFolder &folder) {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::path from = fs::canonical(model, failure);
  // A graph.json needs the weights next to it.
  const bool isFile = !failure && !fs::is_directory(from, failure);
  const fs::path whole = isFile ? from.parent_path() : from;
  const fs::path elsewhere = fs::path(folder.path()) / "elsewhere";
  if (!failure)
    fs::create_directories(elsewhere, failure);
  const fs::path link = elsewhere / whole.filename();
  if (!failure)
    fs::create_directory_symlink(whole, link, failure);
  if (failure)
    return unavailable("cannot link '" + model + "': " + failure.message());
  return (isFile ? link / from.filename() : link).string();
}

Result<std::vector<BitsCell>> tools::checkCompiles(const std::string &artifact,
                                                   const Manifest &manifest,
                                                   const std::string &model,
                                                   const WorkFolder &folder) {
  // One cell per comparison.
  auto begin = [](const char *axis, const char *text) {
    BitsCell cell;
    cell.axis = axis;
    cell.text = text;
    return cell;
  };
  BitsCell twice = begin("compiled twice", "two compiles with the artifact's "
                                           "options: bytes of the files");
  BitsCell jobs = begin("other --jobs", "a compile with --jobs 3");
  BitsCell elsewhere =
      begin("other folder", "a compile from and to other folders, by a link");
  BitsCell given = begin("compiled here", "the artifact itself and a compile "
                                          "by this build of the compiler");
  given.isPromised = false; // builds with one version may differ
  // Compile with the artifact's options, and vary one condition at a time.
  if (std::string why = whyNotCompiled(manifest, model); !why.empty()) {
    for (BitsCell *cell : {&twice, &jobs, &elsewhere, &given})
      cell->setNotRun(why);
  } else {
    Recompiler compiler(artifact, manifest, folder);
    TRANSOM_ASSIGN(MappedFile first, compiler.compile(model, "first", {}));
    TRANSOM_TRY(compiler.checkModel(first.path(), model));
    TRANSOM_ASSIGN(MappedFile second, compiler.compile(model, "first", {}));
    twice.compareBytes(first.bytes(), second.bytes(), "compiled again");
    TRANSOM_ASSIGN(MappedFile other,
                   compiler.compile(model, "jobs", {"--jobs=3"}));
    jobs.compareBytes(first.bytes(), other.bytes(), "--jobs 3");
    TRANSOM_ASSIGN(std::string link, linkModel(model, folder));
    TRANSOM_ASSIGN(MappedFile moved, compiler.compile(link, "another", {}));
    elsewhere.compareBytes(first.bytes(), moved.bytes(), "other folders");
    TRANSOM_ASSIGN(MappedFile file, MappedFile::open(artifact));
    given.compareBytes(file.bytes(), first.bytes(), "compiled again");
  }
  return Result<std::vector<BitsCell>>(
      std::vector<BitsCell>{twice, jobs, elsewhere, given});
}
