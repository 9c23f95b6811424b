// RUN: not transom-opt %s --verify-each=false --convert-attn-to-kern 2>&1 | FileCheck %s

!x = tensor<4x8xf32>

// An error in a layer body is a pass error.
// CHECK: error: {{.*}}has no kernel
// CHECK-NOT: func.func
func.func @operations_of_other_dialects_in_a_layer(%x: !x) -> !x {
  %y = attn.layers %x [@layer] : !x
  return %y : !x
}
func.func private @layer(%s: !x) -> !x {
  %c = arith.constant 1 : i64
  return %s : !x
}
