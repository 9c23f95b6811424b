// Attention schedules, printed and read again; 'auto' is the default and is not printed.
// RUN: transom-opt %s | transom-opt | FileCheck %s

!q = !kern.buffer<[rows, 8] x f32>
!k = !kern.buffer<[keys, 8] x f32, key_panels>
!scratch = !kern.buffer<[parts, 60000] x f32>

// CHECK-LABEL: func.func @schedules(
func.func @schedules(%q: !q, %k: !k, %v: !q, %y: !q, %t: !scratch, %p: !kern.buffer<[parts, 60000] x f32>, %c: !kern.buffer<[parts, 32] x i64>, %s: !kern.ragged<0>) {
  // CHECK: kern.attention
  // CHECK-NEXT: heads 2 kv_heads 2 scale 5.000000e-01{{$}}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 {schedule = #kern.schedule<auto>} :
      !q, !k, !q, !kern.ragged<0>, !kern.ragged<0>, !scratch, !q
  // CHECK: {schedule = #kern.schedule<streaming>}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 {schedule = #kern.schedule<streaming>} :
      !q, !k, !q, !kern.ragged<0>, !kern.ragged<0>, !scratch, !q
  // CHECK: {schedule = #kern.schedule<two_pass, rows 8>}
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 {schedule = #kern.schedule<two_pass, rows 8>} :
      !q, !k, !q, !kern.ragged<0>, !kern.ragged<0>, !scratch, !q
  // CHECK: {schedule = #kern.schedule<split_kv>}
  kern.attention %q, %k, %v ragged %s, %s scratch %t partials %p counters %c outs(%y) heads 2 kv_heads 2 scale 0.5 {schedule = #kern.schedule<split_kv>} :
      !q, !k, !q, !kern.ragged<0>, !kern.ragged<0>, !scratch, !kern.buffer<[parts, 60000] x f32>, !kern.buffer<[parts, 32] x i64>, !q
  return
}
