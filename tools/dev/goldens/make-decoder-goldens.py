#!/usr/bin/env python3
"""Writes decoders into test/goldens: one tiny checkpoint for each family and feature that the other folders lack, with results that
transformers computes in float64 from the stored folder. Needs torch, transformers and safetensors; the tests that read the folders do not.

usage: make-decoder-goldens.py [NAME ...]"""
import json
import pathlib
import shutil
import sys

import torch
import transformers as tf
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens"
VOCAB, POSITIONS, LAYERS = 97, 96, 2
RECIPES = {}


def recipe(function):
    RECIPES[function.__name__.replace("_", "-")] = function
    return function


def randomize(model, plus_one, transposed, generator):
    """Weights N(0, 1/fan-in), norms around one, biases small."""
    tied = model.config.tie_word_embeddings
    for name, tensor in model.state_dict().items():
        noise = torch.randn(tensor.shape, generator=generator)
        if tensor.dim() == 2:
            fan_in = tensor.shape[0 if transposed and ".h." in "." + name else 1]
            word = any(part in name for part in ("embed_tokens", "embed_in", "wte", "word_embeddings", "embed_positions", "wpe"))
            tensor.copy_(noise * ((0.12 if tied else 0.7) if word else 0.15 if "_norm" in name else fan_in ** -0.5))
            if "_norm" in name:  # a norm's weights by head
                tensor.add_(1)
        elif name.endswith("weight"):
            tensor.copy_(0.15 * noise + (0 if plus_one else 1))
        else:
            tensor.copy_(0.1 * noise)


