// Weights, caches and buffers, and the attributes that specify their offsets.
// RUN: transom-opt %s -split-input-file -verify-diagnostics

module attributes {kern.weight_bytes = 128 : i64} {
  // Weights without bytes are anywhere.
  kern.weight @none : !kern.weight<[0] x f32, rows> = #weight.expr<file("none")> {offset = 64 : i64}
  kern.weight @b : !kern.weight<[16] x f32, rows> = #weight.expr<file("b")> {offset = 64 : i64}
  kern.weight @a : !kern.weight<[16] x f32, rows> = #weight.expr<file("a")> {offset = 0 : i64}
}

// -----

module attributes {kern.weight_bytes = 128 : i64} {
  kern.weight @a : !kern.weight<[20] x f32, rows> = #weight.expr<file("a")> {offset = 0 : i64}
  // expected-error @below {{'kern.weight' op expects an offset from 80 on, after 'a', got 64}}
  kern.weight @b : !kern.weight<[16] x f32, rows> = #weight.expr<file("b")> {offset = 64 : i64}
}

// -----

module attributes {kern.weight_bytes = 64 : i64} {
  // expected-error @below {{'kern.weight' op expects 80 bytes within the 64 of its section, got offset 0}}
  kern.weight @a : !kern.weight<[20] x f32, rows> = #weight.expr<file("a")> {offset = 0 : i64}
}

// -----

module attributes {kern.weight_bytes = 128 : i64} {
  // expected-error @below {{'kern.weight' op expects an offset that is a multiple of 64 beside 'kern.weight_bytes', got 32}}
  kern.weight @a : !kern.weight<[16] x f32, rows> = #weight.expr<file("a")> {offset = 32 : i64}
}

// -----

module attributes {kern.weight_bytes = 128 : i64} {
  // expected-error @below {{'kern.weight' op expects an offset that is a multiple of 64 beside 'kern.weight_bytes', got none}}
  kern.weight @a : !kern.weight<[16] x f32, rows> = #weight.expr<file("a")>
}

// -----

!cache = !kern.cache<heads 1, key 8, value 8, f32>
module attributes {kern.cache_groups = [{bytes = 32768 : i64, layers = 2 : i64, type = f32, window = 0 : i64}]} {
  kern.cache @a : !cache {group = 0 : i64, offset = 0 : i64}
  // expected-error @below {{'kern.cache' op expects an offset from 16384 on, after 'a', got 8192}}
  kern.cache @b : !cache {group = 0 : i64, offset = 8192 : i64}
}

// -----

module attributes {kern.cache_groups = [{bytes = 16384 : i64, layers = 1 : i64, type = f32, window = 0 : i64}]} {
  // expected-error @below {{'kern.cache' op expects 16384 bytes within the 16384 of its section, got offset 64}}
  kern.cache @a : !kern.cache<heads 1, key 8, value 8, f32> {group = 0 : i64, offset = 64 : i64}
}

// -----

module attributes {kern.cache_groups = [{bytes = 16384 : i64, layers = 1 : i64, type = f32, window = 0 : i64}]} {
  // expected-error @below {{'kern.cache' op expects a group of 'kern.cache_groups' with its window, positions and type, got 0}}
  kern.cache @near : !kern.cache<heads 1, key 8, value 8, window 300, f32> {group = 0 : i64, offset = 0 : i64}
}

// -----

module attributes {kern.cache_groups = [{bytes = 16384 : i64, layers = 1 : i64, type = f32, window = 0 : i64}]} {
  // expected-error @below {{'kern.cache' op expects a group of 'kern.cache_groups' with its window, positions and type, got none}}
  kern.cache @a : !kern.cache<heads 1, key 8, value 8, f32>
}

// -----

// expected-error @below {{'builtin.module' op expects 1 layers in the group of caches, got 2}}
module attributes {kern.cache_groups = [{bytes = 32768 : i64, layers = 2 : i64, type = f32, window = 0 : i64}]} {
  kern.cache @a : !kern.cache<heads 1, key 8, value 8, f32> {group = 0 : i64, offset = 0 : i64}
}

// -----

func.func private @apart() attributes {kern.arena_bytes = "8*rows+64*parts", kern.buffers = [
  {offset = "0", bytes = "8*rows", location = "a", first = 1 : i64, last = 2 : i64},
  {offset = "0", bytes = "4*rows", location = "b", first = 3 : i64, last = 3 : i64},
  {offset = "8*rows", bytes = "64*parts", location = "c", first = 0 : i64, last = 3 : i64}]}

// -----

// expected-error @below {{'func.func' op expects buffers 1 and 0, which live in step 2, to be apart for all sizes, got offsets 64*parts and 0}}
func.func private @f() attributes {kern.arena_bytes = "8*rows+64*parts", kern.buffers = [
  {offset = "0", bytes = "8*rows", location = "a", first = 2 : i64, last = 3 : i64},
  {offset = "64*parts", bytes = "4*rows", location = "b", first = 1 : i64, last = 2 : i64}]}

// -----

// expected-error @below {{'func.func' op expects buffer 0 within the arena of 64*parts bytes for all sizes, got its end 8*rows}}
func.func private @f() attributes {kern.arena_bytes = "64*parts", kern.buffers = [
  {offset = "0", bytes = "8*rows", location = "a", first = 2 : i64, last = 3 : i64}]}
