// RUN: transom-opt %s --kern-plan-memory --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-plan-memory --split-input-file | FileCheck %s --check-prefix=REMARK

// REMARK: args = {buffers = "3", bytes = "128*rows", entry = "dead_buffers_give_their_place"}{{[^{}]*}}name = "arena-reaches-bound"
// REMARK-SAME: args = {buffers = "2", bytes = "64*rows", entry = "dead_buffers_give_their_place", names = "'kern.alloc', 'kern.alloc'"}{{[^{}]*}}name = "buffers-share-memory"
// REMARK: args = {buffers = "2", bytes = "64*batch+64*rows", entry = "sizes_that_cannot_be_compared_stand_apart", lower_bound = "64*rows"}{{[^{}]*}}name = "arena-exceeds-bound"
// REMARK-SAME: args = {buffer = "'kern.alloc'", bytes = "{{[^"]*}}", entry = "sizes_that_cannot_be_compared_stand_apart", other = "'kern.alloc'", other_bytes = "{{[^"]*}}"}{{[^{}]*}}name = "buffers-stay-apart"
// REMARK: args = {columns = "1024", stride = "1040"}{{[^{}]*}}function = "pads_rows_of_products"{{[^{}]*}}name = "rows-padded"
// REMARK: args = {columns = "1024", operation = "'kern.softmax'"}{{[^{}]*}}function = "keeps_rows_dense_for_others"{{[^{}]*}}name = "rows-not-padded"

!x = !kern.buffer<[rows, 8] x f32>

// Two buffers that never live at once share their memory; sizes are multiples
// of 64 whatever the symbols are.
// CHECK-LABEL: func.func @dead_buffers_give_their_place(
// CHECK-SAME: kern.arena_bytes = "128*rows", kern.arena_lower_bound = "128*rows",
// CHECK-SAME: kern.buffers = [{bytes = "32*rows", first = 1 : i64, last = 2 : i64, location = "", offset = "[[A:[0-9*rows]*]]"},
// CHECK-SAME: {bytes = "32*rows", first = 2 : i64, last = 3 : i64, location = "", offset = "{{.*}}"},
// CHECK-SAME: {bytes = "32*rows", first = 3 : i64, last = 4 : i64, location = "", offset = "[[A]]"}]
// CHECK-SAME: kern.memory_steps = ["", "0", "1", "2", "3"]
// CHECK: kern.alloc {slot = 0 : i64}
// CHECK: kern.alloc {slot = 1 : i64}
// CHECK: kern.alloc {slot = 2 : i64}
func.func @dead_buffers_give_their_place(%x: !kern.buffer<[rows, 8] x f32>, %y: !x) attributes {kern.symbols = ["rows"]} {
  %a = kern.alloc : !kern.buffer<[rows, 8] x f32>
  %b = kern.alloc : !kern.buffer<[rows, 8] x f32>
  %c = kern.alloc : !kern.buffer<[rows, 8] x f32>
  kern.phase "0" {
    kern.softmax %x outs(%a) : !x, !x
  }
  kern.phase "1" {
    kern.softmax %a outs(%b) : !x, !x
  }
  kern.phase "2" {
    kern.softmax %b outs(%c) : !x, !x
  }
  kern.phase "3" {
    kern.softmax %c outs(%y) : !x, !x
  }
  return
}

// -----

!q = !kern.buffer<[rows, 64] x f32>
!k = !kern.buffer<[keys, 64] x f32, key_panels>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>

