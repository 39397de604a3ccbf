"""Makes small models of random weights with transformers, and what they answer.

    python hf_models.py OUT

OUT/NAME is a folder as save_pretrained writes it, with expected.safetensors beside:
the inputs that a model was given (ids, mask, pixels, frames, decoder_ids), what it made
of them in float32 (logits or hidden), and greedy, the ids that follow those of start.
NAME-old has config.json as transformers wrote it before version 5, and BERT's norms as
before version 1.
"""
import copy
import json
import os
import pathlib
import shutil
import sys

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is fetched
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

WORDS, LENGTH, COUNT = 90, 21, 8
SIZES = dict(vocab_size=WORDS, hidden_size=32, intermediate_size=44, num_hidden_layers=3, num_attention_heads=4,
             max_position_embeddings=64, pad_token_id=None, bos_token_id=None, eos_token_id=None)
TEXT = {**SIZES, "pad_token_id": 1, "type_vocab_size": 2}
OLD = ["llama-yarn", "llama-linear", "llama-longrope", "gemma2", "gemma3", "qwen2-window", "phi3-window", "gpt_neox", "bert", "modernbert"]


def llama(cls="Llama", **kw):
    return cls + "ForCausalLM", {**SIZES, "num_key_value_heads": 4, "tie_word_embeddings": False, **kw}


def rope(kind, **kw):
    return llama(rope_parameters={"rope_type": kind, "rope_theta": 10000.0, **kw}, max_position_embeddings=16)


