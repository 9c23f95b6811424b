// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering of planned kern modules to the LLVM dialect.
#ifndef TRANSOM_PASSES_LOWER_PASSES_TD
#define TRANSOM_PASSES_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernToLlvmPass : Pass<"convert-kern-to-llvm", "::mlir::ModuleOp"> {
  let summary = "emits the functions for all phases for one instruction set";
  let description = [{
    Replaces a planned kern module with code: a function
    `transom.p.<isa>.<phase>.<location>(frame, offsets, worker, num_workers)` for
    each phase, in module order, and the micro-kernels
    `transom.k.<isa>.<type>.<MR>x<NR>...` that they call. All workers run a phase's
    function; each computes its share.

    In a module with many operations, phases call functions
    `transom.o.<isa>.<number>.<operation>(frame, offsets, worker, num_workers, ...)`
    that execute one operation each. Operations that differ only in the buffers, weights
    and caches that they access share a function; its other arguments are their slots
    and offsets. So code generation time depends on the number of distinct operations.

    The functions are in the LLVM dialect; their bodies also use `scf`, `arith`
    and `vector`, which the upstream conversions lower afterwards.
    `runtime/abi/Abi.h` defines the frame.

    Pre-condition: phases are formed, memory is planned, weights have a layout and an
    offset. Post-condition: no kern operation remains, and no module attribute except
    this pass's remarks: the tiles for each GEMM and attention. Operations that share a
    function have one remark.

    Skips phases that are library calls. Fails for an unknown instruction set and for an
    operation without a lowering.

    Example, with `isa=avx2`:
    ```mlir
    kern.phase "copy" {
      kern.softmax %x outs(%y) : !kern.buffer<[4, 8] x f32>, !kern.buffer<[4, 8] x f32>
    }
    // becomes
    llvm.func @transom.p.avx2.copy(!llvm.ptr, !llvm.ptr, i64, i64)
    ```
  }];
  let options = [
    Option<"isa", "isa", "std::string", [{"avx2"}],
           "Instruction set to emit code for: avx2, avxvnni, avx512, avx512vnni, avx512bf16, amx or neon">,
    Option<"shareFrom", "share-from", "int64_t", "1024",
           "Minimum operation count in phases at which equal operations share a function">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numPhases", "phases", "phases that became functions">,
    Statistic<"numShared", "shared", "functions shared by operations">,
    Statistic<"numKernels", "kernels", "micro-kernels emitted">];
}

#endif // TRANSOM_PASSES_LOWER_PASSES_TD
