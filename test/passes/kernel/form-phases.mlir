// RUN: transom-opt %s --kern-form-phases --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-form-phases --split-input-file | FileCheck %s --check-prefix=REMARK

// REMARK: args = {operations = "3", phase = "rows_need_no_barrier.0.norm"}{{[^{}]*}}name = "phase-is-first"
// REMARK: args = {body = "rows_need_no_barrier", joined = "2", operations = "3", phases = "1"}{{[^{}]*}}name = "phases-formed"
// REMARK: args = {earlier = "'kern.norm'", operation = "'kern.gemm'", operations = "1", phase = "a_product_stands_between_barriers.1.gemm"}{{[^{}]*}}name = "phase-waits"
// REMARK: args = {earlier = "'kern.softmax'", operation = "'kern.group_tokens'", operations = "1", phase = "sizes_are_written_after_they_are_read.1.group_tokens"}{{[^{}]*}}name = "phase-waits"
// REMARK: args = {phase = "calls_stand_alone.1.onednn_softmax"}{{[^{}]*}}name = "phase-is-a-call"

!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[n, 8] x f32>
!g = !kern.weight<[8] x f32, rows>
!w = !kern.weight<[8, 8] x f32, panels32>

// Parts own rows: each reads only values that it wrote itself.
// CHECK-LABEL: func.func @rows_need_no_barrier(
// CHECK: kern.alloc
// CHECK-NEXT: kern.alloc
// CHECK-NEXT: kern.phase "rows_need_no_barrier.0.norm" {
// CHECK-NEXT:   kern.norm
// CHECK-NEXT:   kern.elementwise
// CHECK:        kern.softmax
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @rows_need_no_barrier(%x: !x, %y: !x, %g: !g) {
  %t = kern.alloc : !x
  kern.norm %x, %g, %g outs(%t) eps 1.0e-5 : !x, !g, !g, !x
  %u = kern.alloc : !x
  kern.elementwise ins(%t) outs(%u) {
  ^bb0(%p: f32):
    %q = kern.apply <gelu> %p
    kern.yield %q : f32
  } : (!x) -> !x
  kern.softmax %u outs(%y) : !x, !x
  return
}

// A GEMM reads all columns in rows that other workers may have written, and its
// readers wait for all its tiles.
// CHECK-LABEL: func.func @a_product_stands_between_barriers(
// CHECK: kern.phase "a_product_stands_between_barriers.0.norm"
// CHECK: kern.phase "a_product_stands_between_barriers.1.gemm"
// CHECK: kern.phase "a_product_stands_between_barriers.2.norm"
// CHECK-NOT: kern.phase
func.func @a_product_stands_between_barriers(%x: !x, %y: !x, %g: !g, %w: !w) {
  %t = kern.alloc : !x
  kern.norm %x, %g, %g outs(%t) eps 1.0e-5 : !x, !g, !g, !x
  %u = kern.alloc : !x
  kern.gemm %t, %w outs(%u) : !x, !w, !x
  kern.norm %u, %g, %g outs(%y) eps 1.0e-5 : !x, !g, !g, !x
  return
}

// CHECK-LABEL: func.func @what_touches_nothing_in_common_joins(
// CHECK: kern.phase "what_touches_nothing_in_common_joins.0.gemm" {
// CHECK-NEXT: kern.gemm
// CHECK-NEXT: :
// CHECK-NEXT: kern.gemm
// CHECK-NEXT: :
// CHECK-NEXT: }
// CHECK-NOT: kern.phase
func.func @what_touches_nothing_in_common_joins(%x: !x, %y: !x, %z: !x, %w: !w) {
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.gemm %x, %w outs(%z) : !x, !w, !x
  return
}

// Overwriting memory that another part may still read needs a barrier.
// CHECK-LABEL: func.func @overwriting_an_operand_waits(
// CHECK: kern.phase
// CHECK-NEXT: kern.gemm
// CHECK: kern.phase
// CHECK-NEXT: kern.norm
func.func @overwriting_an_operand_waits(%x: !x, %y: !x, %z: !x, %g: !g, %w: !w) {
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.norm %z, %g, %g outs(%x) eps 1.0e-5 : !x, !g, !g, !x
  return
}