LONG, SHORT = [1.0, 1.5, 3.0, 4.0], [1.0, 1.1, 1.2, 1.3]  # of the pairs of a head of 8 numbers
T5 = dict(vocab_size=WORDS, d_model=32, d_kv=6, d_ff=44, num_layers=2, num_heads=4, relative_attention_num_buckets=8,
          relative_attention_max_distance=16, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
CASES = {
    "llama": llama(),
    "llama-groups": llama(num_attention_heads=8, num_key_value_heads=2, head_dim=6),
    "llama-biases": llama(attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    "llama-bfloat16": llama(),
    "llama-apart": llama(),
    "llama-head": llama(tie_word_embeddings=True),
    "llama-linear": rope("linear", factor=4.0),
    "llama-dynamic": rope("dynamic", factor=4.0),
    "llama-yarn": rope("yarn", factor=4.0, original_max_position_embeddings=16),
    "llama-yarn-scales": rope("yarn", factor=8.0, original_max_position_embeddings=16, mscale=0.8, mscale_all_dim=0.5, beta_fast=8.0, beta_slow=2.0, truncate=False),
    "llama-longrope": rope("longrope", factor=4.0, original_max_position_embeddings=16, long_factor=LONG, short_factor=SHORT),
    "llama-longrope-short": rope("longrope", factor=4.0, original_max_position_embeddings=60, long_factor=LONG, short_factor=SHORT),
    "llama-llama3": rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16),
    "mistral": llama("Mistral", sliding_window=7, num_key_value_heads=2),
    "qwen2": llama("Qwen2", num_key_value_heads=2),
    "qwen2-window": llama("Qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=1, tie_word_embeddings=True),
    "qwen3": llama("Qwen3", head_dim=10, num_key_value_heads=2),
    "gemma": llama("Gemma", head_dim=10, num_key_value_heads=1, tie_word_embeddings=True),
    "gemma2": llama("Gemma2", head_dim=10, num_key_value_heads=2, tie_word_embeddings=True, sliding_window=6, query_pre_attn_scalar=20,
                    attn_logit_softcapping=3.0, final_logit_softcapping=2.0),
    "gemma3": llama("Gemma3", head_dim=8, num_key_value_heads=1, tie_word_embeddings=True, sliding_window=5, query_pre_attn_scalar=12, attention_bias=True,
                    rope_parameters={"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 5000.0},
                                     "sliding_attention": {"rope_type": "default", "rope_theta": 300.0}}, sliding_window_pattern=3),
    "phi3": llama("Phi3", num_key_value_heads=2),
    "phi3-window": llama("Phi3", sliding_window=6, original_max_position_embeddings=16,
                         rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 16, "partial_rotary_factor": 1.0,
                                          "long_factor": LONG, "short_factor": SHORT}),
    "olmo2": llama("Olmo2", num_key_value_heads=2),
    "mixtral": llama("Mixtral", num_local_experts=5, num_experts_per_tok=2, num_key_value_heads=2),
    "gpt2": ("GPT2LMHeadModel", dict(vocab_size=WORDS, n_embd=32, n_layer=3, n_head=4, n_positions=64, bos_token_id=None, eos_token_id=None)),
    "gpt2-scales": ("GPT2LMHeadModel", dict(vocab_size=WORDS, n_embd=32, n_layer=3, n_head=4, n_positions=64, bos_token_id=None, eos_token_id=None, n_inner=50,
                                            scale_attn_weights=False, scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False)),
    "gpt_neox": ("GPTNeoXForCausalLM", {**SIZES, "rotary_pct": 0.5, "hidden_act": "gelu"}),
    "gpt_neox-serial": ("GPTNeoXForCausalLM", {**SIZES, "rotary_pct": 0.25, "use_parallel_residual": False, "hidden_act": "gelu_new"}),
    "bert": ("BertForMaskedLM", TEXT),
    "bert-hidden": ("BertModel", TEXT),
    "bert-untied": ("BertForMaskedLM", {**TEXT, "tie_word_embeddings": False}),
    "bert-classes": ("BertForSequenceClassification", {**TEXT, "num_labels": 3}),
    "bert-tokens": ("BertForTokenClassification", {**TEXT, "num_labels": 5}),
    "roberta": ("RobertaForMaskedLM", TEXT),
    "roberta-classes": ("RobertaForSequenceClassification", {**TEXT, "num_labels": 3}),
    "roberta-tokens": ("RobertaForTokenClassification", {**TEXT, "num_labels": 5}),
    "distilbert-classes": ("DistilBertForSequenceClassification", dict(vocab_size=WORDS, dim=32, hidden_dim=44, n_layers=3, n_heads=4, max_position_embeddings=64, num_labels=2)),
    "distilbert-answers": ("DistilBertForQuestionAnswering", dict(vocab_size=WORDS, dim=32, hidden_dim=44, n_layers=3, n_heads=4, max_position_embeddings=64)),
    "distilbert": ("DistilBertForMaskedLM", dict(vocab_size=WORDS, dim=32, hidden_dim=44, n_layers=3, n_heads=4, max_position_embeddings=64)),
    "modernbert": ("ModernBertForMaskedLM", {**SIZES, "local_attention": 6, "global_attn_every_n_layers": 2, "pad_token_id": 1, "cls_token_id": None, "sep_token_id": None}),
    "modernbert-untied": ("ModernBertForMaskedLM", {**SIZES, "local_attention": 6, "pad_token_id": 1, "cls_token_id": None, "sep_token_id": None, "tie_word_embeddings": False,
                                                    "decoder_bias": False, "attention_bias": True, "mlp_bias": True, "norm_bias": True, "classifier_bias": True}),
    "t5": ("T5ForConditionalGeneration", {**T5, "feed_forward_proj": "relu"}),
    "t5-gated": ("T5ForConditionalGeneration", {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "t5-encoder": ("T5EncoderModel", {**T5, "feed_forward_proj": "gated-gelu"}),
    "vit": ("ViTForImageClassification", dict(hidden_size=32, intermediate_size=44, num_hidden_layers=3, num_attention_heads=4, image_size=12, patch_size=4, num_labels=7)),
    "vit-bare": ("ViTModel", dict(hidden_size=32, intermediate_size=44, num_hidden_layers=3, num_attention_heads=4, image_size=12, patch_size=4, qkv_bias=False)),
    "whisper": ("WhisperForConditionalGeneration", dict(
        vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=44,
        decoder_ffn_dim=44, num_mel_bins=8, max_source_positions=10, max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None, scale_embedding=True)),
}


def make(name):
    """The model of a case, its weights such that what it makes has sizes of about 1."""
    kind, sizes = CASES[name]
    cls = getattr(hf, kind)
    torch.manual_seed(sorted(CASES).index(name))
    model = cls._from_config(cls.config_class(**copy.deepcopy(sizes)), attn_implementation="eager")
    plus = 1.0 if not name.startswith("gemma") else 0.0
    for path, p in model.named_parameters():
        noise = torch.randn(p.shape)
        if p.ndim == 1:
            p.data = 0.2 * noise + (plus if path.endswith("weight") else 0.0)
        elif "embed" in path or "wte" in path or "shared" in path or "relative" in path:
            p.data = 0.7 * noise
        else:
            p.data = noise * (0.9 if name.startswith("t5") else 1.4) / p.shape[-2 if name == "gpt2" else -1] ** 0.5
    if "bfloat16" in name:  # its files hold what float32 rounds to
        model.bfloat16()
    return model.eval()


def inputs(config):
    """What a model is asked: two sequences or images."""
    ids = torch.randint(3, WORDS, (2, LENGTH))
    mask = torch.ones_like(ids)
    if config.model_type == "vit":
        return {"pixels": torch.randn(2, 3, 12, 12)}
    if config.model_type == "whisper":
        return {"frames": torch.randn(2, 8, 20), "decoder_ids": torch.randint(3, WORDS, (2, 6))}
    if config.model_type in ("t5", "bert", "roberta", "distilbert", "modernbert"):
        mask[1, 13:] = 0
        ids[1, 13:] = config.pad_token_id
    if config.model_type == "t5" and config.is_encoder_decoder:
        return {"ids": ids, "mask": mask, "decoder_ids": torch.randint(3, WORDS, (2, 6))}
    return {"ids": ids, "mask": mask} if (mask == 0).any() else {"ids": ids}


NAMES = {"ids": "input_ids", "mask": "attention_mask", "pixels": "pixel_values", "frames": "input_features", "decoder_ids": "decoder_input_ids"}


def answers(model, given):
    """What a model makes of what it is given, and the likeliest ids behind some."""
    named = {NAMES[k]: v for k, v in given.items()}
    out = model(**named, use_cache=False) if "decoder_ids" in given else model(**named)
    if hasattr(out, "start_logits"):
        return {"logits": torch.stack([out.start_logits, out.end_logits], -1)}
    found = {"logits": out.logits} if hasattr(out, "logits") else {"hidden": out.last_hidden_state}
    if "decoder_ids" in given:
        key, ids = "decoder_input_ids", given["decoder_ids"][:1, :1]
    elif "CausalLM" in type(model).__name__ or "LMHead" in type(model).__name__:
        key, ids = "input_ids", given["ids"][:1, :10]
    else:
        return found
    rest = {k: v[:1] for k, v in named.items() if k != key}
    # Where longrope's factors change, Phi-3 computes everything anew: so does this, always.
    whole = "longrope" in json.dumps(model.config.to_dict())
    start, cache, greedy = ids[0], None, []
    for _ in range(COUNT):
        out = model(**{key: ids}, **rest, past_key_values=cache, use_cache=not whole)
        greedy.append(out.logits[0, -1].argmax())
        cache = None if whole else out.past_key_values
        ids = torch.cat([ids, greedy[-1].reshape(1, 1)], 1) if whole else greedy[-1].reshape(1, 1)
    return {**found, "start": start.clone(), "greedy": torch.stack(greedy)}


def old(config):
    """config.json as it was before rope_parameters, layer_types and dtype were in it."""
    ropes = config.pop("rope_parameters", None)
    config.pop("layer_types", None)
    config["torch_dtype"] = config.pop("dtype")
    if config["model_type"] == "modernbert":
        return {**config, "global_rope_theta": ropes["full_attention"]["rope_theta"], "local_rope_theta": ropes["sliding_attention"]["rope_theta"]}
    if not ropes:
        return config
    if config["model_type"] == "gemma3_text":
        full = ropes["full_attention"]
        return {**config, "rope_theta": full.pop("rope_theta"), "rope_scaling": full, "rope_local_base_freq": ropes["sliding_attention"]["rope_theta"],
                "sliding_window_pattern": config.pop("_sliding_window_pattern")}
    share, theta, kind = ropes.pop("partial_rotary_factor", None), ropes.pop("rope_theta"), ropes.pop("rope_type")
    if config["model_type"] == "gpt_neox":
        return {**config, "rotary_pct": share, "rotary_emb_base": theta}
    if kind == "longrope":
        ropes.pop("original_max_position_embeddings")
    return {**config, "rope_theta": theta, "rope_scaling": None if kind == "default" else {"type": kind, **ropes}}


def tie(folder, one):
    """Says that embeddings and head are one: both then are in the file, though they differ, or the head alone."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "tie_word_embeddings": True}))
    path = folder / "model.safetensors"
    tensors = load_file(path)
    if one:
        tensors["lm_head.weight"] = tensors.pop("model.embed_tokens.weight")
    save_file(tensors, path, metadata={"format": "pt"})


def main():
    out = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    for name in sys.argv[2:] or CASES:
        model, folder = make(name), out / name
        model.save_pretrained(folder, **({"max_shard_size": "30KB"} if name in ("llama", "t5") else {}))
        if name in ("llama-apart", "llama-head"):
            tie(folder, name == "llama-head")
        if model.dtype != torch.float32 or name == "llama-apart":
            model = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        given = inputs(model.config)
        with torch.no_grad():
            found = answers(model, given)
        save_file({k: v.contiguous() for k, v in {**given, **found}.items()}, folder / "expected.safetensors")
        if name in OLD:
            shutil.copytree(folder, out / (name + "-old"))
            path = out / (name + "-old") / "config.json"
            path.write_text(json.dumps(old(json.loads(path.read_text()))))
            path = path.with_name("model.safetensors")
            rename = lambda k: k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            save_file({rename(k): v for k, v in load_file(path).items()}, path)


if __name__ == "__main__":
    main()
