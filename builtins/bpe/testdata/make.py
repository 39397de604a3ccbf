"""Makes the tokenizers in this folder, and what the tokenizers library makes of texts.

    pip install tokenizers
    python make.py
"""

import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
CORPUS = HERE.parents[2] / "examples" / "data" / "gpl-3.txt"
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
Byte = pre_tokenizers.ByteLevel
SPLITTERS = {
    "gpt2": Byte(add_prefix_space=False),
    "prefix": Byte(add_prefix_space=True),
    "digits": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), Byte(add_prefix_space=False)]),
    "numbers": pre_tokenizers.Sequence([pre_tokenizers.Digits(False), Byte(add_prefix_space=False, use_regex=False)]),
    "qwen": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN), "isolated"), Byte(False, use_regex=False)]),
    "inverted": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN), "removed", True), Byte(False, use_regex=False)]),
}
for behavior in ["removed", "merged_with_previous", "merged_with_next", "contiguous"]:
    split = pre_tokenizers.Split("-", behavior)
    SPLITTERS[behavior] = pre_tokenizers.Sequence([split, Byte(False, use_regex=False)])
TEXTS = [
    "", " ", "  ", "\n", "a", "Hello world", "  two  spaces  ", "the-final--countdown-", "--", "it's IT'S we'Ll 'd",
    "12345 67 \u00bd \u0663\u0664", "tabs\t\tand\r\nlines\n\n\n end \n", "caf\u00e9 cafe\u0301 \u00a0x\u3000y\u2003z\u0085w\u200bv",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8 \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \U0001f600\U0001f468\u200d\U0001f469", "aaaaaaaaaaaaaaaaaaaa bbbbbbbb",
    "a<s>b", "<s><s>", "x <left> y", "x <right> y", "word words sword word_ (word)", "<se <sep> <s", "\x00\x1f\x7f\u00ad",
    "You may convey verbatim copies of the Program's source code as you receive it.",
]


def build(name):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = SPLITTERS[name]
    t.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=320, initial_alphabet=Byte.alphabet(), show_progress=False)
    t.train([str(CORPUS)], trainer)
    t.add_special_tokens(["<s>", "<sep>"])
    t.add_tokens([AddedToken("<left>", lstrip=True), AddedToken("<right>", rstrip=True), AddedToken("word", single_word=True)])
    if name == "digits":
        s, sep = t.token_to_id("<s>"), t.token_to_id("<sep>")
        t.post_processor = processors.TemplateProcessing(
            single="<s> $A <sep>", special_tokens=[("<s>", s), ("<sep>", sep)])
    t.save(str(HERE / f"{name}.json"), pretty=False)
    return t


def case(t, text):
    ids = t.encode(text).ids
    return {
        "text": text,
        "ids": ids,
        "bare": t.encode(text, add_special_tokens=False).ids,
        "decoded": t.decode(ids),
        "all": t.decode(ids, skip_special_tokens=False),
        "broken": t.decode(ids[1::2]),
    }


def main():
    cases = {}
    for name in SPLITTERS:
        t = build(name)
        cases[name] = {"size": t.get_vocab_size(), "cases": [case(t, text) for text in TEXTS]}
    (HERE / "cases.json").write_text(json.dumps(cases) + "\n")


main()
