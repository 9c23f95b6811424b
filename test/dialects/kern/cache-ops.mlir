// The operations in a decoder's step, printed and read again.
// RUN: transom-opt %s | transom-opt | FileCheck %s

!x = !kern.buffer<[rows, 16] x f32>
!xh = !kern.buffer<[rows, 16] x bf16>
!k = !kern.buffer<[rows, 8] x f32>
!kh = !kern.buffer<[rows, 8] x bf16>
!ids = !kern.buffer<[rows] x i64>
!r = !kern.buffer<[rows, 4] x f32>
!angles = !kern.weight<[258, 4] x f32, rows>
!cache = !kern.cache<heads 2, key 4, value 4, f32>
!window = !kern.cache<heads 2, key 4, value 4, window 300, bf16>
!scratch = !kern.buffer<[parts, 8640] x f32>

// CHECK: kern.cache @kv : !kern.cache<heads 2, key 4, value 4, f32>{{$}}
kern.cache @kv : !cache
// CHECK: kern.cache @near : !kern.cache<heads 2, key 4, value 4, window 300, bf16> {group = 1 : i64, offset = 64 : i64}
kern.cache @near : !window {group = 1, offset = 64}
kern.weight @angles : !angles = #weight.expr<file("a")>
kern.weight @slopes : !kern.weight<[4] x f32, rows> = #weight.expr<file("s")>
kern.weight @w : !kern.weight<[32, 16] x f32, panels32> = #weight.expr<file("w")>
kern.weight @b : !kern.weight<[32] x f32, padded32> = #weight.expr<file("b")>
kern.weight @square : !kern.weight<[16, 16] x f32, unset> = #weight.expr<file("q")>
kern.weight @g : !kern.weight<[16] x f32, rows> = #weight.expr<file("g")>
kern.weight @table : !kern.weight<[100, 16] x f32, panels32> = #weight.expr<file("t")>

// CHECK-LABEL: func.func @step(
// CHECK: kern.decode_batch {keys = "keys", rows = "rows"} : <0>
// CHECK: kern.get_cache @kv : <heads 2, key 4, value 4, f32>
// CHECK: kern.embedding ids(%{{.*}}) tables(%{{.*}}) outs(%{{.*}}) {{.*}}!kern.weight<[100, 16] x f32, panels32>
// CHECK: kern.rope_table %{{.*}}, %{{.*}} outs(%{{.*}}) : !kern.buffer<[rows] x i64>, !kern.weight<[258, 4] x f32, rows>, !kern.buffer<[rows, 4] x f32>
// CHECK: kern.rope %{{.*}}, %{{.*}} outs(%{{.*}}) heads 4 {interleaved} :
// CHECK: kern.append %{{.*}}, %{{.*}} ragged %{{.*}} cache %{{.*}} :
// CHECK: kern.attention %{{.*}} ragged %{{.*}}, %{{.*}} cache %{{.*}} slopes %{{.*}} scratch %{{.*}} outs(%{{.*}})
// CHECK-NEXT: heads 4 kv_heads 2 scale 5.000000e-01 {causal}
func.func @step(%ids: !ids, %x: !x, %k: !k, %v: !k, %r: !r, %t: !scratch, %y: !x) {
  %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  %c = kern.get_cache @kv : !cache
  %e = kern.get_weight @table : !kern.weight<[100, 16] x f32, panels32>
  kern.embedding ids(%ids) tables(%e) outs(%x) {scales = array<f64: 1.0>} : (!ids), (!kern.weight<[100, 16] x f32, panels32>), !x
  %a = kern.get_weight @angles : !angles
  kern.rope_table %ids, %a outs(%r) : !ids, !angles, !r
  kern.rope %x, %r outs(%x) heads 4 {interleaved} : !x, !r, !x
  kern.append %k, %v ragged %s cache %c : !k, !k, !kern.ragged<0>, !cache
  %l = kern.get_weight @slopes : !kern.weight<[4] x f32, rows>
  kern.attention %x ragged %s, %s cache %c slopes %l scratch %t outs(%y) heads 4 kv_heads 2 scale 0.5 {causal} :
      !x, !kern.ragged<0>, !kern.ragged<0>, !cache, !kern.weight<[4] x f32, rows>, !scratch, !x
  return
}

