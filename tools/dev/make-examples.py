#!/usr/bin/env python3
"""Writes the weights, inputs and expected results of the graph.json examples:
random weights from a seed, results computed in float64 from the definitions
in the papers. Texts of the encoder-decoder are those of a Marian model of
transformers with the same weights. Needs torch, safetensors and transformers;
the tests that read the examples do not."""
import json
import math
import pathlib

import torch
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2] / "examples"


class Folder:
    """One example: its random weights and its cases."""

    def __init__(self, name, seed):
        self.path = ROOT / name
        self.generator = torch.Generator().manual_seed(seed)
        self.weights, self.cases = {}, []

    def random(self, *shape, scale=1.0):
        return torch.randn(*shape, generator=self.generator) * scale

    def linear(self, name, into, out):
        self.weights[name + ".weight"] = self.random(out, into, scale=into ** -0.5)
        self.weights[name + ".bias"] = self.random(out, scale=0.1)

    def norm(self, name, width):
        self.weights[name + ".gamma"] = 1 + self.random(width, scale=0.15)
        self.weights[name + ".beta"] = self.random(width, scale=0.1)

    def table(self, name, rows, width, scale=0.7):
        self.weights[name] = self.random(rows, width, scale=scale)

    def __getitem__(self, name):
        return self.weights[name].double()

    def apply_linear(self, x, name):
        return x @ self[name + ".weight"].T + self[name + ".bias"]

    def apply_norm(self, x, name, eps):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self[name + ".gamma"], self[name + ".beta"], eps)

    def case(self, inputs, outputs, entry="run", **more):
        number = sum(case["entry"] == entry for case in self.cases)
        names = [f"{entry}.{number}.{end}.safetensors" for end in ("in", "out")]
        for name, tensors in zip(names, (inputs, outputs)):
            save_file({k: (v.float() if v.dtype == torch.float64 else v).contiguous() for k, v in tensors.items()},
                      self.path / name)
        self.cases.append({"entry": entry, "input": names[0], "expect": names[1], **more})

    def close(self):
        save_file(self.weights, self.path / "model.safetensors")
        (self.path / "cases.json").write_text(json.dumps(
            {"kind": "graph", "oracle": "torch, float64", "atol": 0.0002, "rtol": 0.0002, "cases": self.cases},
            indent=1) + "\n")


def heads(x, count):
    """[batch, seq, count * width] to [batch, count, seq, width]."""
    return x.reshape(*x.shape[:2], count, -1).transpose(1, 2)


