// RUN: transom-opt %s --kern-form-phases --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-form-phases --split-input-file | FileCheck %s --check-prefix=REMARK

// REMARK: args = {earlier = "heads_of_panels.0.gemm", phase = "heads_of_panels.1.attention", ranges = "4", rows = "64"}{{[^{}]*}}name = "heads-follow-columns"
// REMARK: args = {earlier = "halves_of_panels.0.gemm", phase = "halves_of_panels.1.attention", ranges = "2", rows = "64"}{{[^{}]*}}name = "heads-follow-columns"
// REMARK: args = {earlier = "layer.0.gemm", phase = "layer.1.attention", ranges = "2", rows = "64"}{{[^{}]*}}name = "heads-follow-columns"
// REMARK: args = {heads = "2", key = "16", panel = "32", phase = "one_panel.1.attention", value = "16"}{{[^{}]*}}name = "heads-share-panels"
// REMARK: args = {heads = "3", key = "32", panel = "32", phase = "odd_values.1.attention", value = "16"}{{[^{}]*}}name = "heads-share-panels"
// REMARK: args = {earlier = "'kern.rope'", operation = "'kern.attention'", phase = "rope_between.2.attention"}{{[^{}]*}}name = "attention-needs-other-workers"
// REMARK: args = {earlier = "'kern.elementwise'", operation = "'kern.attention'", phase = "counters.1.attention"}{{[^{}]*}}name = "attention-needs-other-workers"
// REMARK: args = {operation = "'kern.attention'", phase = "other_rows.1.attention"}{{[^{}]*}}name = "attention-has-other-tokens"
// REMARK: args = {earlier = "'kern.gemm'", operation = "'kern.attention'", phase = "other_keys.1.attention"}{{[^{}]*}}name = "attention-needs-other-workers"
// REMARK: args = {operation = "'kern.attention'", phase = "other_batch.1.attention"}{{[^{}]*}}name = "attention-has-other-tokens"

!x = !kern.buffer<[rows, 8] x f32>
!q = !kern.buffer<[rows, 128] x f32>
!k = !kern.buffer<[keys, 128] x f32, key_panels>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>
!w = !kern.weight<[384, 8] x f32, panels32, splits [128, 128, 128]>

// Four heads with 32 columns are four panels in each operand. A previous phase
// may also make buffers that attention does not read.
// CHECK-LABEL: func.func @heads_of_panels(
// CHECK: kern.phase "heads_of_panels.0.gemm" {
// CHECK: kern.elementwise
// CHECK: kern.phase "heads_of_panels.1.attention" head_ranges 4 {
func.func @heads_of_panels(%m: !kern.buffer<[batch, seq] x i64>, %x: !x, %w: !w, %t: !t, %y: !q, %z: !kern.buffer<[rows] x i64>) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "keys"} : !r
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  kern.elementwise ins() outs(%z) {
    %c = arith.constant 0 : i64
    kern.yield %c : i64
  } : () -> !kern.buffer<[rows] x i64>
  kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !x, !w, !r, !q, !k, !q
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.125
      : !q, !k, !q, !r, !r, !t, !q
  return
}

// Two heads with 16 columns are a panel. Several GEMMs may make the operands.
// CHECK-LABEL: func.func @halves_of_panels(
// CHECK: kern.phase "halves_of_panels.1.attention" head_ranges 2 {
func.func @halves_of_panels(%x: !x, %w: !kern.weight<[64, 8] x f32, panels32>, %t: !kern.buffer<[parts, 8640] x f32>, %y: !kern.buffer<[rows0, 64] x f32>, %z: !kern.buffer<[rows0, 8] x f32>) {
  %s = kern.ragged_batch {batch = "batch", columns = "seq", rows = "rows0", keys = "keys0"} : !r
  %q = kern.alloc : !kern.buffer<[rows0, 64] x f32>
  %k = kern.alloc : !kern.buffer<[keys0, 64] x f32, key_panels>
  %v = kern.alloc : !kern.buffer<[rows0, 64] x f32>
  kern.gemm %z, %w outs(%q) : !kern.buffer<[rows0, 8] x f32>, !kern.weight<[64, 8] x f32, panels32>, !kern.buffer<[rows0, 64] x f32>
  kern.gemm %z, %w ragged %s outs(%k) : !kern.buffer<[rows0, 8] x f32>, !kern.weight<[64, 8] x f32, panels32>, !r, !kern.buffer<[keys0, 64] x f32, key_panels>
  kern.gemm %z, %w outs(%v) : !kern.buffer<[rows0, 8] x f32>, !kern.weight<[64, 8] x f32, panels32>, !kern.buffer<[rows0, 64] x f32>
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.125
      : !kern.buffer<[rows0, 64] x f32>, !kern.buffer<[keys0, 64] x f32, key_panels>, !kern.buffer<[rows0, 64] x f32>, !r, !r, !kern.buffer<[parts, 8640] x f32>, !kern.buffer<[rows0, 64] x f32>
  return
}

