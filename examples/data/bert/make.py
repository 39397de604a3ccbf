"""Makes the checkpoint beside this file, and what is expected of it.

    pip install torch transformers
    python make.py

A BERT of random weights, seeded. The hidden states and their means over the
tokens that count, in expected.json, are those of transformers in float64.
"""

import json
import pathlib

import torch
from transformers import BertConfig, BertModel

HERE = pathlib.Path(__file__).parent


def model():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=96,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=32,
        type_vocab_size=2,
    )
    m = BertModel(config, add_pooling_layer=False)
    for name, p in m.named_parameters():
        norm = "LayerNorm.weight" in name
        scale = 0.2 if norm or "bias" in name else 0.5 if "embeddings" in name else 2.0 / p.shape[-1] ** 0.5
        p.data = torch.randn(p.shape) * scale + (1.0 if norm else 0.0)
    m.save_pretrained(HERE)
    return m.double().eval()


def main():
    m = model()
    ids = torch.randint(0, 96, (3, 10))
    mask = torch.tensor([[1] * 10, [1] * 7 + [0] * 3, [1] * 4 + [0] * 6])
    types = torch.tensor([[0] * 5 + [1] * 5, [0] * 10, [0] * 2 + [1] * 8])
    with torch.no_grad():
        hidden = m(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
    weight = mask.unsqueeze(-1).double()
    mean = (hidden * weight).sum(1) / weight.sum(1)
    expected = {"ids": ids.tolist(), "mask": mask.tolist(), "types": types.tolist()}
    rounded = lambda x: [[round(v, 6) for v in row] for row in x.tolist()]
    expected["mean"], expected["first"] = rounded(mean), rounded(hidden[0])
    (HERE / "expected.json").write_text(json.dumps(expected) + "\n")


main()