// A call may have no barrier between a GEMM and the attention after it, so the
// attention result does not overwrite the GEMM input.
// CHECK-LABEL: func.func @joined_phases_live_together(
// CHECK-SAME: kern.buffers = [{bytes = "256*rows", first = 1 : i64, last = 3 : i64, location = "", offset = "[[X:[0-9a-z*+]*]]"},
// CHECK-SAME: {bytes = "256*rows", first = 2 : i64, last = 3 : i64,
// CHECK-SAME: {bytes = "256*keys", first = 2 : i64, last = 3 : i64,
// CHECK-SAME: {bytes = "256*rows", first = 2 : i64, last = 3 : i64,
// CHECK-SAME: {bytes = "34560*parts", first = 2 : i64, last = 3 : i64,
// CHECK-SAME: {bytes = "256*rows", first = 2 : i64, last = 4 : i64,
// CHECK-SAME: {bytes = "256*rows", first = 4 : i64, last = 5 : i64, location = "", offset = "[[X]]"}]
// CHECK-SAME: kern.memory_steps = ["", "0", "1", "2", "3", "4"]
func.func @joined_phases_live_together(%in: !q, %y: !q, %s: !r, %w: !kern.weight<[192, 64] x f32, panels32, splits [64, 64, 64]>) attributes {kern.symbols = ["keys", "parts", "rows"]} {
  %x = kern.alloc : !q
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  %t = kern.alloc : !t
  %o = kern.alloc : !q
  %z = kern.alloc : !q
  kern.phase "0" {
    kern.softmax %in outs(%x) : !q, !q
  }
  kern.phase "1" {
    kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !q, !kern.weight<[192, 64] x f32, panels32, splits [64, 64, 64]>, !r, !q, !k, !q
  }
  kern.phase "2" head_ranges 2 {
    kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%o) heads 2 kv_heads 2 scale 0.5
        : !q, !k, !q, !r, !r, !t, !q
  }
  kern.phase "3" {
    kern.softmax %o outs(%z) : !q, !q
  }
  kern.phase "4" {
    kern.softmax %z outs(%y) : !q, !q
  }
  return
}

// -----

!x = !kern.buffer<[rows, 16] x f32>
!big = !kern.buffer<[batch, 16] x f32>

// Which is larger depends on the call: each has its own place.
// CHECK-LABEL: func.func @sizes_that_cannot_be_compared_stand_apart(
// CHECK-SAME: kern.arena_bytes = "64*batch+64*rows"
func.func @sizes_that_cannot_be_compared_stand_apart(%x: !x, %y: !big) attributes {kern.symbols = ["batch", "rows"]} {
  %a = kern.alloc : !x
  %b = kern.alloc : !big
  kern.phase "0" {
    kern.softmax %x outs(%a) : !x, !x
  }
  kern.phase "1" {
    kern.softmax %y outs(%b) : !big, !big
  }
  return
}

// -----

!x = !kern.buffer<[rows, 16] x f32>

