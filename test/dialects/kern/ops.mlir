// Every operation, printed and read again.
// RUN: transom-opt %s | transom-opt | FileCheck %s

!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[rows, 64] x f32>
!wide = !kern.buffer<[batch, seq, 8] x f32>
!ids = !kern.buffer<[batch, seq] x i64>
!g = !kern.weight<[8] x f32, rows>
!keys = !kern.buffer<[keys, 8] x f32, key_panels>
!xh = !kern.buffer<[rows, 8] x bf16>
!keysh = !kern.buffer<[keys, 8] x bf16, key_panels>

// CHECK: kern.weight @q : !kern.weight<[64, 8] x f32, panels32> = #weight.expr<file("q")> {offset = 64 : i64}
kern.weight @q : !kern.weight<[64, 8] x f32, panels32> = #weight.expr<file("q")> {offset = 64 : i64}
// CHECK: kern.weight @qkv : !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]>
kern.weight @qkv : !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]> = #weight.expr<concat(0, file("a"), file("b"))>
kern.weight @b : !kern.weight<[64] x f32, padded32> = #weight.expr<file("b")>
kern.weight @bb : !kern.weight<[24] x f32, padded32, splits [8, 8, 8]> = #weight.expr<file("b")>
kern.weight @g : !g = #weight.expr<file("g")>
kern.weight @table : !kern.weight<[100, 8] x f32, rows> = #weight.expr<file("t")>

// CHECK-LABEL: func.func @storage(
// CHECK: kern.get_weight @q : <[64, 8] x f32, panels32>
// CHECK: kern.alloc {slot = 3 : i64} : <[rows, 8] x f32, stride 24>
// CHECK: kern.view %{{.*}} : <[rows, 64] x f32> -> <[rows, 8, 8] x f32>
// CHECK: kern.ragged_batch mask %{{.*}} : !kern.buffer<[batch, seq] x i64> {batch = "", columns = "", keep_first, keys = "keys", rows = "rows"} : <0>
// CHECK: kern.ragged_batch {batch = "batch", columns = "seq", keys = "k", rows = "r"} : <1>
func.func @storage(%m: !ids, %y: !y) {
  %w = kern.get_weight @q : !kern.weight<[64, 8] x f32, panels32>
  %a = kern.alloc {slot = 3 : i64} : !kern.buffer<[rows, 8] x f32, stride 24>
  %v = kern.view %y : !y -> !kern.buffer<[rows, 8, 8] x f32>
  %s = kern.ragged_batch mask %m : !ids {batch = "", columns = "", rows = "rows", keys = "keys", keep_first} : !kern.ragged<0>
  %t = kern.ragged_batch {batch = "batch", columns = "seq", rows = "r", keys = "k"} : !kern.ragged<1>
  return
}

