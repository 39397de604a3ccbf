"""Makes the checkpoint beside this file, and what is expected of it.

    pip install torch transformers tokenizers numpy
    python make.py

A Llama of random weights, seeded, in two files with an index, and a byte-level
BPE tokenizer with Llama 3's pattern. The logits and the greedy continuation in
expected.json are those of transformers in float64; the tokens are those of
tokenizers.
"""

import json
import pathlib

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).parent
WORDS = 320
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEXTS = [
    "The licenses for most software are designed to take away your freedom.",
    "It's 12345 tokens,  isn't IT?\n\n  Indented\t tabs   \n",
    "caf\u00e9 na\u00efve \u65e5\u672c\u8a9e \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \U0001f600 \u00a0nbsp\u3000wide",
    "<|begin_of_text|>twice <|end_of_text|> and on<|end_of_text",
    "",
    " ",
]


def tokenizer():
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    t.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train([str(HERE.parent / "gpl-3.txt")], trainers.BpeTrainer(vocab_size=WORDS - 2, initial_alphabet=alphabet))
    t.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"])
    begin = t.token_to_id("<|begin_of_text|>")
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", begin)]),
    ])
    t.save(str(HERE / "tokenizer.json"))
    return t


def model():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=256,
        rms_norm_eps=1e-5,
        rope_theta=10000.0,
        rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                      "original_max_position_embeddings": 64},
        tie_word_embeddings=False,
        bos_token_id=WORDS - 2,
        eos_token_id=WORDS - 1,
    )
    m = LlamaForCausalLM(config)
    for name, p in m.named_parameters():
        scale = 0.2 if "norm" in name else 0.5 if "embed" in name else 2.0 / p.shape[-1] ** 0.5
        p.data = torch.randn(p.shape) * scale + (1.0 if "norm" in name else 0.0)
    m.save_pretrained(HERE, max_shard_size="80KB")
    (HERE / "generation_config.json").unlink()
    return m.double().eval()


def main():
    t, m = tokenizer(), model()
    ids = t.encode(TEXTS[0]).ids
    with torch.no_grad():
        logits = m(torch.tensor([ids])).logits[0]
        greedy = m.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False)[0, len(ids):].tolist()
    expected = {
        "ids": ids,
        "logits": [[round(x, 6) for x in row] for row in logits[:, ::8].tolist()],
        "greedy": greedy,
        "texts": [{"text": s, "ids": t.encode(s).ids, "decoded": t.decode(t.encode(s).ids)} for s in TEXTS],
    }
    (HERE / "expected.json").write_text(json.dumps(expected) + "\n")


main()
