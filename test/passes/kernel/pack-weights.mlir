// RUN: transom-opt %s --kern-pack-weights --split-input-file | FileCheck %s
// RUN: transom-opt %s --kern-pack-weights --split-input-file | FileCheck %s --check-prefix=REMARK

// REMARK: args = {other = "w", weight = "same"}{{[^{}]*}}name = "weight-stored-once"
// REMARK: args = {bytes = "3392", padded = "1", panels = "2", rows = "2", weights = "5"}{{[^{}]*}}name = "weights-placed"
// REMARK-SAME: args = {columns = "8", padded = "32", products = "'kern.gemm', 'kern.gemm'", waste = "75", width = "32"}{{[^{}]*}}name = "panels-partly-filled"
// REMARK-SAME: args = {columns = "4 + 4", padded = "64", products = "'kern.gemm'", waste = "87", width = "32"}{{[^{}]*}}name = "panels-partly-filled"
// REMARK: args = {bytes = "256", layout = "rows", other = "panels32", weight = "tied"}{{[^{}]*}}name = "weight-stored-twice"

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!b = !kern.weight<[8] x f32, unset>

// Panels for GEMMs, padded biases, rows for the rest; offsets are multiples of
// 64 in definition order, and specify the total size.
// CHECK: module attributes {{.*}}kern.weight_bytes = 3392
// CHECK: kern.weight @w : !kern.weight<[8, 8] x f32, panels32> = #weight.expr<file("w")> {offset = 0 : i64}
kern.weight @w : !w = #weight.expr<file("w")>
// CHECK-NOT: @same
kern.weight @same : !w = #weight.expr<file("w")>
// CHECK: kern.weight @split : !kern.weight<[8, 8] x f32, panels32, splits [4, 4]> = #weight.expr<file("w")> {offset = 1024 : i64}
// CHECK-NOT: @unused
kern.weight @unused : !w = #weight.expr<file("u")>
kern.weight @split : !kern.weight<[8, 8] x f32, unset, splits [4, 4]> = #weight.expr<file("w")>
// CHECK: kern.weight @b : !kern.weight<[8] x f32, padded32> = #weight.expr<file("b")> {offset = 3072
kern.weight @split_unused : !kern.weight<[8, 8] x f32, unset, splits [4, 4]> = #weight.expr<file("v")>
kern.weight @b : !b = #weight.expr<file("b")>
// CHECK: kern.weight @g : !kern.weight<[8] x f32, rows> = #weight.expr<file("g")> {offset = 3200
kern.weight @g : !b = #weight.expr<file("g")>
// CHECK: kern.weight @e : !kern.weight<[3, 8] x f32, rows> = #weight.expr<file("e")> {offset = 3264
kern.weight @e : !kern.weight<[3, 8] x f32, unset> = #weight.expr<file("e")>

// CHECK-LABEL: func.func @chooses_layouts_and_shares_equal_weights(
// CHECK: %[[W:.*]] = kern.get_weight @w : <[8, 8] x f32, panels32>
// CHECK: %[[S:.*]] = kern.get_weight @w : <[8, 8] x f32, panels32>
// CHECK: kern.gemm %{{.*}}, %[[W]] bias
// CHECK: kern.gemm %{{.*}}, %[[S]] outs
func.func @chooses_layouts_and_shares_equal_weights(%x: !x, %y: !x, %z: !x, %p: !kern.buffer<[rows, 4] x f32>, %q: !kern.buffer<[rows, 4] x f32>, %i: !kern.buffer<[rows] x i64>) {
  %w = kern.get_weight @w : !w
  %s = kern.get_weight @same : !w
  %b = kern.get_weight @b : !b
  %g = kern.get_weight @g : !b
  %e = kern.get_weight @e : !kern.weight<[3, 8] x f32, unset>
  %t = kern.get_weight @split : !kern.weight<[8, 8] x f32, unset, splits [4, 4]>
  kern.gemm %x, %w bias %b outs(%y) : !x, !w, !b, !x
  kern.gemm %x, %s outs(%z) : !x, !w, !x
  kern.gemm %x, %t outs(%p, %q) : !x, !kern.weight<[8, 8] x f32, unset, splits [4, 4]>, !kern.buffer<[rows, 4] x f32>, !kern.buffer<[rows, 4] x f32>
  kern.norm %y, %g, %g outs(%z) eps 1.0e-5 : !x, !b, !b, !x
  kern.embedding ids(%i) tables(%e) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!kern.weight<[3, 8] x f32, unset>), !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>

