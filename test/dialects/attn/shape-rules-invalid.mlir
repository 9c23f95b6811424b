// Operands without named sizes, and results that the shape rule does not give.
// RUN: transom-opt %s -split-input-file -verify-diagnostics
func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @below {{'attn.softmax' op expects named sizes, got operand of type 'tensor<?x4xf32>'}}
  %0 = attn.softmax %x : tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'attn.softmax' op expects a result of type 'tensor<2x4xf32>', got 'tensor<2x5xf32>'}}
  %0 = "attn.softmax"(%x) : (tensor<2x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'attn.softmax' op expects a result of type 'tensor<2x4xf32>', got 'tensor<*xi64>'}}
  %0 = "attn.softmax"(%x) : (tensor<2x4xf32>) -> tensor<*xi64>
  return
}

// -----

func.func @f(%p: tensor<5xi64>) {
  // expected-error @below {{'attn.rope_table' op expects a result of type 'tensor<5x4xf32>', got 'tensor<5x2xf32>'}}
  %0 = "attn.rope_table"(%p) <{frequencies = array<f64: 1.0, 2.0>, limit = 4 : i64}> : (tensor<5xi64>) -> tensor<5x2xf32>
  return
}