def write_folder(folder, architecture, config, keys, rename):
    """config.json and model.safetensors; a tied head is stored once."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    generator = torch.Generator().manual_seed(sum(map(ord, folder.name)) * 1009)
    config._attn_implementation = "eager"
    model = getattr(tf, architecture)(config).eval()
    with torch.no_grad():
        randomize(model, config.model_type.startswith("gemma"), config.model_type == "gpt2", generator)
    model.tie_weights()
    tensors, seen = {}, set()
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            tensors[rename(name)] = tensor.float().contiguous()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    described = {k: v for k, v in config.to_dict().items() if not k.startswith("_")}
    described.update({"architectures": [architecture], "dtype": "float32"})
    described.update(keys)
    described = {k: v for k, v in described.items() if v != "absent"}
    (folder / "config.json").write_text(json.dumps(described, indent=1, sort_keys=True) + "\n")
    (folder / "generation_config.json").write_text('{\n "use_cache": true\n}\n')


def logits_of(model, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids])).logits[0]


def greedy(model, prompt, count, end=None):
    """Returns the tokens after the prompt and the smallest gap between best and second."""
    ids, gap = list(prompt), float("inf")
    for _ in range(count):
        best = torch.topk(logits_of(model, ids)[-1], 2)
        gap = min(gap, float(best.values[0] - best.values[1]))
        ids.append(int(best.indices[0]))
        if ids[-1] == end:
            break
    return ids[len(prompt):], gap


class Cases:
    def __init__(self, folder):
        self.folder, self.cases, self.counts = folder, [], {}

    def add(self, entry, given, wanted, **more):
        number = self.counts.get(entry, 0)
        self.counts[entry] = number + 1
        names = [f"{entry}.{number}.{side}.safetensors" for side in ("in", "out")]
        save_file(given, self.folder / names[0])
        save_file({k: v.float().contiguous() if v.is_floating_point() else v for k, v in wanted.items()},
                  self.folder / names[1])
        self.cases.append({"entry": entry, "input": names[0], "expect": names[1], **more})


def padded(rows):
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])}


def causal_cases(model, cases, random):
    for batch, length in ((1, 1), (2, 13), (1, 80)):
        rows = [random(length) for _ in range(batch)]
        cases.add("logits", {"input_ids": torch.tensor(rows)},
                  {"logits": torch.stack([logits_of(model, row) for row in rows])})
    for length in (1, 23):
        prompt, gap = random(length), 0
        while gap < 2e-3:
            prompt = random(length)
            ids, gap = greedy(model, prompt, 24)
        cases.add("generate", {"input_ids": torch.tensor([prompt])}, {"output_ids": torch.tensor([ids])},
                  max_new_tokens=24, sampling="greedy, end token ignored", smallest_top2_gap=gap)
    ends(model, cases, random)
    text = random(20)
    found = torch.log_softmax(logits_of(model, text)[:-1], -1)
    cases.add("score", {"input_ids": torch.tensor([text])},
              {"logprobs": found.gather(1, torch.tensor(text[1:])[:, None]).T})


def ends(model, cases, random):
    """Returns a padded batch in which one row meets the end token early."""
    while True:
        rows = [random(4), random(9), random(6)]
        free = [greedy(model, row, 12)[0] for row in rows]
        end = free[1][4]
        found = [greedy(model, row, 12, end) for row in rows]
        if min(gap for _, gap in found) > 2e-3 and end not in free[1][:4]:
            break
    longest = max(len(ids) for ids, _ in found)
    cases.add("generate", padded(rows), {"output_ids": torch.tensor([ids + [end] * (longest - len(ids)) for ids, _ in found])},
              max_new_tokens=12, eos_token_id=end, sampling="greedy, stops at the end token",
              smallest_top2_gap=min(gap for _, gap in found))


def encode_cases(model, cases, random, result):
    """Returns rows with several lengths; each is computed alone."""
    for lengths in ((1,), (7, 12, 3)):
        rows = [random(length) for length in lengths]
        longest = max(lengths)
        results = []
        for row in rows:
            with torch.no_grad():
                value = model(input_ids=torch.tensor([row]))[result][0]
            if result == "last_hidden_state":
                value = torch.cat([value, torch.zeros(longest - len(row), value.shape[1], dtype=value.dtype)])
            results.append(value)
        cases.add("encode", padded(rows), {result: torch.stack(results)})


def make(name, architecture, config, keys=None, rename=lambda k: k, result=None, attention="eager"):
    folder = ROOT / name
    write_folder(folder, architecture, config, keys or {}, rename)
    # The stored folder defines the results.
    model = getattr(tf, architecture).from_pretrained(folder, dtype=torch.float64, attn_implementation=attention).eval()
    assert model.dtype == torch.float64
    generator = torch.Generator().manual_seed(sum(map(ord, name)))

    def random(length):
        return torch.randint(3, VOCAB, (length,), generator=generator).tolist()

    cases = Cases(folder)
    if result:
        encode_cases(model, cases, random, result)
    else:
        causal_cases(model, cases, random)
    (folder / "cases.json").write_text(json.dumps(
        {"model_class": architecture, "kind": "decoder", "oracle": f"transformers {tf.__version__}, float64",
         "atol": 0.0002, "rtol": 0.0002, "cases": cases.cases}, indent=1) + "\n")
    size = sum(file.stat().st_size for file in folder.iterdir())
    parameters = sum(t.numel() for t in load_file(folder / "model.safetensors").values())
    print(f"{name}: {parameters} parameters, {size} bytes")
    assert size < 200_000, name


def sizes(hidden=40, heads=4, kv=2, wide=56, layers=LAYERS, **more):
    return dict(vocab_size=VOCAB, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                num_key_value_heads=kv, intermediate_size=wide, max_position_embeddings=POSITIONS,
                bos_token_id=1, eos_token_id=2, pad_token_id=None, **more)


def without_kv(**more):
    return {k: v for k, v in sizes(**more).items() if k != "num_key_value_heads"}


@recipe
def qwen3(name):
    make(name, "Qwen3ForCausalLM", tf.Qwen3Config(**sizes(head_dim=14, tie_word_embeddings=True)))


@recipe
def phi3(name):
    make(name, "Phi3ForCausalLM", tf.Phi3Config(**sizes(hidden=48, wide=40, sliding_window=11, rope_parameters={
        "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5})))


@recipe
def gemma(name):
    make(name, "GemmaForCausalLM", tf.GemmaConfig(**sizes(hidden=36, wide=32, head_dim=10)), keys={"hidden_act": "gelu"})


@recipe
def gemma2(name):
    make(name, "Gemma2ForCausalLM", tf.Gemma2Config(**sizes(
        hidden=36, wide=32, layers=4, head_dim=10, query_pre_attn_scalar=22, sliding_window=9,
        attn_logit_softcapping=1.5, final_logit_softcapping=2.0, hidden_activation="gelu_pytorch_tanh")))


@recipe
def gpt_neox(name):
    """Old spellings, and the head by its old name."""
    make(name, "GPTNeoXForCausalLM", tf.GPTNeoXConfig(**without_kv(hidden=48, heads=2, wide=36), rope_parameters={
        "rope_type": "default", "rope_theta": 5000.0, "partial_rotary_factor": 0.25}),
        keys={"rope_parameters": "absent", "rotary_emb_base": 5000, "rotary_pct": 0.25},
        rename=lambda k: k.replace("lm_head", "embed_out"))


@recipe
def gpt_neox_serial(name):
    """An odd rotary share: 3.2 of 8 elements mean 2 pairs, with exponents divided by 3."""
    make(name, "GPTNeoXForCausalLM", tf.GPTNeoXConfig(
        **without_kv(heads=5), use_parallel_residual=False, attention_bias=False, hidden_act="gelu_fast",
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4}))


def opt_config(**more):
    return tf.OPTConfig(vocab_size=VOCAB, hidden_size=40, num_hidden_layers=LAYERS, num_attention_heads=4, ffn_dim=52,
                        max_position_embeddings=POSITIONS, bos_token_id=1, eos_token_id=2, pad_token_id=None, **more)


@recipe
def opt(name):
    make(name, "OPTForCausalLM", opt_config(), rename=lambda k: k.removeprefix("model."))


@recipe
def opt_post_norm(name):
    make(name, "OPTForCausalLM", opt_config(do_layer_norm_before=False, word_embed_proj_dim=24))


@recipe
def llama_scaled(name):
    """A tied head, biases everywhere, a head size that differs from hidden size / heads, Llama 3.1's scaling in its old spelling."""
    scaling = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
               "original_max_position_embeddings": 24}
    make(name, "LlamaForCausalLM", tf.LlamaConfig(**sizes(
        hidden=45, heads=3, kv=1, wide=51, head_dim=18, attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
        rope_parameters={"rope_theta": 500.0, **scaling})),
        keys={"rope_parameters": "absent", "rope_theta": 500.0, "rope_scaling": scaling, "pretraining_tp": 1})