// CHECK-LABEL: func.func @products(
// CHECK: kern.gemm %{{.*}}, %{{.*}} bias %{{.*}} outs(%{{.*}}) epilogue <gelu>
// CHECK: kern.gemm %{{.*}}, %{{.*}} bias %{{.*}} ragged %{{.*}} outs(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK: kern.gemm %{{.*}}, %{{.*}} residual %{{.*}}
// CHECK-NEXT: norm %{{.*}} beta %{{.*}} norm_out %{{.*}} counters %{{.*}} outs(%{{.*}}) epilogue <layer_norm 1.0e-05>
// CHECK: kern.gemm %{{.*}}, %{{.*}} summary(%{{.*}}, %{{.*}}) outs(%{{.*}})
// CHECK: kern.gemm %{{.*}}, %{{.*}} bias %{{.*}} outs(%{{.*}}) columns(%{{.*}}) panels(%{{.*}})
// CHECK: kern.batch_matmul %{{.*}}, %{{.*}} outs(%{{.*}})
func.func @products(%x: !x, %y: !y, %k: !keys, %z: !x, %u: !x, %p: !kern.buffer<[batch, 2, seq, seq] x f32>, %v: !kern.buffer<[batch, 1, seq, 4] x f32>,
                    %o: !kern.buffer<[batch, 2, seq, 4] x f32>, %c: !kern.buffer<[rows] x i64>, %s: !kern.ragged<0>) {
  %w = kern.get_weight @q : !kern.weight<[64, 8] x f32, panels32>
  %b = kern.get_weight @b : !kern.weight<[64] x f32, padded32>
  kern.gemm %x, %w bias %b outs(%y) epilogue <gelu> : !x, !kern.weight<[64, 8] x f32, panels32>, !kern.weight<[64] x f32, padded32>, !y
  %qkv = kern.get_weight @qkv : !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]>
  %bb = kern.get_weight @bb : !kern.weight<[24] x f32, padded32, splits [8, 8, 8]>
  kern.gemm %x, %qkv bias %bb ragged %s outs(%z, %k, %u) : !x, !kern.weight<[24, 8] x f32, unset, splits [8, 8, 8]>,
      !kern.weight<[24] x f32, padded32, splits [8, 8, 8]>, !kern.ragged<0>, !x, !keys, !x
  %t = kern.get_weight @square : !kern.weight<[8, 8] x f32, unset>
  %g = kern.get_weight @g : !g
  kern.gemm %x, %t residual %u norm %g beta %g norm_out %u counters %c outs(%z) epilogue <layer_norm 1.0e-5> : !x, !kern.weight<[8, 8] x f32, unset>,
      !x, !g, !g, !x, !kern.buffer<[rows] x i64>, !x
  %maxima = kern.alloc : !kern.buffer<[rows, 1] x f32>
  %sums = kern.alloc : !kern.buffer<[rows, 1] x f32>
  kern.gemm %x, %t summary(%maxima, %sums) outs(%z) : !x, !kern.weight<[8, 8] x f32, unset>,
      !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 1] x f32>, !x
  %few = kern.alloc : !kern.buffer<[rows, rows] x f32>
  %panels = kern.alloc : !kern.buffer<[1, 1408] x i8>
  kern.gemm %x, %w bias %b outs(%few) columns(%c) panels(%panels) : !x, !kern.weight<[64, 8] x f32, panels32>, !kern.weight<[64] x f32, padded32>,
      !kern.buffer<[rows, rows] x f32>, !kern.buffer<[rows] x i64>, !kern.buffer<[1, 1408] x i8>
  kern.batch_matmul %p, %v outs(%o) : !kern.buffer<[batch, 2, seq, seq] x f32>, !kern.buffer<[batch, 1, seq, 4] x f32>, !kern.buffer<[batch, 2, seq, 4] x f32>
  return
}
kern.weight @square : !kern.weight<[8, 8] x f32, unset> = #weight.expr<file("s")>

// CHECK-LABEL: func.func @int8(
// CHECK: kern.quantize %{{.*}} outs(%{{.*}}) scales(%{{.*}}) group 32
// CHECK: kern.norm %{{.*}}, %{{.*}} outs(%{{.*}}) copy(%{{.*}}) scales(%{{.*}}) eps
// CHECK: kern.norm %{{.*}}, %{{.*}} outs(%{{.*}}) scales(%{{.*}}) eps
// CHECK: kern.gemm %{{.*}}, %{{.*}} outs(%{{.*}}) out_scales(%{{.*}}) epilogue <gelu>
// CHECK: kern.gemm %{{.*}}, %{{.*}}
// CHECK-NEXT: norm %{{.*}} norm_copy %{{.*}} counters %{{.*}} outs(%{{.*}}) out_scales(%{{.*}}) epilogue <rms_norm 1.0e-05>
func.func @int8(%x: !x, %z: !x, %q: !kern.buffer<[rows, 8] x i8>, %s: !kern.buffer<[rows, 2] x f32>, %g: !g, %w: !kern.weight<[8, 8] x f32, unset>,
                %c: !kern.buffer<[rows] x i64>) {
  kern.quantize %x outs(%q) scales(%s) group 32 : !x, !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 2] x f32>
  kern.norm %x, %g outs(%x) copy(%q) scales(%s) eps 1.0e-5 : !x, !g, !x, !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 2] x f32>
  kern.norm %x, %g outs(%q) scales(%s) eps 1.0e-5 : !x, !g, !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 2] x f32>
  kern.gemm %x, %w outs(%q) out_scales(%s) epilogue <gelu> : !x, !kern.weight<[8, 8] x f32, unset>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows, 8] x i8>
  kern.gemm %x, %w norm %g norm_copy %q counters %c outs(%z) out_scales(%s) epilogue <rms_norm 1.0e-5> : !x, !kern.weight<[8, 8] x f32, unset>,
      !g, !kern.buffer<[rows, 8] x i8>, !kern.buffer<[rows, 2] x f32>, !kern.buffer<[rows] x i64>, !x
  return
}

