// Short forms for types, sizes and layers, and result names.
// RUN: transom-opt %s | FileCheck %s

// CHECK: !batch_seq_8_float = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>
!x = tensor<?x?x8xf32, #attn.shape<[batch, seq, 8]>>

attn.weight @encoder.dense.weight : [4, 8] f32 = #weight.expr<file("w")>
attn.weight @encoder.dense.bias : [4] f32 = #weight.expr<file("b")>

// Names come from the module path's last part, weight names from the last two
// parts of their symbol.
// CHECK-LABEL: func.func @names(
func.func @names(%x: !x) {
  // CHECK: %dense_weight = attn.get_weight @encoder.dense.weight : [4, 8] f32
  %0 = attn.get_weight @encoder.dense.weight : [4, 8] f32
  // CHECK: %dense_bias = attn.get_weight @encoder.dense.bias : [4] f32
  %1 = attn.get_weight @encoder.dense.bias : [4] f32
  // CHECK: %dense = attn.linear %{{.*}}, %dense_weight, %dense_bias : [batch, seq, 8] f32, [4, 8] f32, [4] f32
  %2 = attn.linear %x, %0, %1 : !x, [4, 8] f32, [4] f32 loc(fused<"encoder.dense">["config.json":0:0])
  // CHECK: %query_key = attn.scale
  %3 = attn.scale %2 by 2.0 : [batch, seq, 4] f32 loc(fused<"self.{query,key}">["config.json":0:0])
  return
}

// Equal types are printed once, except before an operand that may be absent.
// CHECK-LABEL: func.func @equal_types(
func.func @equal_types(%x: !x, %v: tensor<8xf32>, %s: tensor<f32>) {
  // CHECK: attn.add %{{.*}}, %{{.*}} : [batch, seq, 8] f32{{$}}
  %0 = attn.add %x, %x : !x, !x
  // CHECK: attn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} eps {{.*}} : [8] f32, [8] f32, [8] f32
  %1 = attn.layer_norm %v, %v, %v eps 0.5 : [8] f32, [8] f32, [8] f32
  // CHECK: attn.layer_norm %{{.*}}, %{{.*}} eps {{.*}} : [8] f32{{$}}
  %2 = attn.layer_norm %v, %v eps 0.5 : [8] f32
  // CHECK: attn.mul %{{.*}}, %{{.*}} : [8] f32, [] f32
  %3 = attn.mul %v, %s : [8] f32, [] f32
  // CHECK: attn.concat %{{.*}}, %{{.*}} axis 0 : [8] f32, [8] f32
  %4 = attn.concat %v, %v axis 0 : [8] f32, [8] f32
  return
}

// CHECK-LABEL: func.func @sizes(
func.func @sizes(%x: tensor<?x8xf32, #attn.shape<[2*seq+1, 8]>>) {
  // CHECK: attn.slice %{{.*}} axis 0 from 1 size 2*seq : [2*seq+1, 8] f32
  %0 = attn.slice %x axis 0 from 1 size 2*seq : [1+2*seq, 8] f32
  return
}
