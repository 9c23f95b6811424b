// One case for each constraint on weights, caches, constants, ragged batches
// and layers.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
// expected-error @below {{'attn.weight' op attribute 'type' failed to satisfy constraint: type attribute of statically shaped tensor of any type values}}
attn.weight @w : [batch, 4] f32 = #weight.expr<file("a")>

// -----

// expected-error @below {{'#weight.expr' (1) expects a weight expression: }}
attn.weight @w : [4] f32 = #weight.expr<fill([])>

// -----

func.func private @f()
func.func @g() {
  // expected-error @below {{'attn.get_weight' op (1) expects 'f' to be an 'attn.weight'}}
  %0 = attn.get_weight @f : [4] f32
  return
}

// -----

attn.weight @w : [4] f32 = #weight.expr<fill([4], 1.0)>
func.func @f() {
  // expected-error @below {{'attn.get_weight' op (2) expects weight 'w' to have type 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = attn.get_weight @w : [5] f32
  return
}

// -----

func.func @f() {
  // expected-error @below {{'attn.constant' op (1) expects a result of type 'tensor<1xf32>', got 'tensor<2xf32>'}}
  %0 = "attn.constant"() <{value = dense<1.0> : tensor<1xf32>}> : () -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error @below {{'attn.ragged_batch' op (1) expects a bool or i64 mask of rank 2, got 'tensor<4xi1>'}}
  %0 = attn.ragged_batch %a : [4] i1 -> <rows, keys>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op (1) expects at least one layer}}
  %0 = attn.layers %a [] : [4] f32
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op attribute 'layers' failed to satisfy constraint: layers}}
  %0 = "attn.layers"(%a) <{layers = [1]}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op (2) expects body 'none' to be a private 'func.func'}}
  %0 = attn.layers %a [@none] : [4] f32
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.weight @w : [5] f32 = #weight.expr<fill([5], 1.0)>
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op (2) expects body 'body' to have 1 parameters and 1 result, got 2 and 1}}
  %0 = attn.layers %a [@body] : [4] f32
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.weight @w : [5] f32 = #weight.expr<fill([5], 1.0)>
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op (3) expects 'v' to be an 'attn.weight' or 'attn.cache'}}
  %0 = attn.layers %a [@body(@v)] : [4] f32
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.weight @w : [5] f32 = #weight.expr<fill([5], 1.0)>
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op (3) expects weight 'w' to have type 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = attn.layers %a [@body(@w)] : [4] f32
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.weight @w : [5] f32 = #weight.expr<fill([5], 1.0)>
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op failed to verify that all of {state, result} have same type}}
  %0 = "attn.layers"(%a) <{layers = [#attn.layer<@body, [@w]>]}> : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

attn.weight @w : [4] f32 = #weight.expr<fill([4], 1.0)>
func.func @f() {
  // expected-error @below {{'attn.get_cache' op (1) expects 'w' to be an 'attn.cache'}}
  %0 = attn.get_cache @w : !attn.cache<heads 1, key 4, value 4>
  return
}

// -----

attn.cache @c : !attn.cache<heads 1, key 4, value 4>
func.func @f() {
  // expected-error @below {{'attn.get_cache' op (2) expects cache 'c' to have type '!attn.cache<heads 1, key 4, value 4>', got '!attn.cache<heads 1, key 4, value 8>'}}
  %0 = attn.get_cache @c : !attn.cache<heads 1, key 4, value 8>
  return
}

// -----

func.func private @body(%x: tensor<4xf32>, %c: !attn.cache<heads 1, key 4, value 4>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
attn.cache @c : !attn.cache<heads 1, key 4, value 8>
func.func @f(%a: tensor<4xf32>) {
  // expected-error @below {{'attn.layers' op (3) expects cache 'c' to have type '!attn.cache<heads 1, key 4, value 4>', got '!attn.cache<heads 1, key 4, value 8>'}}
  %0 = attn.layers %a [@body(@c)] : [4] f32
  return
}
