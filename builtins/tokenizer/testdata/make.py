"""Makes tokenizers of many kinds, and what the tokenizers library makes of texts.

    pip install tokenizers sentencepiece
    python make.py            # kinds.json.gz, of some of the texts
    python make.py --all DIR  # DIR/kinds.json.gz, of all of them

The kinds are put together as the tokenizers of published models are, and are
trained on the texts themselves and on a part of the GPL.
"""

import base64
import gzip
import json
import pathlib
import sys
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from texts import TEXTS
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
GPL = (HERE.parents[2] / "examples" / "data" / "gpl-3.txt").read_text().splitlines()[:120]
CORPUS = [t for t in TEXTS for _ in range(3)] + GPL
N, P, D, S = normalizers, pre_tokenizers, decoders, processors

GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = GPT4.replace("{1,3}", "")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = [
    r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
]
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"
BYTES = [f"<0x{b:02X}>" for b in range(256)]


RULES = [("\u00c5", "A\u030a"), ("e\u0301", "\u00e9"), ("\ufb01", "fi"), ("\uff21", "A"), ("\u3000", " "), ("\u200b", ""), ("\u2460", "1"),
         ("\t", " "), ("\n", " "), ("\u304b\u3099", "\u304c"), ("a\u0300", "\u00e0"), ("\u00bd", "1\u20442"), ("\r", "")]


