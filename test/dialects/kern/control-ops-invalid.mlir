// Numbered constraints on layers and phases.
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

// -----

!q = !kern.buffer<[rows, 64] x f32>
!k = !kern.buffer<[keys, 64] x f32, key_panels>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>

func.func @f(%q: !q, %k: !k, %s: !r, %t: !t, %x: !q, %y: !q) {
  // expected-error @below {{'kern.phase' op (5) expects one 'kern.attention' without a cache, after a phase}}
  kern.phase "f.1" head_ranges 2 {
    kern.attention %q, %k, %q ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.5
        : !q, !k, !q, !r, !r, !t, !q
  }
  return
}

// -----

!q = !kern.buffer<[rows, 64] x f32>
!k = !kern.buffer<[keys, 64] x f32, key_panels>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>

func.func @f(%q: !q, %k: !k, %s: !r, %t: !t, %x: !q, %y: !q) {
  kern.phase "f.0" {
    kern.softmax %x outs(%q) : !q, !q
  }
  // expected-error @below {{'kern.phase' op (5) expects one 'kern.attention' without a cache, after a phase}}
  kern.phase "f.1" head_ranges 2 {
    kern.attention %q, %k, %q ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.5
        : !q, !k, !q, !r, !r, !t, !q
    kern.softmax %x outs(%x) : !q, !q
  }
  return
}

// -----

!q = !kern.buffer<[rows, 64] x f32>
!k = !kern.buffer<[keys, 64] x f32, key_panels>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>

func.func @f(%q: !q, %k: !k, %s: !r, %t: !t, %x: !q, %y: !q) {
  kern.phase "f.0" {
    kern.softmax %x outs(%q) : !q, !q
  }
  // expected-error @below {{'kern.phase' op (5) expects 'head_ranges' that divide the 4 heads of the keys, got 3}}
  kern.phase "f.1" head_ranges 3 {
    kern.attention %q, %k, %q ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.5
        : !q, !k, !q, !r, !r, !t, !q
  }
  return
}

// -----

!q = !kern.buffer<[rows, 64] x f32>
!k = !kern.buffer<[keys, 64] x f32, key_panels>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>

func.func @f(%q: !q, %k: !k, %s: !r, %t: !t, %x: !q, %y: !q) {
  kern.phase "f.0" {
    kern.softmax %x outs(%q) : !q, !q
  }
  // expected-error @below {{'kern.phase' op (5) expects 'head_ranges' that divide the 4 heads of the keys, got 0}}
  kern.phase "f.1" head_ranges 0 {
    kern.attention %q, %k, %q ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.5
        : !q, !k, !q, !r, !r, !t, !q
  }
  return
}

// -----

!q = !kern.buffer<[rows, 64] x f32>
!k = !kern.buffer<[keys, 64] x f32, key_panels>
!t = !kern.buffer<[parts, 8640] x f32>
!r = !kern.ragged<0>

func.func @f(%q: !q, %k: !k, %s: !r, %t: !t, %x: !q, %y: !q) {
  kern.phase "f.0" {
    kern.softmax %x outs(%q) : !q, !q
  }
  // expected-error @below {{'kern.phase' op (6) expects a multiple of 32 columns in each of 4 ranges, got '!kern.buffer<[rows, 64] x f32>'}}
  kern.phase "f.1" head_ranges 4 {
    kern.attention %q, %k, %q ragged %s, %s scratch %t outs(%y) heads 4 kv_heads 4 scale 0.5
        : !q, !k, !q, !r, !r, !t, !q
  }
  return
}
