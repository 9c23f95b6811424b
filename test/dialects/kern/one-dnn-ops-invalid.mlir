// Numbered constraints on kern.onednn.
// RUN: transom-opt %s --split-input-file --verify-diagnostics

!x = !kern.buffer<[rows, 8] x f32>
func.func @f(%x: !x, %y: !x) {
  // expected-error @below {{expected ::transom::kern::OneDnnPrimitive to be one of: matmul, batch_matmul, softmax, layer_norm}}
  // expected-error @below {{failed to parse Kern_OneDnnPrimitiveAttr parameter 'value'}}
  kern.onednn <conv> %x outs(%y) : !x, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
func.func @f(%x: !x, %y: !x) {
  // expected-error @below {{'kern.onednn' op (1) expects one or two weights, got 0}}
  kern.onednn <matmul> %x outs(%y) : !x, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
func.func @f(%x: !x, %y: !x) {
  // expected-error @below {{'kern.onednn' op (2) expects an rhs exactly in 'batch_matmul'}}
  kern.onednn <batch_matmul> %x outs(%y) : !x, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
func.func @f(%x: !x, %y: !x) {
  // expected-error @below {{'kern.onednn' op (3) expects a residual in 'matmul' only}}
  kern.onednn <softmax> %x residual %x outs(%y) : !x, !x, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!g = !kern.weight<[8] x f32, rows>
func.func @f(%x: !x, %y: !x, %g: !g) {
  // expected-error @below {{'kern.onednn' op (4) expects 'eps' exactly in 'layer_norm'}}
  kern.onednn <layer_norm> %x weights(%g) outs(%y) : !x, !g, !x
  return
}

// -----

!p = !kern.buffer<[rows, 8] x f32, stride 16>
!x = !kern.buffer<[rows, 8] x f32>
func.func @f(%x: !p, %y: !x) {
  // expected-error @below {{'kern.onednn' op (5) expects dense buffers of f32 with 1 to 8 sizes, got '!kern.buffer<[rows, 8] x f32, stride 16>'}}
  kern.onednn <softmax> %x outs(%y) : !p, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, panels32>
func.func @f(%x: !x, %y: !x, %w: !w) {
  // expected-error @below {{'kern.onednn' op (7) expects a weight in 'rows', got 'panels32'}}
  kern.onednn <matmul> %x weights(%w) outs(%y) : !x, !w, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, rows, splits [4, 4]>
func.func @f(%x: !x, %y: !x, %w: !w) {
  // expected-error @below {{'kern.onednn' op (6) expects a weight of f32 [8, 8] without splits, got '!kern.weight<[8, 8] x f32, rows, splits [4, 4]>'}}
  kern.onednn <matmul> %x weights(%w) outs(%y) : !x, !w, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[batch, 8] x f32>
!w = !kern.weight<[8, 8] x f32, rows>
func.func @f(%x: !x, %y: !y, %w: !w) {
  // expected-error @below {{'kern.onednn' op (9) expects input and outs of equal rows, got [rows, 8] and [batch, 8]}}
  kern.onednn <matmul> %x weights(%w) outs(%y) : !x, !w, !y
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!v = !kern.buffer<[8, seq] x f32>
func.func @f(%x: !x, %v: !v, %y: !x) {
  // expected-error @below {{'kern.onednn' op (10) expects outs [.., m, n] of [.., m, k] and [.., k, n], got [rows, 8] of [rows, 8] and [8, seq]}}
  kern.onednn <batch_matmul> %x, %v outs(%y) : !x, !v, !x
  return
}

// -----

!a = !kern.buffer<[2, rows, 8] x f32>
!b = !kern.buffer<[3, 8, 8] x f32>
!y = !kern.buffer<[3, rows, 8] x f32>
func.func @f(%x: !a, %v: !b, %y: !y) {
  // expected-error @below {{'kern.onednn' op (11) expects leading sizes that broadcast to [3, rows, 8], got [2, rows, 8]}}
  kern.onednn <batch_matmul> %x, %v outs(%y) : !a, !b, !y
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, rows>
func.func @f(%x: !x, %y: !x, %w: !w) {
  // expected-error @below {{'kern.onednn' op (12) expects an activation that oneDNN has, in 'matmul', got 'rsqrt'}}
  kern.onednn <matmul> %x weights(%w) outs(%y) activation <rsqrt> : !x, !w, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!w = !kern.weight<[8, 8] x f32, rows>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{'kern.onednn' op (13) expects outs in other memory than the operands}}
  kern.onednn <matmul> %x weights(%w) outs(%x) : !x, !w, !x
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
func.func @f(%x: !x, %y: !x) {
  kern.phase "f.0" {
    // expected-error @below {{'kern.phase' op (3) expects nothing beside 'kern.onednn'}}
    kern.onednn <softmax> %x outs(%y) : !x, !x
    kern.softmax %y outs(%x) : !x, !x
  }
  return
}

// -----

!x = !kern.buffer<[rows, 8] x f32>
!y = !kern.buffer<[rows, 4] x f32>
func.func @f(%x: !x, %y: !y) {
  // expected-error @below {{'kern.onednn' op (8) expects input and outs of equal sizes, got [rows, 8] and [rows, 4]}}
  kern.onednn <softmax> %x outs(%y) : !x, !y
  return
}