def sentencepieces(rule, **args):
    """A model of SentencePiece; without a rule it normalizes by a few of ours."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "text").write_text("\n".join(GPL))
        rows = ["\t".join(" ".join(f"{ord(c):x}" for c in s) for s in pair) for pair in RULES]
        (folder / "rules").write_text("\n".join(rows) + "\n")
        by = {"normalization_rule_name": rule} if rule else {"normalization_rule_tsv": str(folder / "rules")}
        sentencepiece.SentencePieceTrainer.train(input=str(folder / "text"), model_prefix=str(folder / "m"), minloglevel=2, **by, **args)
        return (folder / "m.model").read_bytes()


def charsmap(rule=None):
    """The table of a rule of SentencePiece: nmt_nfkc is large, ours small."""
    m = sentencepiece_model_pb2.ModelProto()
    m.ParseFromString(sentencepieces(rule, vocab_size=100))
    return m.normalizer_spec.precompiled_charsmap


MODELS = {
    "unigram": lambda: sentencepieces("nmt_nfkc" if ALL else None, vocab_size=200, user_defined_symbols=["<sep>"]),
    "unigram-bytes": lambda: sentencepieces("identity", vocab_size=500, byte_fallback=True),
    "bpe": lambda: sentencepieces("nmt_nfkc_cf" if ALL else None, model_type="bpe", vocab_size=300),
    "bpe-bytes": lambda: sentencepieces("identity", model_type="bpe", vocab_size=600, byte_fallback=True, remove_extra_whitespaces=False),
    "bpe-bare": lambda: sentencepieces("identity", model_type="bpe", vocab_size=300, add_dummy_prefix=False),
}


def model_cases(texts):
    """What SentencePiece makes of texts that have none of its own tokens in them."""
    out = {}
    for name, make in MODELS.items():
        data = make()
        sp = sentencepiece.SentencePieceProcessor(model_proto=data)
        fit = [t for t in texts if not any(s in t for s in ["<s>", "</s>", "<unk>", "<0x", "\x00"])]
        cases = [{"text": t, "ids": sp.encode(t), "decoded": None if 0 in sp.encode(t) else sp.decode(sp.encode(t))} for t in fit]
        out[name] = {"model": base64.b64encode(data).decode(), "size": sp.vocab_size(), "cases": cases}
    return out


def precompiled():
    return N.Precompiled(charsmap("nmt_nfkc" if ALL else None))


def bytelevel(prefix=False, regex=True):
    return P.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def split(pattern, behavior="isolated", invert=False):
    return P.Split(Regex(pattern), behavior, invert)


def then_bytes(*steps):
    return P.Sequence([*steps, bytelevel(regex=False)])


def bpe(pre=None, norm=None, dec=None, post=None, size=500, alphabet=None, special=(), **model):
    """A BPE; those of bytes have all of them."""
    train = dict(vocab_size=size, show_progress=False, special_tokens=list(special))
    if alphabet is None:
        train["initial_alphabet"] = bytelevel().alphabet()
    else:
        train["limit_alphabet"] = alphabet
    for k in ["end_of_word_suffix", "continuing_subword_prefix"]:
        if model.get(k):
            train[k] = model[k]
    return build(models.BPE(**model), trainers.BpeTrainer(**train), pre, norm, dec, post)


def unigram(pre=None, norm=None, dec=None, post=None, size=1200, fallback=False):
    special = ["<pad>", "<unk>"] + (BYTES if fallback else [])
    train = trainers.UnigramTrainer(vocab_size=size + len(special), special_tokens=special, unk_token="<unk>", show_progress=False)
    t = build(models.Unigram(), train, pre, norm, dec, None)
    f = json.loads(t.to_str())
    f["model"]["byte_fallback"] = fallback
    f["model"]["vocab"] = f["model"]["vocab"][:300 + len(special)]  # few, so that there is what is unknown
    f["model"]["vocab"] = [e for e in f["model"]["vocab"] if e[0] not in ("<s>", "<sep>")]
    f["added_tokens"] = [a for a in f["added_tokens"] if a["id"] < 2]
    return add(Tokenizer.from_str(json.dumps(f)), post)


def wordpiece(norm, size=600, **kw):
    train = trainers.WordPieceTrainer(vocab_size=size, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], limit_alphabet=150)
    post = lambda t: S.TemplateProcessing(single="[CLS]:0 $A:0 [SEP]:0", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return build(models.WordPiece(unk_token="[UNK]", **kw), train, P.BertPreTokenizer(), norm, D.WordPiece(), post)


def build(model, trainer, pre, norm, dec, post):
    t = Tokenizer(model)
    if pre:
        t.pre_tokenizer = pre
    if norm:
        t.normalizer = norm
    if dec:
        t.decoder = dec
    t.train_from_iterator(CORPUS, trainer)
    f = json.loads(t.to_str())
    f["added_tokens"] = [a for a in f["added_tokens"] if a["content"] not in BYTES]
    return add(Tokenizer.from_str(json.dumps(f)), post)


def add(t, post):
    t.add_special_tokens(["<s>", "<sep>", AddedToken("[MASK]", lstrip=True, normalized=False, special=True)])
    t.add_tokens([
        AddedToken("<left>", lstrip=True), AddedToken("<right>", rstrip=True), AddedToken("<both>", lstrip=True, rstrip=True, normalized=False),
        AddedToken("word", single_word=True), AddedToken("<Mixed>"), AddedToken("<\u00e9>"), AddedToken("wordword", normalized=False),
    ])
    if post:
        t.post_processor = post(t)
    return t


def ends(pre=None, norm=None):
    """A tokenizer of characters that shows where words end."""
    return bpe(pre, norm, D.BPEDecoder(), size=700, alphabet=300, unk_token="<unk>", special=["<unk>"], end_of_word_suffix="</w>")


def template(single):
    def make(t):
        return S.TemplateProcessing(single=single, special_tokens=[(s, t.token_to_id(s)) for s in ["<s>", "<sep>"]])
    return make


def pair(kind):
    return lambda t: kind(("<sep>", t.token_to_id("<sep>")), ("<s>", t.token_to_id("<s>")))


def changed(t, **parts):
    f = json.loads(t.to_str())
    for k, v in parts.items():
        f["model"][k] = v
    return Tokenizer.from_str(json.dumps(f))


LLAMA2 = D.Sequence([D.Replace("\u2581", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])
fallback = dict(alphabet=150, special=["<unk>"] + BYTES, size=600, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
byte = D.ByteLevel()

KINDS = {
    # As the tokenizers of published models are.
    "gpt2": lambda: bpe(bytelevel(), dec=byte, post=lambda t: S.ByteLevel(trim_offsets=False)),
    "roberta": lambda: bpe(bytelevel(), dec=byte, post=pair(S.RobertaProcessing)),
    "neox": lambda: bpe(bytelevel(), N.NFC(), byte),
    "olmo": lambda: bpe(then_bytes(split(GPT4)), dec=byte, post=template("$A <sep>")),
    "qwen2": lambda: bpe(then_bytes(split(QWEN)), N.NFC(), byte, lambda t: S.ByteLevel()),
    "llama3": lambda: changed(bpe(then_bytes(split(GPT4)), dec=byte, post=lambda t: S.Sequence([S.ByteLevel(), template("<s> $A")(t)])), ignore_merges=True),
    "o200k": lambda: bpe(then_bytes(split(O200K)), dec=byte),
    "deepseek": lambda: bpe(then_bytes(*map(split, DEEPSEEK)), N.Sequence([]), byte, template("<s> $A")),
    "modernbert": lambda: bpe(bytelevel(), N.NFC(), byte, template("<s> $A <sep>")),
    "falcon": lambda: bpe(P.Sequence([P.Punctuation("contiguous"), bytelevel(), P.Digits(False), split("[0-9][0-9][0-9]")]), dec=byte),
    "starcoder": lambda: bpe(P.Sequence([P.Digits(True), bytelevel()]), dec=byte),
    "bloom": lambda: bpe(then_bytes(split(BLOOM)), dec=byte),
    "clip": lambda: bpe(
        P.Sequence([split(CLIP, "removed", True), bytelevel()]), N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "), N.Lowercase()]), byte,
        pair(S.RobertaProcessing), unk_token="<unk>", special=["<unk>"], end_of_word_suffix="</w>"),
    "openai-gpt": lambda: bpe(P.BertPreTokenizer(), N.BertNormalizer(), D.BPEDecoder(), alphabet=150, unk_token="<unk>", special=["<unk>"], end_of_word_suffix="</w>"),
    "llama2": lambda: bpe(None, N.Sequence([N.Prepend("\u2581"), N.Replace(" ", "\u2581")]), LLAMA2, template("<s> $A"), **fallback),
    "mistral": lambda: bpe(P.Metaspace(prepend_scheme="first", split=False), None, LLAMA2, template("<s> $A"), **fallback),
    "gemma": lambda: bpe(P.Split(" ", "merged_with_previous"), N.Replace(" ", "\u2581"), D.Sequence([D.Replace("\u2581", " "), D.ByteFallback(), D.Fuse()]), template("<s> $A"), **fallback),
    "t5": lambda: unigram(P.Sequence([P.WhitespaceSplit(), P.Metaspace()]), precompiled(), D.Metaspace(), template("$A <sep>")),
    "xlm-r": lambda: unigram(P.Sequence([P.WhitespaceSplit(), P.Metaspace()]), precompiled(), D.Metaspace(), template("<s> $A <sep>")),
    "mt5": lambda: unigram(P.Metaspace(), N.Sequence([precompiled(), N.Replace(Regex(" {2,}"), "\u2581")]), D.Metaspace()),
    "albert": lambda: unigram(
        P.Sequence([P.WhitespaceSplit(), P.Metaspace()]),
        N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(), precompiled()]), D.Metaspace()),
    "deberta": lambda: unigram(P.Sequence([P.Metaspace()]), N.Sequence([N.Strip(), precompiled(), N.Replace(Regex(" {2,}"), "\u2581")]), D.Metaspace()),
    "unigram-bytes": lambda: unigram(P.Metaspace(prepend_scheme="first"), N.Nmt(), LLAMA2, fallback=True),
    "unigram-whole": lambda: unigram(None, N.Replace(" ", "\u2581"), D.Metaspace(prepend_scheme="never")),
    "bert": lambda: wordpiece(N.BertNormalizer()),
    "bert-cased": lambda: wordpiece(N.BertNormalizer(lowercase=False)),
    "bert-accents": lambda: wordpiece(N.BertNormalizer(strip_accents=False, handle_chinese_chars=False), max_input_chars_per_word=20),
    "wordlevel": lambda: build(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(vocab_size=400, special_tokens=["<unk>"], show_progress=False), P.Whitespace(), N.Lowercase(), None, pair(S.BertProcessing)),
    "ctc": lambda: bpe(split("", "isolated"), N.Replace(" ", "|"), D.CTC(), alphabet=200, unk_token="<unk>", special=["<unk>", "<pad>"]),
    # Each part that the others have not, with what it does in the open.
    "prefix": lambda: bpe(bytelevel(True), dec=byte),
    "bytes-normalized": lambda: bpe(P.WhitespaceSplit(), N.ByteLevel(), byte),
    "bytes-then": lambda: bpe(P.Sequence([bytelevel(), P.Punctuation()]), dec=byte),
    "no-decoder": lambda: ends(P.Whitespace()),
    "continuing": lambda: bpe(P.Whitespace(), None, D.WordPiece(cleanup=False), alphabet=200, unk_token="<unk>", special=["<unk>"], continuing_subword_prefix="##"),
    "unknown": lambda: bpe(P.WhitespaceSplit(), alphabet=60, unk_token="<unk>", special=["<unk>"], fuse_unk=False),
    "unknown-fused": lambda: bpe(P.WhitespaceSplit(), alphabet=60, unk_token="<unk>", special=["<unk>"], fuse_unk=True),
    "bert-pre": lambda: ends(P.BertPreTokenizer()),
    "delimiter": lambda: ends(P.CharDelimiterSplit("|")),
    "digits": lambda: ends(P.Digits(True)),
    "digits-runs": lambda: ends(P.Digits(False)),
    "scripts": lambda: ends(P.UnicodeScripts()),
    "nfd": lambda: ends(P.WhitespaceSplit(), N.NFD()),
    "nfkd": lambda: ends(P.WhitespaceSplit(), N.NFKD()),
    "nfkc": lambda: ends(P.WhitespaceSplit(), N.NFKC()),
    "accents": lambda: ends(P.WhitespaceSplit(), N.Sequence([N.NFD(), N.StripAccents(), N.Lowercase()])),
    "strip-left": lambda: ends(P.Metaspace(prepend_scheme="first"), N.Strip(True, False)),
    "strip-right": lambda: ends(P.Metaspace(prepend_scheme="never", split=False), N.Strip(False, True)),
    "replace": lambda: ends(P.Metaspace(prepend_scheme="first"), N.Replace(Regex(r"(?<=\w)\s+|[aeiou](?=[a-z])"), "")),
    "prepend": lambda: ends(None, N.Sequence([N.Prepend("~"), N.Strip()])),
}
for b in ["removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next"]:
    KINDS["punctuation-" + b] = lambda b=b: ends(P.Punctuation(b))
    KINDS["split-" + b] = lambda b=b: ends(P.Split("-", b))
    KINDS["pattern-" + b] = lambda b=b: ends(split(r"\s+(?!\S)|\p{N}{2}|[.!]", b))
    KINDS["inverted-" + b] = lambda b=b: ends(split(r"\w+|\n", b, True))


def cases(t, texts):
    encoded = [(t.encode(text), t.encode(text, add_special_tokens=False)) for text in texts]
    t.normalizer = None  # or decode shows added tokens as they are normalized
    return [{
        "ids": e.ids, "bare": bare.ids, "decoded": t.decode(e.ids), "all": t.decode(e.ids, skip_special_tokens=False), "broken": t.decode(e.ids[1::2]),
    } for e, bare in encoded]


def main():
    texts = TEXTS if ALL else TEXTS[::4] + [t for t in TEXTS[1:] if "<" in t and ">" in t][:20]
    out = {"texts": texts, "kinds": {}}
    for name, make in KINDS.items():
        t = make()
        t.no_truncation()
        saved = t.to_str()
        out["kinds"][name] = {"file": json.loads(saved), "size": t.get_vocab_size(), "cases": cases(t, texts)}
    out["models"] = model_cases(texts)
    data = json.dumps(out, ensure_ascii=False).encode()
    (FOLDER / "kinds.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))


ALL = "--all" in sys.argv
FOLDER = pathlib.Path(sys.argv[-1]) if ALL else HERE
if __name__ == "__main__":
    main()
