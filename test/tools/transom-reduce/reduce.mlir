// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: not transom-opt %s --convert-attn-to-kern --mlir-pass-pipeline-crash-reproducer=failing.mlir -o /dev/null 2> first.txt
// RUN: FileCheck %s --check-prefix=ERROR < first.txt

// One command replays what the failing pass has left.
// RUN: not transom-opt --run-reproducer failing.mlir 2>&1 | FileCheck %s --check-prefix=ERROR

// One command makes it smaller: what is left fails with the same error.
// RUN: transom-reduce failing.mlir -o small.mlir 2> progress.txt
// RUN: FileCheck %s --input-file=small.mlir
// RUN: FileCheck %s --check-prefix=PROGRESS --input-file=progress.txt
// RUN: not transom-opt --run-reproducer small.mlir 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: 'attn.rms_norm' op expects gamma and beta to be weights
// PROGRESS: transom-reduce: 4 operations

// CHECK-NOT: attn.weight
// CHECK: func.func @f(%[[G:.*]]: tensor<8xf32>{{.*}}, %[[X:.*]]: !rows_8_float
// CHECK-NEXT: attn.rms_norm %[[X]], %[[G]]
// CHECK-NEXT: return
// CHECK-NOT: func.func
// CHECK: pipeline: "builtin.module(convert-attn-to-kern)"

// Errors are one line.
// RUN: not transom-reduce %s 2>&1 | FileCheck %s --check-prefix=NOPIPELINE
// NOPIPELINE: error: {{.*}}reduce.mlir: the module has no pipeline; expected a file that a failing pass has left, with 'mlir_reproducer'
// RUN: not transom-reduce none.mlir 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: error: cannot read 'none.mlir': No such file or directory
// RUN: sed 's/convert-attn-to-kern/cse/' failing.mlir > fine.mlir
// RUN: not transom-reduce fine.mlir 2>&1 | FileCheck %s --check-prefix=FINE
// FINE: error: fine.mlir: the pipeline 'builtin.module(cse)' does not fail on the module
// RUN: echo 'func.func' > broken.mlir
// RUN: not transom-reduce broken.mlir 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: error: broken.mlir: not a module:

!x = tensor<?x8xf32, #attn.shape<[rows, 8]>>
module attributes {attn.symbols = {rows = {max = -1 : i64}}} {
  attn.weight @w : [8, 8] f32 = #weight.expr<file("w")>
  attn.weight @g : [8] f32 = #weight.expr<file("g")>
  func.func @f(%x: !x, %g: tensor<8xf32>) -> !x {
    %w = attn.get_weight @w : [8, 8] f32
    %0 = attn.linear %x, %w : !x, [8, 8] f32
    %1 = attn.scale %0 by 2.0 : !x
    %2 = attn.add %1, %x : !x, !x
    %y = attn.rms_norm %2, %g eps 1.0e-6 : !x, [8] f32
    %z = attn.add %y, %2 : !x, !x
    return %z : !x
  }
  func.func @other(%x: !x) -> !x {
    %w = attn.get_weight @g : [8] f32
    %0 = attn.rms_norm %x, %w eps 1.0e-6 : !x, [8] f32
    return %0 : !x
  }
}