@recipe
def llama_yarn(name):
    make(name, "LlamaForCausalLM", tf.LlamaConfig(**sizes(rope_parameters={
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 24,
        "beta_fast": 4.0, "beta_slow": 1.0})))


@recipe
def llama_linear(name):
    make(name, "LlamaForCausalLM", tf.LlamaConfig(**sizes(rope_parameters={
        "rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5})),
        keys={"rope_parameters": "absent", "rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 2.5}})


@recipe
def llama_classify(name):
    make(name, "LlamaForSequenceClassification", tf.LlamaConfig(**sizes(num_labels=3)), result="logits")


@recipe
def llama_bare(name):
    make(name, "LlamaModel", tf.LlamaConfig(**sizes(kv=4)), result="last_hidden_state")


@recipe
def qwen2_tied(name):
    """The second layer has a window."""
    make(name, "Qwen2ForCausalLM", tf.Qwen2Config(**sizes(
        heads=5, kv=5, tie_word_embeddings=True, use_sliding_window=True, sliding_window=10, max_window_layers=1)),
        keys={"layer_types": "absent"})


@recipe
def gpt2_by_layer(name):
    """Scores by layer, a separate head, tensors without the prefix."""
    make(name, "GPT2LMHeadModel", tf.GPT2Config(
        vocab_size=VOCAB, n_embd=30, n_layer=LAYERS, n_head=3, n_positions=POSITIONS, bos_token_id=1, eos_token_id=2,
        scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False),
        rename=lambda k: k.removeprefix("transformer."))


@recipe
def bloom_six_heads(name):
    make(name, "BloomForCausalLM", tf.BloomConfig(
        vocab_size=VOCAB, hidden_size=30, n_layer=LAYERS, n_head=6, bos_token_id=1, eos_token_id=2,
        apply_residual_connection_post_layernorm=True))


@recipe
def gemma3(name):
    """Old spellings: rope scaling for the layer without a window only, and a separate base for the others."""
    scaling = {"rope_type": "linear", "factor": 4.0}
    make(name, "Gemma3ForCausalLM", tf.Gemma3TextConfig(**sizes(
        hidden=36, wide=32, layers=3, head_dim=10, query_pre_attn_scalar=22, sliding_window=9,
        final_logit_softcapping=2.0, rope_parameters={
            "full_attention": {"rope_theta": 50000.0, **scaling},
            "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}, sliding_window_pattern=3)),
        keys={"rope_parameters": "absent", "layer_types": "absent", "sliding_window_pattern": 3, "rope_theta": 50000.0,
              "rope_local_base_freq": 500.0, "rope_scaling": scaling})


@recipe
def gguf_gemma2(name):
    """As a GGUF file can specify it: scores are scaled by the head size."""
    make("gguf/gemma2", "Gemma2ForCausalLM", tf.Gemma2Config(**sizes(
        hidden=36, wide=32, layers=3, head_dim=12, query_pre_attn_scalar=12, sliding_window=9,
        attn_logit_softcapping=1.5, final_logit_softcapping=2.0, hidden_activation="gelu_pytorch_tanh")))


@recipe
def gguf_gemma3(name):
    """The same family; the sixth layer has no window, and its rope is scaled."""
    make("gguf/gemma3", "Gemma3ForCausalLM", tf.Gemma3TextConfig(**sizes(
        hidden=24, heads=2, kv=1, wide=20, layers=7, head_dim=8, query_pre_attn_scalar=8, sliding_window=9, rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 50000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}})))


@recipe
def olmo2(name):
    make(name, "Olmo2ForCausalLM", tf.Olmo2Config(**sizes()))


@recipe
def granite(name):
    make(name, "GraniteForCausalLM", tf.GraniteConfig(**sizes(
        embedding_multiplier=6.0, residual_multiplier=0.6, attention_multiplier=0.2, logits_scaling=1.5)))


@recipe
def smollm3(name):
    """The third layer has no rope and a window."""
    make(name, "SmolLM3ForCausalLM", tf.SmolLM3Config(**sizes(
        wide=40, layers=3, no_rope_layer_interval=3, use_sliding_window=True, sliding_window=10)),
        keys={"no_rope_layers": "absent", "layer_types": "absent"})


@recipe
def starcoder2(name):
    make(name, "Starcoder2ForCausalLM", tf.Starcoder2Config(**sizes(sliding_window=14)))


@recipe
def cohere(name):
    """Norm weights for each head, stored as one tensor."""
    make(name, "CohereForCausalLM", tf.CohereConfig(**sizes(logit_scale=0.75, use_qk_norm=True)))


@recipe
def stablelm(name):
    """Norm weights for each head, stored by head; parallel layers."""
    make(name, "StableLmForCausalLM", tf.StableLmConfig(**sizes(
        use_qkv_bias=True, qk_layernorm=True, use_parallel_residual=True, rope_parameters={
            "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4})))


@recipe
def phi(name):
    make(name, "PhiForCausalLM", tf.PhiConfig(**sizes(qk_layernorm=True, rope_parameters={
        "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4})))


def falcon_config(**more):
    return tf.FalconConfig(vocab_size=VOCAB, hidden_size=40, num_hidden_layers=LAYERS, num_attention_heads=4,
                           ffn_hidden_size=52, max_position_embeddings=POSITIONS, bos_token_id=1, eos_token_id=2, **more)


@recipe
def falcon(name):
    """The new architecture: two groups of heads, two norms."""
    make(name, "FalconForCausalLM", falcon_config(new_decoder_architecture=True, num_kv_heads=2))


@recipe
def falcon_multi_query(name):
    make(name, "FalconForCausalLM", falcon_config(bias=True))


@recipe
def falcon_alibi(name):
    """Sequential layers, separate keys for each head. With eager attention its class adds ALiBi twice."""
    make(name, "FalconForCausalLM", falcon_config(alibi=True, parallel_attn=False, multi_query=False, bias=True),
         attention="sdpa")


def main():
    for name in sys.argv[1:] or RECIPES:
        RECIPES[name](name)


if __name__ == "__main__":
    main()