// View rows are not buffer rows.
// CHECK-LABEL: func.func @a_view_has_other_rows(
// CHECK: kern.phase
// CHECK-NEXT: kern.softmax
// CHECK: kern.phase
// CHECK-NEXT: kern.softmax
func.func @a_view_has_other_rows(%x: !x, %y: !x, %z: !kern.buffer<[2*rows, 4] x f32>) {
  kern.softmax %x outs(%y) : !x, !x
  %v = kern.view %y : !x -> !kern.buffer<[2*rows, 4] x f32>
  kern.softmax %v outs(%z) : !kern.buffer<[2*rows, 4] x f32>, !kern.buffer<[2*rows, 4] x f32>
  return
}

// CHECK-LABEL: func.func @layers_end_a_phase(
// CHECK: kern.phase "layers_end_a_phase.0.softmax"
// CHECK: kern.layers
// CHECK: kern.phase "layers_end_a_phase.1.softmax"
// CHECK: func.func private @body
// CHECK: kern.phase "body.0.softmax"
func.func @layers_end_a_phase(%x: !x, %y: !x, %z: !x) {
  kern.softmax %x outs(%y) : !x, !x
  kern.layers %y [@body] : !x
  kern.softmax %x outs(%z) : !x, !x
  return
}
func.func private @body(%x: !x) {
  kern.softmax %x outs(%x) : !x, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!r = !kern.buffer<[rows, 4] x f32>
!v = !kern.buffer<[rows, 2, 4] x f32>
!g = !kern.weight<[4] x f32, rows>
!cache = !kern.cache<heads 2, key 4, value 4, f32>
kern.cache @c : !cache

// Head norms own other rows than the next operations; key norms are placed next
// to query norms. Keys appended to a cache are read after a barrier.
// CHECK-LABEL: func.func @heads(
// CHECK: kern.decode_batch
// CHECK: kern.get_cache
// CHECK: kern.phase "heads.0.norm" {
// CHECK-NEXT: kern.norm
// CHECK-NEXT: kern.norm
// CHECK-NEXT: {{^ *[}]$}}
// CHECK: kern.phase "heads.1.rope" {
// CHECK-NEXT: kern.rope
// CHECK-NEXT: kern.rope
// CHECK-NEXT: kern.append
// CHECK-NEXT: {{^ *[}]$}}
// CHECK: kern.phase "heads.2.attention" {
// CHECK-NEXT: kern.attention
// CHECK-NEXT: heads
// CHECK-NEXT: :
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NEXT: return
func.func @heads(%q: !v, %k: !v, %v: !x, %r: !r, %g: !g, %t: !kern.buffer<[parts, 8640] x f32>, %y: !x) {
  %s = kern.decode_batch {rows = "rows", keys = "keys"} : !kern.ragged<0>
  %qn = kern.alloc : !x
  %qv = kern.view %qn : !x -> !v
  kern.norm %q, %g outs(%qv) eps 1.0e-5 {rms} : !v, !g, !v
  %qr = kern.alloc : !x
  kern.rope %qn, %r outs(%qr) heads 2 : !x, !r, !x
  %kn = kern.alloc : !x
  %kv = kern.view %kn : !x -> !v
  kern.norm %k, %g outs(%kv) eps 1.0e-5 {rms} : !v, !g, !v
  %kr = kern.alloc : !x
  kern.rope %kn, %r outs(%kr) heads 2 : !x, !r, !x
  %c = kern.get_cache @c : !cache
  kern.append %kr, %v ragged %s cache %c : !x, !x, !kern.ragged<0>, !cache
  kern.attention %qr ragged %s, %s cache %c scratch %t outs(%y) heads 2 kv_heads 2 scale 0.5 {causal} :
      !x, !kern.ragged<0>, !kern.ragged<0>, !cache, !kern.buffer<[parts, 8640] x f32>, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!g = !kern.weight<[8] x f32, rows>
!w = !kern.weight<[8, 8] x f32, panels32>

// An operation that shares a worker's rows with a phase stays after its
// predecessors, though it does not depend on them.
// CHECK-LABEL: func.func @shared_rows_do_not_move_up(
// CHECK: kern.phase "shared_rows_do_not_move_up.0.gemm" {
// CHECK-NEXT: kern.gemm
// CHECK-NEXT: :
// CHECK-NEXT: {{^ *[}]$}}
// CHECK: kern.phase "shared_rows_do_not_move_up.1.norm" {
// CHECK-NEXT: kern.norm
// CHECK-NEXT: kern.softmax
// CHECK-NEXT: {{^ *[}]$}}
func.func @shared_rows_do_not_move_up(%x: !x, %y: !x, %g: !g, %w: !w) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  %u = kern.alloc : !x
  kern.norm %t, %g, %g outs(%u) eps 1.0e-5 : !x, !g, !g, !x
  kern.softmax %u outs(%y) : !x, !x
  return
}

// -----

!groups = !kern.buffer<[rows, 2] x i64>
!tokens = !kern.buffer<[routed] x i64>
!offsets = !kern.buffer<[5] x i64>
!x = !kern.buffer<[rows, 8] x f32>
!packed = !kern.buffer<[routed, 8] x f32>

kern.bounded_size @routed bound "2*rows"

// An operation that uses a size waits for its writer, also if both share no
// buffer. Operations without this size join the phase.
// CHECK-LABEL: func.func @sizes_have_values_after_a_phase(
// CHECK: kern.phase "sizes_have_values_after_a_phase.0.group_tokens" {
// CHECK-NEXT: kern.group_tokens
// CHECK-NEXT: kern.softmax
// CHECK-NEXT: {{^ *[}]$}}
// CHECK: kern.phase "sizes_have_values_after_a_phase.1.gather" {
// CHECK-NEXT: kern.gather
// CHECK-NEXT: kern.elementwise ins() outs(%{{.*}})
// CHECK: kern.phase "sizes_have_values_after_a_phase.2.softmax" {
// CHECK-NEXT: kern.softmax
// CHECK-NEXT: {{^ *[}]$}}
// CHECK: kern.phase "sizes_have_values_after_a_phase.3.combine_groups" {
// CHECK-NEXT: kern.combine_groups
// CHECK-NEXT: kern.softmax
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NEXT: return
func.func @sizes_have_values_after_a_phase(%g: !groups, %s: !kern.buffer<[rows, 2] x f32>, %x: !x, %y: !x, %z: !x) {
  %t = kern.alloc : !tokens
  %o = kern.alloc : !offsets
  %p = kern.alloc : !groups
  kern.group_tokens %g outs(%t, %o, %p) size @routed : !groups, !tokens, !offsets, !groups
  kern.softmax %x outs(%z) : !x, !x
  %r = kern.alloc : !packed
  kern.gather %x, %t outs(%r) : !x, !tokens, !packed
  %zeros = kern.alloc : !packed
  kern.elementwise ins() outs(%zeros) {
    %c = arith.constant 0.0 : f32
    kern.yield %c : f32
  } : () -> !packed
  %q = kern.alloc : !packed
  kern.softmax %r outs(%q) : !packed, !packed
  %c = kern.alloc : !x
  kern.combine_groups %q, %p, %s outs(%c) : !packed, !groups, !kern.buffer<[rows, 2] x f32>, !x
  kern.softmax %c outs(%y) : !x, !x
  return
}

// A size that is read is written again after a barrier only.
// CHECK-LABEL: func.func @sizes_are_written_after_they_are_read(
// CHECK: kern.phase "sizes_are_written_after_they_are_read.0.softmax" {
// CHECK-NEXT: kern.softmax
// CHECK-NEXT: {{^ *[}]$}}
// CHECK: kern.phase "sizes_are_written_after_they_are_read.1.group_tokens" {
// CHECK-NEXT: kern.group_tokens
func.func @sizes_are_written_after_they_are_read(%g: !groups, %t: !tokens, %o: !offsets, %p: !groups, %r: !packed) {
  kern.softmax %r outs(%r) : !packed, !packed
  kern.group_tokens %g outs(%t, %o, %p) size @routed : !groups, !tokens, !offsets, !groups
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>

// CHECK-LABEL: func.func @calls_stand_alone(
// CHECK: kern.phase "calls_stand_alone.0.softmax"
// CHECK: kern.phase "calls_stand_alone.1.onednn_softmax"
func.func @calls_stand_alone(%x: !x, %y: !x, %z: !x) {
  kern.softmax %x outs(%y) : !x, !x
  kern.onednn <softmax> %x outs(%z) : !x, !x
  return
}
