// Constraints of kern.layers by their numbers.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.layers' op attribute 'layers' failed to satisfy constraint: layers}}
  "kern.layers"(%x) <{layers = [[@layer]]}> : (!kern.buffer<[rows, 8] x f32>) -> ()
  return
}

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.layers' op (1) expects a function without results as body, got 'layer'}}
  kern.layers %x [@layer] : !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func private @layer(%x: !kern.buffer<[rows, 8] x f32>) {
  return
}
func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.layers' op (3) expects a weight or cache, got 'layer'}}
  kern.layers %x [@layer(@layer)] : !kern.buffer<[rows, 8] x f32>
  return
}

// -----

func.func private @layer(%x: !kern.buffer<[rows, 16] x f32>) {
  return
}
func.func @f(%x: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.layers' op (2) expects a body that takes the state, the invariants and the layer's parameters; 'layer' does not}}
  kern.layers %x [@layer] : !kern.buffer<[rows, 8] x f32>
  return
}