// CHECK-LABEL: func.func @bf16(
// CHECK: kern.rope %{{.*}}, %{{.*}} outs(%{{.*}}) heads 4 : !kern.buffer<[rows, 16] x f32>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 16] x bf16>
// CHECK: kern.append %{{.*}}, %{{.*}} ragged %{{.*}} cache %{{.*}} : !kern.buffer<[rows, 8] x f32>
// CHECK: kern.append %{{.*}}, %{{.*}} ragged %{{.*}} cache %{{.*}} : !kern.buffer<[rows, 8] x bf16>
// CHECK: kern.attention %{{.*}} ragged %{{.*}}, %{{.*}} cache %{{.*}} scratch %{{.*}} outs(%{{.*}})
// CHECK-NEXT: heads 4 kv_heads 2 scale 5.000000e-01 {causal, window = 300 : i64}
func.func @bf16(%x: !x, %h: !xh, %k: !k, %v: !k, %kh: !kh, %vh: !kh, %r: !r, %t: !scratch, %y: !xh) {
  %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  %c = kern.get_cache @near : !window
  kern.rope %x, %r outs(%h) heads 4 : !x, !r, !xh
  kern.append %k, %v ragged %s cache %c : !k, !k, !kern.ragged<0>, !window
  kern.append %kh, %vh ragged %s cache %c : !kh, !kh, !kern.ragged<0>, !window
  kern.attention %h ragged %s, %s cache %c scratch %t outs(%y) heads 4 kv_heads 2 scale 0.5 {causal, window = 300 : i64} :
      !xh, !kern.ragged<0>, !kern.ragged<0>, !window, !scratch, !xh
  return
}

// CHECK-LABEL: func.func @products(
// CHECK: kern.gemm %{{.*}}, %{{.*}} bias %{{.*}} outs(%{{.*}}) epilogue <glu silu>
// CHECK: kern.gemm %{{.*}}, %{{.*}} residual %[[X:.*]]
// CHECK-NEXT: norm %{{.*}} norm_out %{{.*}} counters %{{.*}} outs(%[[X]]) epilogue <rms_norm 1.0e-05>
func.func @products(%x: !x, %y: !x, %z: !x, %c: !ids) {
  %w = kern.get_weight @w : !kern.weight<[32, 16] x f32, panels32>
  %b = kern.get_weight @b : !kern.weight<[32] x f32, padded32>
  kern.gemm %x, %w bias %b outs(%y) epilogue <glu silu> : !x, !kern.weight<[32, 16] x f32, panels32>, !kern.weight<[32] x f32, padded32>, !x
  %q = kern.get_weight @square : !kern.weight<[16, 16] x f32, unset>
  %g = kern.get_weight @g : !kern.weight<[16] x f32, rows>
  kern.gemm %y, %q residual %x norm %g norm_out %z counters %c outs(%x) epilogue <rms_norm 1.0e-5> :
      !x, !kern.weight<[16, 16] x f32, unset>, !x, !kern.weight<[16] x f32, rows>, !x, !ids, !x
  return
}

// CHECK-LABEL: func.func @layers(
// CHECK: kern.layers %{{.*}} [@layer(@g, @kv), @layer(@g, @kv)] : <[rows, 16] x f32>
func.func @layers(%x: !x) {
  kern.layers %x [@layer(@g, @kv), @layer(@g, @kv)] : !x
  return
}
func.func private @layer(%x: !x, %g: !kern.weight<[16] x f32, rows>, %c: !cache) {
  return
}

!cross = !kern.cache<heads 2, key 4, value 4, read_only 1500, f32>
// CHECK: kern.cache @cross : !kern.cache<heads 2, key 4, value 4, read_only 1500, f32>
kern.cache @cross : !cross

// CHECK-LABEL: func.func @cross_attention(
// CHECK: kern.cache_batch @cross {keys = "source_keys"} : <1>
// CHECK: kern.attention %{{.*}} ragged %{{.*}}, %{{.*}} cache %{{.*}} scratch %{{.*}} outs(%{{.*}})
func.func @cross_attention(%x: !x, %t: !scratch, %y: !x) {
  %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  %u = kern.cache_batch @cross {keys = "source_keys"} : !kern.ragged<1>
  %c = kern.get_cache @cross : !cross
  kern.attention %x ragged %s, %u cache %c scratch %t outs(%y) heads 4 kv_heads 2 scale 0.5 :
      !x, !kern.ragged<0>, !kern.ragged<1>, !cross, !scratch, !x
  return
}
