// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locates and loads the compiler library.
#include "tools/commands/Compiler.h"
#include "runtime/base/File.h"
#include "runtime/base/FileUse.h"
#include "tools/commands/FatalErrors.h"
#include "transom/transom.h"
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace transom;

static const char *const libraryName = "libtransom-compiler.so";

/// Returns the folder of the running program; empty if unknown.
static std::string programFolder() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == sizeof path)
    return {};
  std::string program(path, static_cast<size_t>(length));
  return program.substr(0, program.rfind('/'));
}

Result<const CompilerApi *> tools::openCompiler() {
  const std::string folder = programFolder();
  void *library = nullptr;
  // LLVM's constructors run in dlopen.
  endWhenOutOfMemory();
  // An existing library that fails to load ends the search.
  for (const std::string &place :
       {folder + "/" TRANSOM_LIBRARY_FOLDER "/" + libraryName,
        folder + "/../lib/" + libraryName, folder + "/" + libraryName,
        std::string(libraryName)}) {
    if (place[0] == '/' && !fileExists(place))
      continue;
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library || place[0] == '/')
      break;
  }
  if (!library) {
    const char *reason = dlerror();
    return unavailable("cannot open the compiler: " +
                       std::string(reason ? reason : "out of memory"));
  }
  auto entry = reinterpret_cast<decltype(&transom_compiler)>(
      dlsym(library, "transom_compiler"));
  if (!entry)
    return unavailable(std::string(libraryName) + " is no compiler of transom");
  const CompilerApi *api = entry();
  if (strcmp(api->version, transom_version()) != 0)
    return unavailable("the compiler has version " + std::string(api->version) +
                       ", the tool " + transom_version());
  api->setFatalErrorHandler(endProcess);
  api->recordFiles(FileUse::get());
  return api;
}