// The GEMM reads panels; an addition with the weight itself reads a separate
// copy in rows; the embedding accepts either.
kern.weight @tied : !w = #weight.expr<file("t")>

// CHECK-LABEL: func.func @stores_twice_only_what_needs_two_layouts(
// CHECK-DAG: %[[P:.*]] = kern.get_weight @[[A:tied.*]] : <[8, 8] x f32, panels32>
// CHECK-DAG: %[[R:.*]] = kern.get_weight @{{tied.*}} : <[8, 8] x f32, rows>
// CHECK: kern.gemm %{{.*}}, %[[P]]
// CHECK: kern.elementwise ins(%{{.*}}, %[[R]])
func.func @stores_twice_only_what_needs_two_layouts(%x: !x, %y: !x, %i: !kern.buffer<[rows] x i64>, %z: !kern.buffer<[8, 8] x f32>) {
  %w = kern.get_weight @tied : !w
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  kern.embedding ids(%i) tables(%w) outs(%y) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!w), !x
  kern.elementwise ins(%z, %w) outs(%z) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  } : (!kern.buffer<[8, 8] x f32>, !w) -> !kern.buffer<[8, 8] x f32>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>
!b = !kern.weight<[8] x f32, unset>

// The body parameter decides for the weights in all rows.
// CHECK-DAG: kern.weight @w0 : !kern.weight<[8, 8] x f32, panels32>
// CHECK-DAG: kern.weight @w1 : !kern.weight<[8, 8] x f32, panels32>
// CHECK-DAG: kern.weight @g : !kern.weight<[8] x f32, rows>
kern.weight @w0 : !w = #weight.expr<file("w0")>
kern.weight @w1 : !w = #weight.expr<file("w1")>
kern.weight @w2 : !w = #weight.expr<file("w1")>
kern.weight @g : !b = #weight.expr<file("g")>

