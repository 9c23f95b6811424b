// RUN: transom-opt %s --attn-fuse-attention --split-input-file | FileCheck %s

!x = tensor<?x?x64xf32, #attn.shape<[batch, seq, 64]>>
!bs = tensor<?x?x4x16xf32, #attn.shape<[batch, seq, 4, 16]>>
!bh = tensor<?x4x?x16xf32, #attn.shape<[batch, 4, seq, 16]>>
!kt = tensor<?x4x16x?xf32, #attn.shape<[batch, 4, 16, seq]>>
!s = tensor<?x4x?x?xf32, #attn.shape<[batch, 4, seq, seq]>>
!m = tensor<?x?xi1, #attn.shape<[batch, seq]>>
!m4 = tensor<?x1x1x?xi1, #attn.shape<[batch, 1, 1, seq]>>
!full = tensor<?x1x?x?xi1, #attn.shape<[batch, 1, seq, seq]>>
!one = tensor<1xf32>

// Heads split and merged, scale after the product, a key mask.
// CHECK: args = {causal = "no"{{.*}}mask = "keys", operations = "5"{{.*}}}, category = "attn-fuse-attention"{{[^{}]*}}kind = "passed"{{[^{}]*}}name = "attention-fused"
// CHECK-LABEL: func.func @as_written_by_bert(
// CHECK-SAME: %[[Q:.*]]: !{{[a-z0-9_]+}}, %[[K:.*]]: !{{[a-z0-9_]+}}, %[[V:.*]]: !{{[a-z0-9_]+}}, %[[M:.*]]: 
// CHECK-NEXT: %[[A:.*]] = attn.sdpa %[[Q]], %[[K]], %[[V]] mask(%[[M]] : {{[^)]*}}) heads 4 kv_heads 4 scale 2.500000e-01 <keys>
// CHECK-NEXT: return %[[A]]
func.func @as_written_by_bert(%q: !x, %k: !x, %v: !x, %m: !m) -> !x {
  %q4 = attn.reshape %q to <[batch, seq, 4, 16]> : !x
  %qh = attn.transpose %q4 [0, 2, 1, 3] : !bs
  %k4 = attn.reshape %k to <[batch, seq, 4, 16]> : !x
  %kh = attn.transpose %k4 [0, 2, 1, 3] : !bs
  %v4 = attn.reshape %v to <[batch, seq, 4, 16]> : !x
  %vh = attn.transpose %v4 [0, 2, 1, 3] : !bs
  %s = attn.matmul %qh, %kh {transpose_rhs} : !bh
  %t = attn.scale %s by 0.25 : !s
  %m4 = attn.reshape %m to <[batch, 1, 1, seq]> : !m
  %u = attn.mask %t, %m4 with 0xFFF0000000000000 : !s, !m4
  %p = attn.softmax %u : !s
  %c = attn.matmul %p, %vh : !s, !bh
  %ct = attn.transpose %c [0, 2, 1, 3] : !bh
  %y = attn.reshape %ct to <[batch, seq, 64]> : !bs
  return %y : !x
}

// Query and key scales, a division, keys stored [.., dk, k], values transposed,
// a reader between transpose and merge.
// CHECK-LABEL: func.func @scales_in_front_and_transposed_keys(
// CHECK-SAME: %[[Q:.*]]: !{{[a-z0-9_]+}}, %[[K:.*]]: !{{[a-z0-9_]+}}, %[[V:.*]]: 
// CHECK-NEXT: %[[A:.*]] = attn.sdpa %[[Q]], %[[K]], %[[V]] heads 4 kv_heads 4 scale 6.250000e-02 <none>
// CHECK-NEXT: attn.reshape %[[A]] to <[batch, seq, 4, 16]>
func.func @scales_in_front_and_transposed_keys(%q: !x, %k: !x, %v: !x) -> !bs {
  %c2 = attn.constant dense<2.0> : tensor<1xf32>
  %qs = attn.scale %q by 0.5 : !x
  %q4 = attn.reshape %qs to <[batch, seq, 4, 16]> : !x
  %qh = attn.transpose %q4 [0, 2, 1, 3] : !bs
  %k4 = attn.reshape %k to <[batch, seq, 4, 16]> : !x
  %kh = attn.transpose %k4 [0, 2, 1, 3] : !bs
  %kd = attn.div %kh, %c2 : !bh, !one
  %kt = attn.transpose %kd [0, 1, 3, 2] : !bh
  %v4 = attn.reshape %v to <[batch, seq, 4, 16]> : !x
  %vt = attn.transpose %v4 [0, 2, 3, 1] : !bs
  %s = attn.matmul %qh, %kt : !bh, !kt
  %t = attn.scale %s by 0.25 : !s
  %p = attn.softmax %t : !s
  %c = attn.matmul %p, %vt {transpose_rhs} : !s, !kt
  %ct = attn.transpose %c [0, 2, 1, 3] : !bh
  return %ct : !bs
}

// One head without a split; the bool mask gets a head axis.
!s3 = tensor<?x?x?xf32, #attn.shape<[batch, seq, seq]>>
!full3 = tensor<?x?x?xi1, #attn.shape<[batch, seq, seq]>>
// CHECK-LABEL: func.func @one_head(
// CHECK: %[[M:.*]] = attn.reshape %{{.*}} to <[batch, 1, seq, seq]>
// CHECK: %[[A:.*]] = attn.sdpa %{{.*}} mask(%[[M]] : {{[^)]*}}) heads 1 kv_heads 1 scale 1.000000e+00 <select>
// CHECK-NEXT: return %[[A]]
func.func @one_head(%q: !x, %k: !x, %v: !x, %m: !full3) -> !x {
  %hidden = attn.constant dense<0xFF800000> : tensor<1xf32>
  %s = attn.matmul %q, %k {transpose_rhs} : !x
  %u = attn.where %m, %s, %hidden : !full3, !s3, !one
  %p = attn.softmax %u : !s3
  %c = attn.matmul %p, %v : !s3, !x
  return %c : !x
}

// Operands with another origin get a separate transpose and reshape, and other
// readers of the product get its heads back.
// CHECK-LABEL: func.func @heads_of_other_origin(
// CHECK-COUNT-3: attn.reshape %{{.*}} to <[batch, seq, 64]>
// CHECK: %[[A:.*]] = attn.sdpa
// CHECK: %[[R:.*]] = attn.reshape %[[A]] to <[batch, seq, 4, 16]>
// CHECK: %[[T:.*]] = attn.transpose %[[R]] [0, 2, 1, 3]
// CHECK: return %[[T]]
func.func @heads_of_other_origin(%q: !bh, %k: !bh, %v: !bh) -> !bh {
  %s = attn.matmul %q, %k {transpose_rhs} : !bh
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !bh
  return %c : !bh
}

// One key and value head serves all query heads.
!b1 = tensor<?x1x?x16xf32, #attn.shape<[batch, 1, seq, 16]>>
// CHECK-LABEL: func.func @shared_keys(
// CHECK: attn.sdpa {{.*}} heads 4 kv_heads 1
func.func @shared_keys(%q: !bh, %k: !b1, %v: !b1) -> !bh {
  %s = attn.matmul %q, %k {transpose_rhs} : !bh, !b1
  %p = attn.softmax %s : !s
  %c = attn.matmul %p, %v : !s, !b1
  return %c : !bh
}
