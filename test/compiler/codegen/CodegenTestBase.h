// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small hand-written model in the LLVM dialect, and a tensor source whose
// values are a function of their indices.
#pragma once
#include "compiler/artifact/Artifact.h"
#include "compiler/codegen/Object.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace transom::test {

/// Tensor "NxK" with any size: element [i, j] is i * 1000 + j (one dimension:
/// [i] is i).
class IndexSource : public TensorSource {
public:
  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    std::vector<int64_t> sizes;
    for (llvm::StringRef part : llvm::split(name, 'x')) {
      int64_t size;
      if (part.getAsInteger(10, size))
        return rejected("missing tensor '" + name + "'");
      sizes.push_back(size);
    }
    return sizes;
  }
  Result<void> read(const std::string &name,
                    const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override {
    if (sizes.size() == 1) {
      for (int64_t i = 0; i < sizes[0]; ++i)
        *out++ = static_cast<float>(offsets[0] + i);
      return {};
    }
    for (int64_t i = 0; i < sizes[0]; ++i)
      for (int64_t j = 0; j < sizes[1]; ++j)
        *out++ = static_cast<float>((offsets[0] + i) * 1000 + offsets[1] + j);
    return {};
  }
};

/// Phase "double": arena[worker] = 2 * weights[row[0] bytes + worker], as f32.
/// Phase "mark": counters[0] = the number given to it. `body` replaces it.
inline std::string phasesFor(const std::string &isa) {
  return R"(
llvm.func @"transom.p.)" +
         isa +
         R"(.double"(%frame: !llvm.ptr, %row: !llvm.ptr, %worker: i64, %num_workers: i64) {
  %arena = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  %wp = llvm.getelementptr %frame[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %weights = llvm.load %wp : !llvm.ptr -> !llvm.ptr
  %offset = llvm.load %row : !llvm.ptr -> i64
  %base = llvm.getelementptr %weights[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %in = llvm.getelementptr %base[%worker] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %in : !llvm.ptr -> f32
  %y = llvm.fadd %x, %x : f32
  %out = llvm.getelementptr %arena[%worker] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %y, %out : f32, !llvm.ptr
  llvm.return
}
llvm.func @"transom.p.)" +
         isa +
         R"(.mark"(%frame: !llvm.ptr, %row: !llvm.ptr, %worker: i64, %num_workers: i64) {
  %cp = llvm.getelementptr %frame[48] : (!llvm.ptr) -> !llvm.ptr, i8
  %counters = llvm.load %cp : !llvm.ptr -> !llvm.ptr
  llvm.store %num_workers, %counters : i64, !llvm.ptr
  llvm.return
}
)";
}

/// Compiles a module string to an object for an instruction set.
inline Result<std::string> compileObject(const std::string &text,
                                         const std::string &isa,
                                         CodeKind kind = CodeKind::Object) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::LLVM::LLVMDialect>();
  mlir::MLIRContext context(registry);
  registerLLVMTranslations(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return internalError("the test's module does not parse");
  TRANSOM_ASSIGN(const InstructionSet *target, getInstructionSet(isa));
  TRANSOM_ASSIGN(IsaModule code, translate(*module, *target));
  TRANSOM_TRY(optimize(code));
  return emitCode(code, kind);
}

} // namespace transom::test
