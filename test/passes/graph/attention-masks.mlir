// RUN: transom-opt %s --attn-fuse-attention --split-input-file | FileCheck %s
// RUN: transom-opt %s --attn-fuse-attention --split-input-file | FileCheck %s --check-prefix=REMARK

// REMARK: args = {mask = "'attn.where'"}{{[^{}]*}}function = "turns_bools_into_floats"{{[^{}]*}}kind = "analysis"{{[^{}]*}}name = "mask-stays-additive"

!h = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>
!m = tensor<?x?xi64, #attn.shape<[batch, seq]>>
!k = tensor<?x1x1x?xi1, #attn.shape<[batch, 1, 1, seq]>>
!ki = tensor<?x1x1x?xi64, #attn.shape<[batch, 1, 1, seq]>>
!kf = tensor<?x1x1x?xf32, #attn.shape<[batch, 1, 1, seq]>>
!full = tensor<?x1x?x?xi1, #attn.shape<[batch, 1, seq, seq]>>
!bias = tensor<4x?x?xf32, #attn.shape<[4, seq, seq]>>
!one = tensor<1xf32>

// Two bool masks are joined.
// CHECK-LABEL: func.func @joins_bool_masks(
// CHECK: %[[B:.*]] = attn.and
// CHECK: attn.sdpa {{.*}} mask(%[[B]] : {{[^)]*}}) {{.*}} <select>
func.func @joins_bool_masks(%q: !h, %k: !h, %v: !h, %a: !k, %b: !full) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.mask %s, %a with 0xFFF0000000000000 : !s, !k
  %u = attn.mask %t, %b with -3.0e38 : !s, !full
  %p = attn.softmax %u : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// A bool mask with a float one becomes minus infinity in it; the scale after
// the float mask is folded into it.
// CHECK-LABEL: func.func @turns_bools_into_floats(
// CHECK: %[[F:.*]] = attn.scale %{{.*}} by 5.000000e-01
// CHECK: %[[C:.*]] = attn.constant dense<0xFF800000>
// CHECK: %[[W:.*]] = attn.where %{{.*}}, %[[F]], %[[C]]
// CHECK: attn.sdpa {{.*}} mask(%[[W]] : {{[^)]*}}) {{.*}} scale 5.000000e-01 <additive>
func.func @turns_bools_into_floats(%q: !h, %k: !h, %v: !h, %a: !k, %b: !bias) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %b : !s, !bias
  %x = attn.scale %t by 0.5 : !s
  %u = attn.mask %x, %a with 0xFFF0000000000000 : !s, !k
  %p = attn.softmax %u : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// (1 - mask) * lowest, for a mask argument: a key mask.
// CHECK-LABEL: func.func @recognises_additive_masks_of_keys(
// CHECK: %[[C:.*]] = attn.cast %{{.*}} to i1
// CHECK: %[[K:.*]] = attn.reshape %[[C]] to <[batch, seq]>
// CHECK: attn.sdpa {{.*}} mask(%[[K]] : {{[^)]*}}) {{.*}} <keys>
func.func @recognises_additive_masks_of_keys(%q: !h, %k: !h, %v: !h, %m: !m {attn.role = "mask"}) -> !h {
  %one = attn.constant dense<1.0> : tensor<1xf32>
  %lowest = attn.constant dense<-3.4028234663852886E+38> : tensor<1xf32>
  %m4 = attn.reshape %m to <[batch, 1, 1, seq]> : !m
  %f = attn.cast %m4 to f32 : !ki
  %i = attn.sub %one, %f : !one, !kf
  %a = attn.mul %i, %lowest : !kf, !one
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %a : !s, !kf
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// -10000 that is added is data: nothing is hidden for good.
// CHECK-LABEL: func.func @keeps_small_numbers_that_are_added(
// CHECK: attn.sdpa {{.*}} <additive>
func.func @keeps_small_numbers_that_are_added(%q: !h, %k: !h, %v: !h, %m: !k) -> !h {
  %f = attn.cast %m to f32 : !k
  %a = attn.scale %f by 1.0e4 {offset = -1.0e4 : f64} : !kf
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %a, %s : !kf, !s
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// A finite value that replaces scores is preserved, here with a mask whose true
// hides.
// CHECK-LABEL: func.func @keeps_finite_masked_values(
// CHECK: %[[N:.*]] = attn.not
// CHECK: %[[K:.*]] = attn.reshape %[[N]] to <[batch, seq]>
// CHECK: attn.sdpa {{.*}} mask(%[[K]] : {{[^)]*}}) {{.*}} <keys> {mask_value = -1.000000e+04 : f64}
func.func @keeps_finite_masked_values(%q: !h, %k: !h, %v: !h, %m: !k) -> !h {
  %low = attn.constant dense<-1.0e4> : tensor<1xf32>
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.where %m, %low, %s : !k, !one, !s
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// -1e9 is above the limit -1e30; one that hides with it twice is one mask.
// CHECK-LABEL: func.func @joins_equal_finite_values(
// CHECK: attn.sdpa {{.*}} <keys> {mask_value = -1.000000e+09 : f64}
func.func @joins_equal_finite_values(%q: !h, %k: !h, %v: !h, %m: !k, %n: !k) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.mask %s, %m with -1.0e9 : !s, !k
  %u = attn.mask %t, %n with -1.0e9 : !s, !k
  %p = attn.softmax %u : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// -1e30 is the largest value that hides.
// CHECK-LABEL: func.func @hides_with_the_limit(
// CHECK: attn.sdpa {{.*}} <keys> :
func.func @hides_with_the_limit(%q: !h, %k: !h, %v: !h, %m: !k) -> !h {
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.mask %s, %m with -1.0e30 : !s, !k
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// A selected value is added: 0 or a low one, on either side.
// CHECK-LABEL: func.func @chosen_numbers(
// CHECK: %[[N:.*]] = attn.not
// CHECK: attn.sdpa {{.*}} <keys> :
func.func @chosen_numbers(%q: !h, %k: !h, %v: !h, %m: !k, %n: !k) -> !h {
  %zero = attn.constant dense<0.0> : !one
  %low = attn.constant dense<-3.0e38> : !one
  %a = attn.where %m, %zero, %low : !k, !one, !one
  %b = attn.where %n, %low, %zero : !k, !one, !one
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %a : !s, !kf
  %u = attn.add %t, %b : !s, !kf
  %p = attn.softmax %u : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}

// A 0/1 mask times a low value hides where it is 1.
// CHECK-LABEL: func.func @hides_ones(
// CHECK: %[[N:.*]] = attn.not
// CHECK: %[[K:.*]] = attn.reshape %[[N]] to <[batch, seq]>
// CHECK: attn.sdpa {{.*}} mask(%[[K]] : {{[^)]*}}) {{.*}} <keys> :
func.func @hides_ones(%q: !h, %k: !h, %v: !h, %m: !k) -> !h {
  %f = attn.cast %m to f32 : !k
  %a = attn.scale %f by -3.0e38 : !kf
  %s = attn.matmul %q, %k {transpose_rhs} : !h
  %t = attn.add %s, %a : !s, !kf
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %v : !s, !h
  return %c : !h
}