// A layer's ragged batch is its caller's; key heads are counted where several
// query heads share one, and quantized attention results also belong to its own
// heads.
// CHECK-LABEL: func.func private @layer(
// CHECK: kern.phase "layer.1.attention" head_ranges 2 {
func.func @layers(%m: !kern.buffer<[batch, seq] x i64>, %x: !x) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "keys"} : !r
  kern.layers %x invariants(%s : !r) [@layer(@w)] : !x
  return
}
kern.weight @w : !kern.weight<[256, 8] x f32, panels32, splits [128, 64, 64]> = #weight.expr<file("w")>
func.func private @layer(%x: !x, %s: !r, %w: !kern.weight<[256, 8] x f32, panels32, splits [128, 64, 64]>) {
  %q = kern.alloc : !q
  %k = kern.alloc : !kern.buffer<[keys, 64] x f32, key_panels>
  %v = kern.alloc : !kern.buffer<[rows, 64] x f32>
  %t = kern.alloc : !t
  %y = kern.alloc : !q
  %n = kern.alloc : !kern.buffer<[rows, 128] x i8>
  %c = kern.alloc : !kern.buffer<[rows, 8] x f32>
  kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !x, !kern.weight<[256, 8] x f32, panels32, splits [128, 64, 64]>, !r, !q, !kern.buffer<[keys, 64] x f32, key_panels>, !kern.buffer<[rows, 64] x f32>
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) copy(%n) scales(%c) heads 4 kv_heads 2 scale 0.125
      : !q, !kern.buffer<[keys, 64] x f32, key_panels>, !kern.buffer<[rows, 64] x f32>, !r, !r, !t, !q, !kern.buffer<[rows, 128] x i8>, !kern.buffer<[rows, 8] x f32>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!q = !kern.buffer<[rows, 32] x f32>
!k = !kern.buffer<[keys, 32] x f32, key_panels>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>
!w = !kern.weight<[96, 8] x f32, panels32, splits [32, 32, 32]>

// CHECK-LABEL: func.func @one_panel(
// CHECK: kern.phase "one_panel.1.attention" {
func.func @one_panel(%m: !kern.buffer<[batch, seq] x i64>, %x: !x, %w: !w, %t: !t, %y: !q) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "keys"} : !r
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !x, !w, !r, !q, !k, !q
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 2 kv_heads 2 scale 0.125
      : !q, !k, !q, !r, !r, !t, !q
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!q = !kern.buffer<[rows, 96] x f32>
!k = !kern.buffer<[keys, 96] x f32, key_panels>
!v = !kern.buffer<[rows, 48] x f32>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>
!w = !kern.weight<[240, 8] x f32, panels32, splits [96, 96, 48]>

// The values for three heads with 16 columns are a panel and a half.
// CHECK-LABEL: func.func @odd_values(
// CHECK: kern.phase "odd_values.1.attention" {
func.func @odd_values(%m: !kern.buffer<[batch, seq] x i64>, %x: !x, %w: !w, %t: !kern.buffer<[parts, 8640] x f32>, %y: !v) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "keys"} : !r
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !v
  kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !x, !w, !r, !q, !k, !v
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 3 kv_heads 3 scale 0.125
      : !q, !k, !v, !r, !r, !kern.buffer<[parts, 8640] x f32>, !v
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!q = !kern.buffer<[rows, 128] x f32>
!k = !kern.buffer<[keys, 128] x f32, key_panels>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>
!w = !kern.weight<[384, 8] x f32, panels32, splits [128, 128, 128]>

// Rope divides rows among the workers.
// CHECK-LABEL: func.func @rope_between(
// CHECK: kern.phase "rope_between.1.rope"
// CHECK: kern.phase "rope_between.2.attention" {
func.func @rope_between(%m: !kern.buffer<[batch, seq] x i64>, %x: !x, %w: !w, %f: !kern.buffer<[rows, 32] x f32>, %t: !t, %y: !q) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "keys"} : !r
  %q = kern.alloc : !q
  %o = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !x, !w, !r, !q, !k, !q
  kern.rope %q, %f outs(%o) heads 4 : !q, !kern.buffer<[rows, 32] x f32>, !q
  kern.attention %o, %k, %v ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.125
      : !q, !k, !q, !r, !r, !t, !q
  return
}