// CHECK-LABEL: func.func @bf16(
// CHECK: kern.cast %{{.*}} outs(%{{.*}}) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x bf16>
// CHECK: kern.gemm %{{.*}}, %{{.*}} ragged %{{.*}} outs(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK: kern.gemm %{{.*}}, %{{.*}}
// CHECK-NEXT: norm %{{.*}} norm_out %{{.*}} norm_copy %{{.*}} counters %{{.*}} outs(%{{.*}}) epilogue <layer_norm 1.0e-05>
// CHECK: kern.gemm %{{.*}}, %{{.*}}
// CHECK-NEXT: norm %{{.*}} norm_copy %{{.*}} counters %{{.*}} outs(%{{.*}})
// CHECK: kern.pack_keys %{{.*}} ragged %{{.*}} outs(%{{.*}})
// CHECK: kern.attention %{{.*}}, %{{.*}}, %{{.*}} ragged
// CHECK: kern.norm %{{.*}}, %{{.*}} outs(%{{.*}}) copy(%{{.*}}) eps
// CHECK: kern.norm %{{.*}}, %{{.*}}, %{{.*}} outs(%{{.*}}) eps
// CHECK: kern.embedding ids(%{{.*}}) tables(%{{.*}}) outs
// CHECK: arith.truncf
func.func @bf16(%x: !x, %z: !x, %h: !xh, %q: !xh, %v: !xh, %k: !keysh, %c: !kern.buffer<[rows] x i64>, %s: !kern.ragged<0>,
                %t: !kern.buffer<[parts, 8640] x f32>, %i: !kern.buffer<[rows] x i64>) {
  kern.cast %x outs(%h) : !x, !xh
  %w = kern.get_weight @qkv16 : !kern.weight<[24, 8] x bf16, panels32, splits [8, 8, 8]>
  kern.gemm %h, %w ragged %s outs(%q, %k, %v) : !xh, !kern.weight<[24, 8] x bf16, panels32, splits [8, 8, 8]>, !kern.ragged<0>, !xh, !keysh, !xh
  %o = kern.get_weight @square16 : !kern.weight<[8, 8] x bf16, panels32>
  %g = kern.get_weight @g : !g
  kern.gemm %q, %o norm %g norm_out %x norm_copy %h counters %c outs(%z) epilogue <layer_norm 1.0e-5> : !xh, !kern.weight<[8, 8] x bf16, panels32>,
      !g, !x, !xh, !kern.buffer<[rows] x i64>, !x
  kern.gemm %q, %o norm %g norm_copy %h counters %c outs(%z) epilogue <layer_norm 1.0e-5> : !xh, !kern.weight<[8, 8] x bf16, panels32>,
      !g, !xh, !kern.buffer<[rows] x i64>, !x
  kern.pack_keys %x ragged %s outs(%k) : !x, !kern.ragged<0>, !keysh
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%h) heads 2 kv_heads 2 scale 0.5 :
      !xh, !keysh, !xh, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[parts, 8640] x f32>, !xh
  kern.norm %x, %g outs(%z) copy(%h) eps 1.0e-5 : !x, !g, !x, !xh
  kern.norm %x, %g, %g outs(%h) eps 1.0e-5 : !x, !g, !g, !xh
  %e = kern.get_weight @table16 : !kern.weight<[100, 8] x bf16, rows>
  kern.embedding ids(%i) tables(%e) outs(%x) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[100, 8] x bf16, rows>), !x
  kern.elementwise ins(%h) outs(%q) {
  ^bb0(%a: bf16):
    %b = arith.extf %a : bf16 to f32
    %d = kern.apply <gelu> %b
    %r = arith.truncf %d : f32 to bf16
    kern.yield %r : bf16
  } : (!xh) -> !xh
  return
}
kern.weight @qkv16 : !kern.weight<[24, 8] x bf16, panels32, splits [8, 8, 8]> = #weight.expr<file("a")>
kern.weight @square16 : !kern.weight<[8, 8] x bf16, panels32> = #weight.expr<file("s")>
kern.weight @table16 : !kern.weight<[100, 8] x bf16, rows> = #weight.expr<file("t")>

// CHECK-LABEL: func.func @attention(
// CHECK: kern.pack_keys %{{.*}} ragged %{{.*}} outs(%{{.*}})
// CHECK: kern.attention %{{.*}}, %{{.*}}, %{{.*}} ragged %{{.*}}, %{{.*}} mask %{{.*}} scratch %{{.*}} outs(%{{.*}})
// CHECK-NEXT: heads 2 kv_heads 1 scale 5.000000e-01 {causal, mask_value = -1.000000e+04 : f64, soft_cap = 3.000000e+01 : f64, window = 7 : i64}
func.func @attention(%q: !kern.buffer<[rows, 16] x f32>, %k: !x, %v: !x, %p: !keys, %m: !kern.buffer<[batch, 1, 1, seq] x i1>,
                     %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows, 16] x f32>, %s: !kern.ragged<0>) {
  kern.pack_keys %k ragged %s outs(%p) : !x, !kern.ragged<0>, !keys
  kern.attention %q, %p, %v ragged %s, %s mask %m scratch %t outs(%y) heads 2 kv_heads 1 scale 0.5
      {causal, window = 7 : i64, soft_cap = 30.0 : f64, mask_value = -1.0e4 : f64} :
      !kern.buffer<[rows, 16] x f32>, !keys, !x, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[batch, 1, 1, seq] x i1>,
      !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows, 16] x f32>
  return
}

