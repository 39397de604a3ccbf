"""Makes matches.json: what Oniguruma, as the tokenizers library has it, finds.

    pip install tokenizers
    python make.py
"""

import json
import pathlib

from tokenizers import Regex, Tokenizer, pre_tokenizers

HERE = pathlib.Path(__file__).parent
PATTERNS = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[\r\n]|\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯ]+|\s?[!-/:-~！-／：-～‘-‟　-。]+|\s+$|[一-龥ࠀ-一가-퟿]+|\p{N}+",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r"[\p{Han}&&[^\u4e00]]+|[\p{L}&&[^\p{Han}]]+",
    r"\d{1,3}(?=(?:\d{3})*\b)", r"(?<=\s)\w", r"(?<!\S)\w+", r"(?<=ab|\d)\w", r"(?>a+)b|a", r"a++a|a", r"\w+?\b", r"(a|ab)(c|bcd)*",
    r"\bw", r"\B\w", r"^\w+", r"\w+$", r"\A\w+", r"\w+\z", r"\w+\Z", r"(?m:.)", r".", r"[[:punct:]]+", r"[[:^alpha:]]+", r"[[:upper:]][[:lower:]]*",
    r"\h+", r"\H", r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"\p{^L}", r"\P{L}", r"\p{Alphabetic}", r"\p{Greek}+", r"(?i)stra.e|é", r"(?i:k)",
    r"x*", r"(x*)*y?", r"", r"a|", r"(?x: a b # c" + "\n" + r")", r"[a-c-e]+", r"[]a]", r"[a\]b]+", r"\x41\x{1F600}?", r"a{2}", r"a{2,}?", r"a{,2}b", r"a{2}?",
    r"a{x", r"[\w&&[^\d_]]+", r"(?=a)\w", r"(?!a)\w", r"a(?i)b|c", r"\.", r"[.]", r"[^\w\s]+|_", r"\t|\n|\v|\f|\e|\a|\000",
    r"(?<name>a)b", r"(?#x)a", r"[^\n]+\n?", r"[ \t]+(?=\n)", r"\p{Lu}\p{Ll}+", r"[-a]+", r"[a-]+", r"[\[\]]+",
]
TEXTS = [
    "Hello world", "it's IT'S we'Ll 'd 'ſ k \u212a", "  two  spaces  \n\n end \t\r\n", "aaab abcbcd aabab ab", "12345 1234567 x9 a1b22 \u0663\u0664\u00bd",
    "caf\u00e9 cafe\u0301 STRASSE straße É", "日本語のテキスト。中国，一二", "русский Ελληνικά हिन्दी ไทย 한국어", "😀👨‍👩‍👧 🇩🇪 \u200d\ufe0f", "wow w_w (w) -w-",
    "foo_bar.baz[3] = {x: 'y'}; // done", "a,b;c!d?e…f。g", "\x00\x07\x1b\x0b\x0c\x85\xa0\u2028\u3000.", "a{x a]b [c] -a a- xxyxx", "The DOG and\nThe cat\n",
    "A😀A", "\u0e01\u0e33 \u0b95\u0bbf", "aa aaa aaaa b aab", "", "\n",
]


def main():
    cases = []
    for pattern in PATTERNS:
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        found = []
        for text in TEXTS:
            found.append([part for part, _ in split.pre_tokenize_str(text)])
        inverted = pre_tokenizers.Split(Regex(pattern), "removed", True)
        cases.append({"pattern": pattern, "parts": found, "matches": [[p for p, _ in inverted.pre_tokenize_str(t)] for t in TEXTS]})
    (HERE / "matches.json").write_text(json.dumps({"texts": TEXTS, "cases": cases}) + "\n")


main()