def attend(query, key, value, added):
    """Scaled dot-product attention; a row without a visible key is zero."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]) + added
    mixed = torch.nan_to_num(torch.softmax(scores, -1)) @ value
    return mixed.transpose(1, 2).flatten(2)


def hidden_where(visible):
    """What is added to scores so that only visible ones count."""
    return torch.where(visible, 0.0, -math.inf).double()


def decomposed_attention():
    folder = Folder("decomposed-attention", 11)
    folder.table("tokens", 50, 24)
    folder.table("positions", 64, 24)
    for name in ("query", "key", "value", "out"):
        folder.linear(name, 24, 24)
    for batch, seq in ((1, 1), (3, 7), (2, 40)):
        ids = torch.randint(0, 50, (batch, seq), generator=folder.generator)
        query_mask = torch.rand(batch, seq, generator=folder.generator) < 0.8
        key_mask = torch.rand(batch, seq, generator=folder.generator) < 0.7
        tokens = folder["tokens"][ids]
        placed = tokens + folder["positions"][:seq]
        query, key, value = (heads(folder.apply_linear(x, name), 3)
                             for x, name in ((placed, "query"), (placed, "key"), (tokens, "value")))
        visible = query_mask[:, None, :, None] & key_mask[:, None, None, :]
        mixed = attend(query, key, value, hidden_where(visible))
        folder.case({"ids": ids, "query_mask": query_mask, "key_mask": key_mask},
                    {"sum": folder.apply_linear(mixed, "out") + tokens})
    folder.close()


def sinusoid(positions, width):
    """Section 3.5 of the paper: sine in even columns, cosine in odd ones."""
    angle = torch.arange(positions).double()[:, None] / 10000 ** (torch.arange(0, width, 2).double() / width)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


def transformer_encoder():
    folder = Folder("transformer-encoder", 12)
    folder.table("embedding", 60, 32, 0.2)
    for i in range(3):
        for name in ("query", "key", "value", "out"):
            folder.linear(f"layers.{i}.attention.{name}", 32, 32)
        folder.linear(f"layers.{i}.up", 32, 80)
        folder.linear(f"layers.{i}.down", 80, 32)
        for name in ("attention.norm", "norm"):
            folder.norm(f"layers.{i}.{name}", 32)
    for batch, seq in ((1, 1), (3, 9), (2, 70)):
        ids = torch.randint(0, 60, (batch, seq), generator=folder.generator)
        mask = torch.ones(batch, seq, dtype=torch.long)
        if batch > 1:
            mask[1, seq // 2:] = 0
        x = folder["embedding"][ids] * math.sqrt(32) + sinusoid(seq, 32)
        for i in range(3):
            layer = f"layers.{i}."
            query, key, value = (heads(folder.apply_linear(x, layer + "attention." + name), 4)
                                 for name in ("query", "key", "value"))
            mixed = attend(query, key, value, hidden_where(mask.bool()[:, None, None, :]))
            x = folder.apply_norm(x + folder.apply_linear(mixed, layer + "attention.out"),
                                  layer + "attention.norm", 1e-5)
            wide = torch.relu(folder.apply_linear(x, layer + "up"))
            x = folder.apply_norm(x + folder.apply_linear(wide, layer + "down"), layer + "norm", 1e-5)
        folder.case({"ids": ids, "mask": mask}, {"encoded": x * mask[..., None]})
    folder.close()


def pre_norm():
    folder = Folder("pre-norm", 13)
    for i in range(2):
        for name, out in (("query", 16), ("key", 16), ("value", 24)):
            folder.linear(f"layers.{i}.{name}", 20, out)
        folder.linear(f"layers.{i}.out", 24, 20)
        folder.linear(f"layers.{i}.up", 20, 52)
        folder.linear(f"layers.{i}.down", 52, 20)
        folder.norm(f"layers.{i}.norm1", 20)
        folder.norm(f"layers.{i}.norm2", 20)
    folder.norm("norm", 20)
    for batch, seq in ((1, 1), (3, 6), (2, 33)):
        x = folder.random(batch, seq, 20).double()
        added = folder.random(batch, seq, seq).double()
        hidden = torch.rand(batch, seq, seq, generator=folder.generator) < 0.2
        added = added.float().double().masked_fill(hidden, -math.inf)
        inputs = {"x": x.float(), "added": added}
        x = inputs["x"].double()
        for i in range(2):
            layer = f"layers.{i}."
            normed = folder.apply_norm(x, layer + "norm1", 1e-6)
            query, key, value = (heads(folder.apply_linear(normed, layer + name), 2)
                                 for name in ("query", "key", "value"))
            mixed = attend(query, key, value, added[:, None])
            x = x + folder.apply_linear(mixed, layer + "out")
            wide = torch.nn.functional.gelu(folder.apply_linear(folder.apply_norm(x, layer + "norm2", 1e-6),
                                                                layer + "up"))
            x = x + folder.apply_linear(wide, layer + "down")
        folder.case(inputs, {"encoded": folder.apply_norm(x, "norm", 1e-6)})
    folder.close()


def turned(x, width, theta=10000):
    """Rotary positions on pairs (2i, 2i+1) of the first `width` numbers of [heads, seq, numbers]."""
    angle = torch.arange(x.shape[1]).double()[:, None] * theta ** (-torch.arange(0, width, 2).double() / width)
    a, b = x[..., 0:width:2], x[..., 1:width:2]
    pairs = torch.stack((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1).flatten(-2)
    return torch.cat((pairs, x[..., width:]), -1)


def rms(folder, x, name):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * folder[name]


def decoder_layer(folder, x, layer, window):
    """Grouped heads over the last `window` positions, then a gated feed-forward."""
    normed = rms(folder, x, layer + "norm1")
    query, key, value = ((normed @ folder[layer + name].T).reshape(len(x), count, 8).transpose(0, 1)
                         for name, count in (("query", 4), ("key", 2), ("value", 2)))
    query, key = turned(query, 4), turned(key, 4).repeat_interleave(2, 0)
    distance = torch.arange(len(x))[:, None] - torch.arange(len(x))
    added = hidden_where((distance >= 0) & (distance < window))
    scores = query @ key.transpose(-1, -2) / math.sqrt(8) + added
    mixed = (torch.softmax(scores, -1) @ value.repeat_interleave(2, 0)).transpose(0, 1).flatten(1)
    x = x + mixed @ folder[layer + "out"].T
    normed = rms(folder, x, layer + "norm2")
    gate = torch.nn.functional.silu(normed @ folder[layer + "gate"].T)
    return x + (gate * (normed @ folder[layer + "up"].T)) @ folder[layer + "down"].T


def decoder():
    folder = Folder("decoder", 14)
    folder.table("embedding", 50, 24, 0.3)
    for i in range(2):
        for name, into, out in (("query", 24, 32), ("key", 24, 16), ("value", 24, 16), ("out", 32, 24),
                                ("gate", 24, 40), ("up", 24, 40), ("down", 40, 24)):
            folder.weights[f"layers.{i}.{name}"] = folder.random(out, into, scale=into ** -0.5)
        for name in ("norm1", "norm2"):
            folder.weights[f"layers.{i}.{name}"] = 1 + folder.random(24, scale=0.15)
    folder.weights["norm"] = 1 + folder.random(24, scale=0.15)

    def logits(ids):
        x = folder["embedding"][torch.tensor(ids)]
        for i in range(2):
            x = decoder_layer(folder, x, f"layers.{i}.", 12)
        return rms(folder, x, "norm") @ folder["embedding"].T

    def text(length):
        return torch.randint(0, 50, (length,), generator=folder.generator).tolist()

    for batch, seq in ((1, 1), (3, 9), (1, 60)):
        ids = [text(seq) for _ in range(batch)]
        folder.case({"input_ids": torch.tensor(ids)}, {"logits": torch.stack([logits(row) for row in ids])}, "logits")
    gap = 0
    while gap < 2e-3:
        prompt, gap = text(5), math.inf
        ids = list(prompt)
        for _ in range(20):
            best = torch.topk(logits(ids)[-1], 2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            ids.append(int(best.indices[0]))
    folder.case({"input_ids": torch.tensor([prompt])}, {"output_ids": torch.tensor([ids[5:]])}, "generate",
                max_new_tokens=20, sampling="greedy, end token ignored", smallest_top2_gap=gap)
    ids = text(15)
    found = torch.log_softmax(logits(ids)[:-1], -1).gather(1, torch.tensor(ids[1:])[:, None]).T
    folder.case({"input_ids": torch.tensor([ids])}, {"logprobs": found}, "score")
    folder.close()


def post_norm(folder, x, change, norm):
    return folder.apply_norm(x + change, norm, 1e-5)


def transformer_layer(folder, x, layer, added, states=None, seen=None):
    """Attention to x, in a decoder also to the encoder's states, and a feed-forward, each with its sum and norm."""
    for name, read, hidden in (("self", None, added), ("cross", states, seen)):
        if name == "cross" and states is None:
            continue
        keys = x if read is None else read
        query, key, value = (heads(folder.apply_linear(of, f"{layer}{name}.{which}"), 4)
                             for of, which in ((x, "query"), (keys, "key"), (keys, "value")))
        mixed = folder.apply_linear(attend(query, key, value, hidden), f"{layer}{name}.out")
        x = post_norm(folder, x, mixed, f"{layer}{name}.norm")
    wide = torch.relu(folder.apply_linear(x, layer + "feed_forward.up"))
    return post_norm(folder, x, folder.apply_linear(wide, layer + "feed_forward.down"), layer + "feed_forward.norm")