// CHECK-LABEL: func.func @rows(
// CHECK: kern.norm %{{.*}}, %{{.*}}, %{{.*}} outs(%{{.*}}) eps 9.9999999999999998E-13
// CHECK: kern.norm %{{.*}}, %{{.*}} outs(%{{.*}}) eps 1.000000e-05 {rms}
// CHECK: kern.softmax %{{.*}} outs(%{{.*}})
// CHECK: kern.row_summary %{{.*}} outs(%{{.*}}, %{{.*}}) :
// CHECK: kern.embedding ids(%{{.*}}) tables(%{{.*}}) outs(%{{.*}}) {scales = array<f64: 2.000000e+00>}
// CHECK: kern.elementwise ins(%{{.*}}, %{{.*}}) outs(%{{.*}}) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:   %[[C:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT:   %[[D:.*]] = kern.apply <gelu> %[[C]]
// CHECK-NEXT:   kern.yield %[[D]] : f32
// CHECK: } : (!kern.buffer<[rows, 8] x f32>, !kern.weight<[8] x f32, rows>) -> !kern.buffer<[rows, 8] x f32>
func.func @rows(%x: !x, %y: !x, %i: !ids, %e: !wide) {
  %g = kern.get_weight @g : !g
  kern.norm %x, %g, %g outs(%y) eps 1.0e-12 : !x, !g, !g, !x
  kern.norm %x, %g outs(%y) eps 1.0e-5 {rms} : !x, !g, !x
  kern.softmax %x outs(%y) : !x, !x
  %maxima = kern.alloc : !kern.buffer<[rows, 1] x f32>
  %sums = kern.alloc : !kern.buffer<[rows, 1] x f32>
  kern.row_summary %x outs(%maxima, %sums) : !x, !kern.buffer<[rows, 1] x f32>, !kern.buffer<[rows, 1] x f32>
  %t = kern.get_weight @table : !kern.weight<[100, 8] x f32, rows>
  kern.embedding ids(%i) tables(%t) outs(%e) {scales = array<f64: 2.0>} : (!ids), (!kern.weight<[100, 8] x f32, rows>), !wide
  kern.elementwise ins(%x, %g) outs(%y) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    %d = kern.apply <gelu> %c
    kern.yield %d : f32
  } : (!x, !g) -> !x
  return
}

// CHECK-LABEL: func.func @moves(
// CHECK: kern.positions %{{.*}} outs(%{{.*}}) pad 1
// CHECK: kern.columns %{{.*}} outs(%{{.*}})
// CHECK: kern.gather_rows %{{.*}} ragged %{{.*}} outs(%{{.*}})
// CHECK: kern.scatter_rows %{{.*}} ragged %{{.*}} outs(%{{.*}})
// CHECK: kern.pool <mean> %{{.*}} ragged %{{.*}} mask %{{.*}} outs(%{{.*}})
// CHECK: kern.transpose %{{.*}} outs(%{{.*}}) [1, 0]
// CHECK: kern.copy %{{.*}} outs(%{{.*}}) axis 1 from "4" to "0" size "4"
// CHECK: kern.gather %{{.*}}, %{{.*}} outs(%{{.*}})
func.func @moves(%i: !ids, %j: !ids, %c: !kern.buffer<[rows] x i64>, %e: !wide, %x: !x, %m: !kern.buffer<[rows] x i1>, %p: !kern.buffer<[batch, 8] x f32>,
                 %t: !kern.buffer<[8, rows] x f32>, %h: !kern.buffer<[rows, 4] x f32>, %n: !kern.buffer<[n, 8] x f32>, %s: !kern.ragged<0>) {
  kern.positions %i outs(%j) pad 1 : !ids, !ids
  kern.columns %s outs(%c) : !kern.ragged<0>, !kern.buffer<[rows] x i64>
  kern.gather_rows %e ragged %s outs(%x) : !wide, !kern.ragged<0>, !x
  kern.scatter_rows %x ragged %s outs(%e) : !x, !kern.ragged<0>, !wide
  kern.pool <mean> %x ragged %s mask %m outs(%p) : !x, !kern.ragged<0>, !kern.buffer<[rows] x i1>, !kern.buffer<[batch, 8] x f32>
  kern.transpose %x outs(%t) [1, 0] : !x, !kern.buffer<[8, rows] x f32>
  kern.copy %x outs(%h) axis 1 from "4" to "0" size "4" : !x, !kern.buffer<[rows, 4] x f32>
  kern.gather %n, %c outs(%x) : !kern.buffer<[n, 8] x f32>, !kern.buffer<[rows] x i64>, !x
  return
}