// The state and layer operands live through all bodies; buffers in two bodies
// share memory.
// CHECK-LABEL: func.func @layers_keep_their_operands(
// CHECK-SAME: kern.arena_bytes = "192*rows"
func.func @layers_keep_their_operands(%x: !x, %y: !x) attributes {kern.symbols = ["rows"]} {
  %state = kern.alloc : !x
  %given = kern.alloc : !x
  kern.phase "0" {
    kern.softmax %x outs(%state) : !x, !x
    kern.softmax %x outs(%given) : !x, !x
  }
  kern.layers %state invariants(%given : !x) [@a, @b, @a] : !x
  kern.phase "1" {
    kern.softmax %state outs(%y) : !x, !x
  }
  return
}
func.func private @a(%s: !x, %i: !x) {
  %t = kern.alloc : !x
  kern.phase "a.0" {
    kern.softmax %s outs(%t) : !x, !x
  }
  kern.phase "a.1" {
    kern.softmax %t outs(%s) : !x, !x
  }
  return
}
func.func private @b(%s: !x, %i: !x) {
  %t = kern.alloc : !x
  kern.phase "b.0" {
    kern.softmax %i outs(%t) : !x, !x
  }
  kern.phase "b.1" {
    kern.softmax %t outs(%s) : !x, !x
  }
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[rows, 1024] x f32>
!w = !kern.weight<[1024, 8] x f32, panels32>
!v = !kern.weight<[8, 1024] x f32, panels32>

// Rows with 4096 bytes would map to the same cache sets.
// CHECK-LABEL: func.func @pads_rows_of_products(
// CHECK: kern.alloc {slot = 0 : i64} : <[rows, 1024] x f32, stride 1040>
func.func @pads_rows_of_products(%x: !x, %z: !x, %w: !w, %v: !v) attributes {kern.symbols = ["rows"]} {
  %y = kern.alloc : !y
  kern.phase "0" {
    kern.gemm %x, %w outs(%y) : !x, !w, !y
  }
  kern.phase "1" {
    kern.gemm %y, %v outs(%z) : !y, !v, !x
  }
  return
}

// A bf16 line has twice as many elements.
// CHECK-LABEL: func.func @pads_rows_of_bf16(
// CHECK: kern.alloc {slot = 0 : i64} : <[rows, 2048] x bf16, stride 2080>
func.func @pads_rows_of_bf16(%x: !kern.buffer<[rows, 2048] x f32>, %z: !x, %v: !kern.weight<[8, 2048] x bf16, panels32>) attributes {kern.symbols = ["rows"]} {
  %y = kern.alloc : !kern.buffer<[rows, 2048] x bf16>
  kern.phase "0" {
    kern.cast %x outs(%y) : !kern.buffer<[rows, 2048] x f32>, !kern.buffer<[rows, 2048] x bf16>
  }
  kern.phase "1" {
    kern.gemm %y, %v outs(%z) : !kern.buffer<[rows, 2048] x bf16>, !kern.weight<[8, 2048] x bf16, panels32>, !x
  }
  return
}

// AMX tiles read 16 rows at once.
// CHECK-LABEL: func.func @pads_short_rows_of_bf16(
// CHECK: kern.alloc {slot = 0 : i64} : <[rows, 256] x bf16, stride 288>
func.func @pads_short_rows_of_bf16(%x: !kern.buffer<[rows, 256] x f32>, %z: !x, %v: !kern.weight<[8, 256] x bf16, panels32>) attributes {kern.symbols = ["rows"]} {
  %y = kern.alloc : !kern.buffer<[rows, 256] x bf16>
  kern.phase "0" {
    kern.cast %x outs(%y) : !kern.buffer<[rows, 256] x f32>, !kern.buffer<[rows, 256] x bf16>
  }
  kern.phase "1" {
    kern.gemm %y, %v outs(%z) : !kern.buffer<[rows, 256] x bf16>, !kern.weight<[8, 256] x bf16, panels32>, !x
  }
  return
}

// CHECK-LABEL: func.func @keeps_rows_dense_for_others(
// CHECK: kern.alloc {slot = 0 : i64} : <[rows, 1024] x f32>
func.func @keeps_rows_dense_for_others(%x: !x, %z: !y, %w: !w) attributes {kern.symbols = ["rows"]} {
  %y = kern.alloc : !y
  kern.phase "0" {
    kern.gemm %x, %w outs(%y) : !x, !w, !y
  }
  kern.phase "1" {
    kern.softmax %y outs(%z) : !y, !y
  }
  return
}

// -----

!groups = !kern.buffer<[rows, 2] x i64>
!tokens = !kern.buffer<[routed] x i64>
!offsets = !kern.buffer<[5] x i64>
!x = !kern.buffer<[rows, 8] x f32>
!packed = !kern.buffer<[routed, 8] x f32>

kern.bounded_size @routed bound "2*rows"

// A size that is written during a call counts as its bound: no offset depends on
// it.
// CHECK-LABEL: func.func @bounded_sizes_are_planned_by_their_bound(
// CHECK-SAME: kern.arena_bytes = "[[BYTES:[0-9*rows+]*]]"
// CHECK-SAME: {bytes = "16*rows", first = 1 : i64, last = 2 : i64, location = "", offset = "{{[0-9*rows+]*}}"},
// CHECK-SAME: {bytes = "40", first = 1 : i64, last = 1 : i64, location = "", offset = "{{[0-9*rows+]*}}"},
// CHECK-SAME: {bytes = "16*rows", first = 1 : i64, last = 4 : i64, location = "", offset = "{{[0-9*rows+]*}}"},
// CHECK-SAME: {bytes = "64*rows", first = 2 : i64, last = 3 : i64, location = "", offset = "{{[0-9*rows+]*}}"},
// CHECK-SAME: {bytes = "64*rows", first = 3 : i64, last = 4 : i64, location = "", offset = "{{[0-9*rows+]*}}"}]
// CHECK: kern.alloc {slot = 0 : i64} : <[routed] x i64>
// CHECK: kern.alloc {slot = 3 : i64} : <[routed, 8] x f32>
func.func @bounded_sizes_are_planned_by_their_bound(%g: !groups, %s: !kern.buffer<[rows, 2] x f32>, %x: !x, %y: !x) attributes {kern.symbols = ["routed", "rows"]} {
  %t = kern.alloc : !tokens
  %o = kern.alloc : !offsets
  %p = kern.alloc : !groups
  %r = kern.alloc : !packed
  %q = kern.alloc : !packed
  kern.phase "0" {
    kern.group_tokens %g outs(%t, %o, %p) size @routed : !groups, !tokens, !offsets, !groups
  }
  kern.phase "1" {
    kern.gather %x, %t outs(%r) : !x, !tokens, !packed
  }
  kern.phase "2" {
    kern.softmax %r outs(%q) : !packed, !packed
  }
  kern.phase "3" {
    kern.combine_groups %q, %p, %s outs(%y) : !packed, !groups, !kern.buffer<[rows, 2] x f32>, !x
  }
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[rows, 1, 1024] x f32>
!z = !kern.buffer<[rows, 1032] x f32>
!p = !kern.buffer<[keys, 1024] x f32, key_panels>
!i = !kern.buffer<[rows, 512] x i64>
!w = !kern.weight<[1024, 8] x f32, panels32>
!v = !kern.weight<[1032, 8] x f32, panels32>

// Rows with three sizes, key panels and integers keep their strides, and rows that are not
// a multiple of 4096 bytes. A buffer that shares its memory with none is not reported.
// REMARK-NOT: name = "rows-padded"
// REMARK-NOT: args = {buffers = "1", bytes = "{{[^"]*}}", entry = "{{[^"]*}}", names
// REMARK: name = "arena-
// REMARK-NOT: name = "rows-padded"
// REMARK-NOT: args = {buffers = "1", bytes = "{{[^"]*}}", entry = "{{[^"]*}}", names
// CHECK-LABEL: func.func @other_buffers_are_not_padded(
// CHECK-NOT: stride
func.func @other_buffers_are_not_padded(%x: !x, %x3: !kern.buffer<[rows, 1, 8] x f32>, %ids: !i, %w: !w, %v: !v, %s: !kern.ragged<0>) attributes {kern.symbols = ["rows", "keys"]} {
  %y = kern.alloc : !y
  %z = kern.alloc : !z
  %p = kern.alloc : !p
  %i = kern.alloc : !i
  kern.phase "0" {
    kern.gemm %x3, %w outs(%y) : !kern.buffer<[rows, 1, 8] x f32>, !w, !y
    kern.gemm %x, %v outs(%z) : !x, !v, !z
    kern.gemm %x, %w ragged %s outs(%p) : !x, !w, !kern.ragged<0>, !p
    kern.copy %ids outs(%i) axis 0 from "0" to "0" size "rows" : !i, !i
  }
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>

// REMARK-NOT: entry = "no_buffers"
// CHECK-LABEL: func.func @no_buffers(
// CHECK-SAME: kern.arena_bytes = "0"
func.func @no_buffers(%x: !x, %y: !x) attributes {kern.symbols = ["rows"]} {
  kern.phase "0" {
    kern.softmax %x outs(%y) : !x, !x
  }
  return
}
