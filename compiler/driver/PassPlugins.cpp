// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file is read before it is loaded, since loading runs its constructors.
#include "compiler/driver/PassPlugins.h"
#include "compiler/codegen/FatalErrors.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"
#include <mutex>
#include <set>

namespace transom {

/// Returns a plug-in's file name with the SHA-256 of its bytes.
static Result<std::string> describePlugin(const std::string &path) {
  TRANSOM_ASSIGN(MappedFile file, MappedFile::open(path));
  Sha256 hash;
  hash.update(file.bytes());
  return path.substr(path.rfind('/') + 1) + " sha256:" + hash.hex();
}

Result<std::vector<std::string>>
loadPassPlugins(const std::vector<std::string> &paths) {
  // Registrations by a plug-in are permanent in the process.
  static std::mutex mutex;
  static std::set<std::string> loaded;
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> described;
  for (const std::string &path : paths) {
    TRANSOM_ASSIGN(std::string text, describePlugin(path));
    if (loaded.insert(text).second) {
      // Without a folder, the name would be looked up in the system folders.
      llvm::Expected<mlir::PassPlugin> plugin = mlir::PassPlugin::load(
          path.find('/') == std::string::npos ? "./" + path : path);
      if (!plugin) {
        Error error =
            rejected("'" + path +
                     "' is not a plug-in with passes; expected a shared "
                     "library with 'mlirGetPassPluginInfo' for this compiler");
        error.notes.push_back(llvm::toString(plugin.takeError()));
        return error;
      }
      plugin->registerPassRegistryCallbacks();
    }
    described.push_back(std::move(text));
  }
  return Result<std::vector<std::string>>(std::move(described));
}

namespace {

/// Tracks the current pass, including nested passes.
struct CurrentPass : mlir::PassInstrumentation {
  void runBeforePass(mlir::Pass *pass, mlir::Operation *) override {
    name = pass->getArgument().str();
  }

  std::string name;
};

} // namespace

Result<bool> runPluginPasses(mlir::PassManager &passes, mlir::ModuleOp module,
                             const std::string &point,
                             const std::vector<std::string> &plugins) {
  auto current = std::make_unique<CurrentPass>();
  const std::string &name = current->name;
  passes.addInstrumentation(std::move(current));
  bool succeeded = false;
  std::string reason;
  if (!runGuarded([&] { succeeded = mlir::succeeded(passes.run(module)); },
                  reason))
    return rejected("the pass '" + name + "' of a plug-in crashed at '" +
                    point + "'" + (reason.empty() ? "" : ": " + reason) +
                    "; plug-ins: " + llvm::join(plugins, ", "));
  return succeeded;
}

} // namespace transom