class Transformer:
    """Attention Is All You Need: three encoder layers, two decoder layers, width 32, four heads."""

    VOCABULARY, WIDTH, LAYERS = 50, 32, {"encoder": 3, "decoder": 2}
    PAD, START, END = 0, 1, 2

    def __init__(self, folder):
        self.folder = folder
        folder.table("embedding", self.VOCABULARY, self.WIDTH, 0.25)
        for half, count in self.LAYERS.items():
            for i in range(count):
                for attention in ("self", "cross") if half == "decoder" else ("self",):
                    for name in ("query", "key", "value", "out"):
                        folder.linear(f"{half}.{i}.{attention}.{name}", 32, 32)
                    folder.norm(f"{half}.{i}.{attention}.norm", 32)
                folder.linear(f"{half}.{i}.feed_forward.up", 32, 72)
                folder.linear(f"{half}.{i}.feed_forward.down", 72, 32)
                folder.norm(f"{half}.{i}.feed_forward.norm", 32)
        # Texts of small weights, or of embeddings of different length, repeat one token.
        folder.weights["embedding"] *= 1.4 / folder.weights["embedding"].norm(dim=1, keepdim=True)
        for name, tensor in folder.weights.items():
            if name.endswith((".query.weight", ".key.weight", ".out.weight", ".down.weight")):
                tensor *= 2.5
            elif name.endswith((".bias", ".beta")):
                tensor *= 0.3

    def embed(self, ids):
        return self.folder["embedding"][ids] * math.sqrt(self.WIDTH) + sinusoid(ids.shape[1], self.WIDTH)

    def encode(self, ids, mask):
        x = self.embed(ids)
        for i in range(self.LAYERS["encoder"]):
            x = transformer_layer(self.folder, x, f"encoder.{i}.", hidden_where(mask.bool()[:, None, None, :]))
        return x * mask[..., None]

    def logits(self, ids, mask, target):
        states, x = self.encode(ids, mask), self.embed(target)
        causal = hidden_where(torch.ones(target.shape[1], target.shape[1]).tril().bool())
        for i in range(self.LAYERS["decoder"]):
            x = transformer_layer(self.folder, x, f"decoder.{i}.", causal, states,
                                  hidden_where(mask.bool()[:, None, None, :]))
        return x @ self.folder["embedding"].T

    def marian(self):
        """The same model of transformers, whose table of positions is replaced by that of the paper."""
        import transformers
        config = transformers.MarianConfig(
            vocab_size=self.VOCABULARY, d_model=self.WIDTH, encoder_layers=3, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=72, decoder_ffn_dim=72, max_position_embeddings=64,
            activation_function="relu", scale_embedding=True, pad_token_id=self.PAD, eos_token_id=self.END,
            bos_token_id=self.START, decoder_start_token_id=self.START, forced_eos_token_id=None)
        model = transformers.MarianMTModel(config).double().eval()
        state = model.state_dict()
        mine = {"self_attn.": "self.", "encoder_attn.": "cross.", "self_attn_layer_norm": "self.norm",
                "encoder_attn_layer_norm": "cross.norm", "final_layer_norm": "feed_forward.norm",
                "fc1": "feed_forward.up", "fc2": "feed_forward.down", "q_proj": "query", "k_proj": "key",
                "v_proj": "value", "out_proj": "out"}
        for name in state:
            if "embed_positions" in name:
                state[name] = sinusoid(64, self.WIDTH)
            elif name.endswith(("shared.weight", "embed_tokens.weight", "lm_head.weight")):
                state[name] = self.folder["embedding"]
            elif name == "final_logits_bias":
                state[name] = torch.zeros_like(state[name])
            else:
                own = name.removeprefix("model.").replace(".layers.", ".")
                for theirs, ours in mine.items():
                    own = own.replace(theirs, ours)
                if ".norm." in own:
                    own = own.replace(".weight", ".gamma").replace(".bias", ".beta")
                state[name] = self.folder[own]
        model.load_state_dict(state)
        return model

    def sources(self, lengths):
        """Rows of random tokens, padded."""
        ids = torch.full((len(lengths), max(lengths)), self.PAD)
        for row, length in enumerate(lengths):
            ids[row, :length] = torch.randint(3, self.VOCABULARY, (length,), generator=self.folder.generator)
        return ids, torch.tensor([[int(i < length) for i in range(max(lengths))] for length in lengths])

    def generate(self, model, count, **flags):
        """Texts whose choices are far from ties, in float64 and in float32."""
        while True:
            ids, mask = self.sources((6, 19, 11))
            found, single = (m.generate(input_ids=ids, attention_mask=mask, do_sample=False, output_scores=True,
                                        return_dict_in_generate=True, **flags) for m in (model, self.single))
            if flags.get("num_beams", 1) == 1:
                gap = min(float(step.topk(2).values.diff(dim=-1).abs().min()) for step in found.scores)
            else:
                gap = float(found.sequences_scores.reshape(3, count).diff(dim=-1).abs().min())
            varied = len(set(found.sequences.flatten().tolist())) > 9
            if gap > 1e-3 and varied and torch.equal(found.sequences, single.sequences):
                return {"input_ids": ids, "attention_mask": mask}, found


