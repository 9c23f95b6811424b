// Constraints of layers and of phases by their numbers.
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

// -----

func.func @f(%x: !kern.buffer<[rows, 8] x f32>, %y: !kern.buffer<[rows, 8] x f32>) {
  // expected-error @below {{'kern.phase' op (1) expects a name}}
  kern.phase "" {
    kern.softmax %x outs(%y) : !kern.buffer<[rows, 8] x f32>, !kern.buffer<[rows, 8] x f32>
  }
  return
}

// -----

func.func @f() {
  kern.phase "f.0" {
    // expected-error @below {{'kern.phase' op (2) expects operations on buffers, got 'kern.alloc'}}
    %a = kern.alloc : !kern.buffer<[rows, 8] x f32>
  }
  return
}
