// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A phase and a micro-kernel whose operations have locations in a listing.
#pragma once
#include "compiler/codegen/LineTables.h"
#include "test/compiler/codegen/CodegenTestBase.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include <set>

namespace transom::test {

/// Reads the module and translates it.
class LinesModule {
public:
  static constexpr const char *phase = "transom.p.avx2.f.0.copy.layer.{0-1}";
  static constexpr const char *kernel = "transom.k.avx2.f32.6x16.k8";

  LinesModule() {
    registerLLVMTranslations(context);
    context.loadDialect<mlir::LLVM::LLVMDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  Result<IsaModule> translate(const char *isa,
                              const char *listing = "list.mlir") {
    if (!module)
      return internalError("the test's module does not parse");
    addLineTables(*module, listing);
    TRANSOM_ASSIGN(const InstructionSet *target, getInstructionSet(isa));
    return transom::translate(*module, *target);
  }

private:
  static constexpr const char *text = R"mlir(
llvm.func @"transom.k.avx2.f32.6x16.k8"(%p: !llvm.ptr) attributes {passthrough = ["noinline"]} {
  %x = llvm.load %p : !llvm.ptr -> f32 loc("list.mlir":4:1)
  %y = llvm.fadd %x, %x : f32 loc("list.mlir":4:1)
  llvm.store %y, %p : f32, !llvm.ptr loc("list.mlir":4:1)
  llvm.return loc("list.mlir":4:1)
} loc("list.mlir":4:1)
llvm.func @"transom.p.avx2.f.0.copy.layer.{0-1}"(%p: !llvm.ptr, %n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %more = llvm.icmp "sgt" %n, %zero : i64 loc("inner"("list.mlir":4:1))
  llvm.cond_br %more, ^body, ^end loc("inner"("list.mlir":4:1))
^body:
  llvm.call @"transom.k.avx2.f32.6x16.k8"(%p) : (!llvm.ptr) -> () loc(fused["config.json", "list.mlir":5:1])
  llvm.call @"transom.k.avx2.f32.6x16.k8"(%p) : (!llvm.ptr) -> () loc(fused["config.json", "list.mlir":5:1])
  llvm.br ^end loc("list.mlir":5:1)
^end:
  llvm.return loc("elsewhere.mlir":9:1)
} loc("outer"("list.mlir":3:1))
)mlir";

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace transom::test