def transformer():
    folder = Folder("transformer", 15)
    made = Transformer(folder)
    model = made.marian()
    made.single = made.marian().float()
    for lengths, columns in (((1,), 64), ((9, 4, 7), 13), ((33, 20), 24)):
        ids, mask = made.sources(lengths)
        given = {"input_ids": ids, "attention_mask": mask}
        folder.case(given, {"last_hidden_state": made.encode(ids, mask)}, "encode")
        target, _ = made.sources((columns,) * len(lengths))
        found = made.logits(ids, mask, target)
        assert torch.allclose(found, model(**given, decoder_input_ids=target).logits, atol=1e-9, rtol=0)
        folder.case({**given, "decoder_input_ids": target}, {"logits": found}, "logits")
        if lengths[0] == 9:
            labels = target.roll(-1, 1)
            begun = torch.cat((torch.full((3, 1), made.START), labels[:, :-1]), 1)
            scores = torch.log_softmax(made.logits(ids, mask, begun), -1).gather(2, labels[..., None])[..., 0]
            folder.case({**given, "labels": labels}, {"logprobs": scores}, "score")
    given, found = made.generate(model, 1, num_beams=1, max_new_tokens=20, min_new_tokens=20,
                                no_repeat_ngram_size=2)
    folder.case(given, {"output_ids": found.sequences[:, 1:]}, "generate", max_new_tokens=20,
                no_repeat_ngram_size=2, sampling=f"greedy, the end token (id {made.END}) may not be chosen")
    flags = dict(num_beams=4, num_return_sequences=3, max_new_tokens=12, min_new_tokens=3, length_penalty=0.6,
                 early_stopping=False, no_repeat_ngram_size=3)
    given, found = made.generate(model, 3, **flags)
    folder.case(given, {"output_ids": found.sequences[:, 1:], "scores": found.sequences_scores}, "generate_beam", **flags)
    folder.close()


if __name__ == "__main__":
    decomposed_attention()
    transformer_encoder()
    pre_norm()
    decoder()
    transformer()
