// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions are classified by their name prefix: phase or micro-kernel. The
// byte count includes code that phases share, `transom.o.`.
#include "compiler/codegen/CodeSize.h"
#include "runtime/base/CodeSymbols.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace transom;

static Error unreadable(llvm::Error error) {
  return internalError("the object file cannot be read: " +
                       llvm::toString(std::move(error)));
}

Result<CodeSize> transom::getCodeSize(const std::string &object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(object, "code"));
  if (!file)
    return unreadable(file.takeError());
  CodeSize size;
  for (const llvm::object::ELFSymbolRef symbol : (*file)->symbols()) {
    if (symbol.getELFType() != llvm::ELF::STT_FUNC)
      continue;
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name)
      return unreadable(name.takeError());
    size.phases += name->starts_with(phaseSymbolPrefix);
    size.kernels += name->starts_with(kernelSymbolPrefix);
    size.bytes += symbol.getSize();
  }
  return size;
}
