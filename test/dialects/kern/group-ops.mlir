// Sizes written during a call and token groups, printed and read again.
// RUN: transom-opt %s | transom-opt | FileCheck %s

!groups = !kern.buffer<[rows, 2] x i64>
!narrow = !kern.buffer<[rows, 2] x i32>
!tokens = !kern.buffer<[routed] x i64>
!offsets = !kern.buffer<[9] x i64>
!scales = !kern.buffer<[rows, 2] x f32>
!x = !kern.buffer<[rows, 8] x f32>
!packed = !kern.buffer<[routed, 8] x f32, stride 24>

// CHECK: kern.bounded_size @routed bound "2*rows"
kern.bounded_size @routed bound "2*rows"
// CHECK: kern.bounded_size @kept bound "2*rows+7"
kern.bounded_size @kept bound "2*rows+7"

!w = !kern.weight<[64, 8] x f32, panels32, splits [8, 8, 8, 8, 8, 8, 8, 8]>
!b = !kern.weight<[64] x f32, padded32, splits [8, 8, 8, 8, 8, 8, 8, 8]>
kern.weight @w : !w = #weight.expr<file("w")>
kern.weight @b : !b = #weight.expr<file("b")>
!q = !kern.weight<[64, 8] x #kern.format<i8, group 32, scales f16, interleave 4>, panels32, splits [8, 8, 8, 8, 8, 8, 8, 8]>
kern.weight @q : !q = #weight.expr<file("q")>

// CHECK-LABEL: func.func @groups(
// CHECK: kern.group_tokens %{{.*}} outs(%{{.*}}, %{{.*}}, %{{.*}}) size @routed : !kern.buffer<[rows, 2] x i64>, !kern.buffer<[routed] x i64>, !kern.buffer<[9] x i64>, !kern.buffer<[rows, 2] x i64>
// CHECK: kern.group_tokens {{.*}} size @kept : !kern.buffer<[rows, 2] x i32>
// CHECK: kern.group_gemm %{{.*}}, %{{.*}} bias %{{.*}} offsets %{{.*}} outs(%{{.*}}) : !kern.buffer<[routed, 8] x f32, stride 24>
// CHECK: kern.group_gemm %{{.*}}, %{{.*}} offsets %{{.*}} outs(%{{.*}}) :
// CHECK: kern.group_gemm %{{.*}}, %{{.*}} scales %{{.*}} bias %{{.*}} offsets %{{.*}} outs(%{{.*}}) :
// CHECK: kern.combine_groups %{{.*}}, %{{.*}}, %{{.*}} outs(%{{.*}}) : !kern.buffer<[routed, 8] x f32, stride 24>
func.func @groups(%g: !groups, %n: !narrow, %t: !tokens, %k: !kern.buffer<[kept] x i64>, %o: !offsets, %p: !groups, %s: !scales, %x: !x, %r: !packed, %z: !packed, %i: !kern.buffer<[routed, 8] x i8>, %j: !kern.buffer<[routed, 2] x f32>) {
  kern.group_tokens %g outs(%t, %o, %p) size @routed : !groups, !tokens, !offsets, !groups
  kern.group_tokens %n outs(%k, %o, %p) size @kept : !narrow, !kern.buffer<[kept] x i64>, !offsets, !groups
  %w = kern.get_weight @w : !w
  %b = kern.get_weight @b : !b
  kern.group_gemm %r, %w bias %b offsets %o outs(%z) : !packed, !w, !b, !offsets, !packed
  kern.group_gemm %r, %w offsets %o outs(%z) : !packed, !w, !offsets, !packed
  %q = kern.get_weight @q : !q
  kern.group_gemm %i, %q scales %j bias %b offsets %o outs(%z) : !kern.buffer<[routed, 8] x i8>, !q, !kern.buffer<[routed, 2] x f32>, !b, !offsets, !packed
  kern.combine_groups %r, %p, %s outs(%x) : !packed, !groups, !scales, !x
  return
}
