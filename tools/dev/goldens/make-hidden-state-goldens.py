#!/usr/bin/env python3
"""Writes test/goldens/hidden-states: tiny models with tokenizers, and the hidden
states that transformers gives for texts in float64. Needs torch, transformers
and tokenizers; the tests that read the folders do not."""
import json
import pathlib
import shutil

import tokenizers as tk
import torch
import transformers as tf

ROOT = pathlib.Path(__file__).resolve().parents[3] / "test" / "goldens" / "hidden-states"
WORDS = "[PAD] [UNK] [CLS] [SEP] a b c d e f g".split()
TEXTS = ["a b c", "e d d g f a b", "zebra a"]
LAYERS = ["0", "2", "-2", "-1"]
SIZES = {"vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24,
         "max_position_embeddings": 32}


def tokenizer():
    made = tk.Tokenizer(tk.models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = tk.pre_tokenizers.Whitespace()
    made.post_processor = tk.processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tf.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
                                      model_max_length=32)


def save(name, model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, tensor in model.state_dict().items():
            if tensor.is_floating_point():
                noise = torch.randn(tensor.shape, generator=generator)
                is_norm = "norm" in key.lower() and key.endswith("weight")
                tensor.copy_(noise * (0.7 if "embed" in key else tensor.shape[-1] ** -0.5) if tensor.dim() == 2
                             else 1 + 0.15 * noise if is_norm else 0.1 * noise)
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    model = type(model).from_pretrained(folder).double().eval()
    texts = []
    for text in TEXTS:
        given = tokenizer()(text, return_tensors="pt", return_token_type_ids=False)
        with torch.no_grad():
            states = model(**given, output_hidden_states=True).hidden_states
        layers = {layer: [[float(f"{x:.9g}") for x in row] for row in states[int(layer)][0].tolist()] for layer in LAYERS}
        texts.append({"text": text, "ids": given["input_ids"][0].tolist(), "layers": layers})
    lines = ",\n".join("  " + json.dumps(text) for text in texts)
    (folder / "expected.json").write_text(f'{{"oracle": "transformers {tf.__version__}, float64",\n "layers": {json.dumps(LAYERS)},\n'
                                          f' "texts": [\n{lines}\n ]}}\n')


def main():
    save("bert", tf.BertModel(tf.BertConfig(**SIZES)), 1)
    save("modernbert", tf.ModernBertModel(tf.ModernBertConfig(**SIZES, global_attn_every_n_layers=2, local_attention=8, pad_token_id=0,
                                                              bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)), 2)
    save("deberta", tf.DebertaV2Model(tf.DebertaV2Config(**SIZES, relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8,
                                                         norm_rel_ebd="layer_norm", share_att_key=True, conv_kernel_size=3,
                                                         conv_act="gelu", type_vocab_size=0, position_biased_input=False)), 3)
    save("albert-mlm", tf.AlbertForMaskedLM(tf.AlbertConfig(**SIZES, embedding_size=8)), 4)
    save("qwen3", tf.Qwen3ForCausalLM(tf.Qwen3Config(**SIZES, num_key_value_heads=1, head_dim=8)), 5)
    save("t5", tf.T5EncoderModel(tf.T5Config(vocab_size=len(WORDS), d_model=16, d_kv=8, d_ff=24, num_layers=3, num_heads=2, pad_token_id=0)), 6)


if __name__ == "__main__":
    main()