// CHECK-LABEL: func.func @control(
// CHECK: kern.layers %{{.*}} invariants(%{{.*}} : !kern.ragged<0>) [@layer(@g), @layer(@g)] : <[rows, 8] x f32>
// CHECK: kern.phase "control.0" {
// CHECK-NEXT: kern.softmax
// CHECK-NEXT: }
func.func @control(%x: !x, %y: !x, %s: !kern.ragged<0>) {
  kern.layers %x invariants(%s : !kern.ragged<0>) [@layer(@g), @layer(@g)] : !x
  kern.phase "control.0" {
    kern.softmax %x outs(%y) : !x, !x
  }
  return
}
func.func private @layer(%x: !x, %s: !kern.ragged<0>, %g: !g) {
  return
}

// CHECK-LABEL: func.func @positions_by_column(
// CHECK: kern.attention %{{.*}}, %{{.*}}, %{{.*}} ragged %{{.*}}, %{{.*}} relative_bias %{{.*}} scratch %{{.*}} outs(%{{.*}})
// CHECK-NEXT: heads 2 kv_heads 2 scale 1.000000e+00 {by_column, window = 7 : i64}
func.func @positions_by_column(%x: !x, %k: !keys, %s: !kern.ragged<0>, %b: !kern.weight<[2, 5] x f32, rows>, %t: !kern.buffer<[parts, 8640] x f32>) {
  kern.attention %x, %k, %x ragged %s, %s relative_bias %b scratch %t outs(%x) heads 2 kv_heads 2 scale 1.0 {by_column, window = 7 : i64} :
      !x, !keys, !x, !kern.ragged<0>, !kern.ragged<0>, !kern.weight<[2, 5] x f32, rows>, !kern.buffer<[parts, 8640] x f32>, !x
  return
}

// CHECK-LABEL: func.func @disentangled(
// CHECK: kern.attention %{{.*}}, %{{.*}}, %{{.*}} ragged %{{.*}}, %{{.*}} content_to_position %{{.*}} position_to_content %{{.*}} scratch %{{.*}} outs(%{{.*}})
// CHECK-NEXT: heads 2 kv_heads 2 scale 1.000000e+00 {max_distance = 9 : i64}
func.func @disentangled(%x: !x, %k: !keys, %s: !kern.ragged<0>, %p: !kern.buffer<[2*rows, 6] x f32>, %t: !kern.buffer<[parts, 8640] x f32>) {
  kern.attention %x, %k, %x ragged %s, %s content_to_position %p position_to_content %p scratch %t outs(%x) heads 2 kv_heads 2 scale 1.0 {max_distance = 9 : i64} :
      !x, !keys, !x, !kern.ragged<0>, !kern.ragged<0>, !kern.buffer<[2*rows, 6] x f32>, !kern.buffer<[2*rows, 6] x f32>, !kern.buffer<[parts, 8640] x f32>, !x
  return
}

// CHECK-LABEL: func.func @heads_and_neighbors(
func.func @heads_and_neighbors(%x: !kern.buffer<[rows, 16] x f32>, %w: !kern.weight<[64, 8] x f32, unset>, %y: !kern.buffer<[2*rows, 32] x f32>, %s: !kern.ragged<0>, %m: !kern.buffer<[rows] x i1>, %n: !kern.buffer<[rows, 48] x f32>) {
  // CHECK: kern.head_gemm %{{.*}}, %{{.*}} ragged %{{.*}} outs(%{{.*}}) heads 2 {max_distance = 40 : i64} :
  kern.head_gemm %x, %w ragged %s outs(%y) heads 2 {max_distance = 40 : i64} : !kern.buffer<[rows, 16] x f32>, !kern.weight<[64, 8] x f32, unset>, !kern.ragged<0>, !kern.buffer<[2*rows, 32] x f32>
  // CHECK: kern.neighbors %{{.*}} ragged %{{.*}} mask %{{.*}} outs(%{{.*}}) reach 1 :
  kern.neighbors %x ragged %s mask %m outs(%n) reach 1 : !kern.buffer<[rows, 16] x f32>, !kern.ragged<0>, !kern.buffer<[rows] x i1>, !kern.buffer<[rows, 48] x f32>
  return
}