// CHECK-LABEL: func.func @follows_rows_of_layers(
// CHECK: kern.layers %{{.*}} [@layer(@w0, @g), @layer(@w1, @g), @layer(@w1, @g)]
func.func @follows_rows_of_layers(%x: !x) {
  kern.layers %x [@layer(@w0, @g), @layer(@w1, @g), @layer(@w2, @g)] : !x
  return
}
// CHECK: func.func private @layer(%{{.*}}: !kern.buffer<[rows, 8] x f32>, %{{.*}}: !kern.weight<[8, 8] x f32, panels32>, %{{.*}}: !kern.weight<[8] x f32, rows>)
func.func private @layer(%x: !x, %w: !w, %g: !b) {
  %t = kern.alloc : !x
  kern.gemm %x, %w outs(%t) : !x, !w, !x
  kern.norm %t, %g outs(%x) eps 1.0e-5 : !x, !b, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, unset>

// CHECK: kern.weight @tied : !kern.weight<[8, 8] x f32, panels32>
// CHECK-NOT: kern.weight
kern.weight @tied : !w = #weight.expr<file("t")>

// CHECK-LABEL: func.func @a_tied_embedding_reads_the_panels(
// CHECK: %[[W:.*]] = kern.get_weight @tied
// CHECK: kern.embedding ids(%{{.*}}) tables(%[[W]])
// CHECK: kern.gemm %{{.*}}, %[[W]]
func.func @a_tied_embedding_reads_the_panels(%x: !x, %y: !x, %i: !kern.buffer<[rows] x i64>) {
  %w = kern.get_weight @tied : !w
  kern.embedding ids(%i) tables(%w) outs(%x) {scales = array<f64: 1.0>} : (!kern.buffer<[rows] x i64>), (!w), !x
  kern.gemm %x, %w outs(%y) : !x, !w, !x
  return
}

// -----

// Each group's weight begins at a panel.
// CHECK: kern.weight @experts : !kern.weight<[40, 8] x f32, panels32, splits [20, 20]>
// CHECK: kern.weight @biases : !kern.weight<[40] x f32, padded32, splits [20, 20]>
kern.weight @experts : !kern.weight<[40, 8] x f32, unset, splits [20, 20]> = #weight.expr<file("e")>
kern.weight @biases : !kern.weight<[40] x f32, unset, splits [20, 20]> = #weight.expr<file("b")>
func.func @groups(%x: !kern.buffer<[rows, 8] x f32>, %o: !kern.buffer<[3] x i64>, %y: !kern.buffer<[rows, 20] x f32>) {
  %w = kern.get_weight @experts : !kern.weight<[40, 8] x f32, unset, splits [20, 20]>
  %b = kern.get_weight @biases : !kern.weight<[40] x f32, unset, splits [20, 20]>
  kern.group_gemm %x, %w bias %b offsets %o outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.weight<[40, 8] x f32, unset, splits [20, 20]>,
      !kern.weight<[40] x f32, unset, splits [20, 20]>, !kern.buffer<[3] x i64>, !kern.buffer<[rows, 20] x f32>
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!full = !kern.weight<[1568, 8] x f32, unset>
!few = !kern.weight<[8, 8] x f32, unset>

// A GEMM with two percent of all weights is the smallest that is reported; panels without padding are not.
// REMARK-NOT: columns = "1568"
// REMARK: args = {columns = "8"{{[^{}]*}}}{{[^{}]*}}function = "two_percent"{{[^{}]*}}name = "panels-partly-filled"
// REMARK-NOT: columns = "1568"
func.func @two_percent(%x: !x, %y: !kern.buffer<[rows, 1568] x f32>, %z: !x) {
  %a = kern.get_weight @full : !full
  %b = kern.get_weight @few : !few
  kern.gemm %x, %a outs(%y) : !x, !full, !kern.buffer<[rows, 1568] x f32>
  kern.gemm %x, %b outs(%z) : !x, !few, !x
  return
}
kern.weight @full : !full = #weight.expr<file("full")>
kern.weight @few : !few = #weight.expr<file("few")>

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[144, 8] x f32, unset>

// Ten percent padding is the minimum that is reported.
// REMARK: args = {columns = "144", padded = "160"{{[^{}]*}}waste = "10"{{[^{}]*}}}{{[^{}]*}}name = "panels-partly-filled"
func.func @ten_percent(%x: !x, %y: !kern.buffer<[rows, 144] x f32>) {
  %a = kern.get_weight @w : !w
  kern.gemm %x, %a outs(%y) : !x, !w, !kern.buffer<[rows, 144] x f32>
  return
}
kern.weight @w : !w = #weight.expr<file("w")>

// -----

!x = !kern.buffer<[rows, 16] x f32>
!w = !kern.weight<[20, 8] x f32, unset>
!y = !kern.buffer<[2*rows, 10] x f32>

// Each head in a head GEMM begins at a panel.
// CHECK: kern.weight @heads : !kern.weight<[20, 8] x f32, panels32, splits [10, 10]>
kern.weight @heads : !w = #weight.expr<file("heads")>
func.func @products_of_heads(%x: !x, %s: !kern.ragged<0>, %y: !y) {
  %w = kern.get_weight @heads : !w
  kern.head_gemm %x, %w ragged %s outs(%y) heads 2 : !x, !w, !kern.ragged<0>, !y
  return
}