// Other workers may still read memory that attention overwrites.
// CHECK-LABEL: func.func @overwrites_the_input(
// CHECK: kern.phase "overwrites_the_input.1.attention" {
func.func @overwrites_the_input(%m: !kern.buffer<[batch, seq] x i64>, %x: !q, %w: !kern.weight<[384, 128] x f32, panels32, splits [128, 128, 128]>, %t: !t) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "keys"} : !r
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !q, !kern.weight<[384, 128] x f32, panels32, splits [128, 128, 128]>, !r, !q, !k, !q
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%x) heads 4 kv_heads 4 scale 0.125
      : !q, !k, !q, !r, !r, !t, !q
  return
}

// Other workers clear the split-kv counters.
// CHECK-LABEL: func.func @counters(
// CHECK: kern.phase "counters.1.attention" {
func.func @counters(%m: !kern.buffer<[batch, seq] x i64>, %x: !x, %w: !w, %t: !t, %p: !kern.buffer<[parts, 26624] x f32>, %y: !q) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "keys"} : !r
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  %c = kern.alloc : !kern.buffer<[parts, 32] x i64>
  kern.elementwise ins() outs(%c) {
    %z = arith.constant 0 : i64
    kern.yield %z : i64
  } : () -> !kern.buffer<[parts, 32] x i64>
  kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !x, !w, !r, !q, !k, !q
  kern.attention %q, %k, %v ragged %s, %s scratch %t partials %p counters %c outs(%y) heads 4 kv_heads 4 scale 0.125 {schedule = #kern.schedule<split_kv>}
      : !q, !k, !q, !r, !r, !t, !kern.buffer<[parts, 26624] x f32>, !kern.buffer<[parts, 32] x i64>, !q
  return
}

// A buffer may have more rows than a batch has tokens.
// CHECK-LABEL: func.func @other_rows(
// CHECK: kern.phase "other_rows.1.attention" {
func.func @other_rows(%m: !kern.buffer<[batch, seq] x i64>, %x: !x, %w: !w, %t: !t, %y: !q) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "n", keys = "keys"} : !r
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !x, !w, !r, !q, !k, !q
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.125
      : !q, !k, !q, !r, !r, !t, !q
  return
}

// The key GEMM has positions from another batch.
// CHECK-LABEL: func.func @other_keys(
// CHECK: kern.phase "other_keys.1.attention" {
func.func @other_keys(%m: !kern.buffer<[batch, seq] x i64>, %x: !x, %w: !w, %t: !t, %y: !q) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "keys"} : !r
  %o = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "n", keys = "m"} : !kern.ragged<1>
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  kern.gemm %x, %w ragged %o outs(%q, %k, %v) : !x, !w, !kern.ragged<1>, !q, !k, !q
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.125
      : !q, !k, !q, !r, !r, !t, !q
  return
}

// CHECK-LABEL: func.func @other_batch(
// CHECK: kern.phase "other_batch.1.attention" {
func.func @other_batch(%m: !kern.buffer<[batch, seq] x i64>, %x: !x, %w: !w, %t: !t, %y: !q) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "n"} : !r
  %o = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "n", keys = "keys"} : !kern.ragged<1>
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  kern.gemm %x, %w ragged %o outs(%q, %k, %v) : !x, !w, !kern.ragged<1>, !q, !k, !q
  kern.attention %q, %k, %v ragged %s, %o scratch %t outs(%y) heads 4 kv_heads 4 scale 0.125
      : !q, !k, !q, !r, !kern.ragged<1>, !t, !q
  return
}

// Attention next to an operation that joined its phase, and one that reads a
// cache, wait as other phases do.
// CHECK-LABEL: func.func @not_alone(
// CHECK: kern.phase "not_alone.1.attention" {
func.func @not_alone(%m: !kern.buffer<[batch, seq] x i64>, %x: !x, %w: !w, %t: !t, %y: !q, %z: !q) {
  %s = kern.ragged_batch mask %m : !kern.buffer<[batch, seq] x i64>
      {batch = "", columns = "", rows = "rows", keys = "keys"} : !r
  %q = kern.alloc : !q
  %k = kern.alloc : !k
  %v = kern.alloc : !q
  kern.gemm %x, %w ragged %s outs(%q, %k, %v) : !x, !w, !r, !q, !k, !q
  kern.attention %q, %k, %v ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.125
      : !q, !k, !q, !r, !r, !t, !q
  kern.softmax %q outs(%z) : !q, !q
  return
}
