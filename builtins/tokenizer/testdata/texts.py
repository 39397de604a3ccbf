"""The texts on which tokenizers are compared."""

TEXTS = [
    # Spaces, ends of lines, control characters.
    "", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n ", "a", " a", "a ", "  a  ", "\u00a0", "\u3000x\u3000", "x\u2003y\u2009z\u200aw",
    "tabs\t\tand\r\nlines\n\n\n end \n", "trailing   ", "   leading", "in   between", "a\u0085b\u2028c\u2029d", "\x00\x01\x1f\x7f", "nul\x00in\x00text",
    "soft\u00adhyphen zero\u200bwidth\u200c\u200djoin\ufeffbom", "\ufffd replaced \ufffd", "bell\x07 esc\x1b[0m vt\x0bff\x0c.",
    # English.
    "Hello world", "Hello, world!", "The quick brown fox jumps over the lazy dog.", "it's IT'S we'Ll 'd I'm you've they're can't", "'s't're",
    "You may convey verbatim copies of the Program's source code as you receive it.", "DO NOT PANIC", "i I iI Ii", "e.g. i.e. etc.",
    "word words sword word_ (word) _word", "don't do not . , ? ! ' n't", "antidisestablishmentarianism", "supercalifragilisticexpialidocious" * 4,
    "a" * 99, "a" * 100, "a" * 101, "x" * 300, "ab" * 150, "the " * 60, "thethethethethethe", "....", "-----", "the-final--countdown-", "--",
    "http://example.com/path?query=1&x=%20#frag", "user.name+tag@example.co.uk", "@handle #hashtag $cash 100%", "C:\\Users\\x\\file.txt", "~/.config/*",
    # Numbers.
    "12345 67", "1", "12", "123", "1234", "1234567890", "3.14159", "1,000,000.00", "1e-10", "0x7fff", "-42", "2nd 3rd", "a1b2c3", "1/2 + 3/4 = 5/4",
    "\u00bd \u00b2 \u00b3 \u2460 \u2167 \u3007", "\u0663\u0664\u0665 \u0967\u0968", "\uff11\uff12\uff13", "10:30 2024-01-31", "+1 (555) 123-4567",
    # Code.
    "def f(x):\n    return x**2  # square\n", "for (int i = 0; i < n; ++i) { a[i] += b[i]; }", "if x != y && !z || w == \"q\" {", "\tif err != nil {\n\t\treturn err\n\t}",
    "<html><body class=\"x\">&nbsp;</body></html>", "SELECT * FROM t WHERE a >= 1;", "{\"key\": [1, 2.5, null, true]}", "a->b::c<d>()", "camelCaseName snake_case_name CONST_NAME",
    "```python\nprint('hi')\n```", "$\\frac{a}{b}$ \\alpha", "x = `date`; y=$(ls)", "/* c */ // d", "0b1010 | 0xff ^ ~y",
    # Latin with marks.
    "caf\u00e9 cafe\u0301", "na\u00efve r\u00e9sum\u00e9 \u00dcber stra\u00dfe STRASSE", "\u00c5ngstr\u00f6m A\u030angstrom", "\u0130stanbul I\u0307 \u0131", "\u0141\u00f3d\u017a \u010desk\u00fd \u0159\u00edz\u00ed",
    "Vi\u1ec7t Nam ti\u1ebfng Vie\u0323\u0302t", "\u01c4 \u01c5 \u01c6 \ufb01 \ufb02 \ufb03", "\u00e6 \u00f8 \u00fe \u00f0 \u0153", "\u017f \u212a \u2126 \u212b", "a\u0300\u0301\u0302\u0303\u0304 b\u0327\u0308",
    "e" + "\u0301" * 12, "o" + "\u0323\u0307" * 20 + "x", "\u0301alone \u0308 at start", "Z\u0351\u036b\u0343\u036a\u0302a\u0321\u034a\u0353l\u031b\u0320g\u0358o\u032d",
    # Other alphabets.
    "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u0442\u0435\u043a\u0441\u0442 \u0401\u0436 \u0439 \u0438\u0306", "\u0423\u043a\u0440\u0430\u0457\u043d\u0430 \u0404\u0432\u0440\u043e\u043f\u0430", "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u03a3\u039f\u03a6\u0399\u0391\u03a3 \u03c3\u03c2",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd \u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 \u0645\u064e\u0631\u0652\u062d\u064e\u0628\u064b\u0627", "\u0641\u0627\u0631\u0633\u06cc \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\ufefb \ufdfa \u0640\u0640",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u092e\u0947\u0902 \u0928\u092e\u0938\u094d\u0924\u0947 \u0958 \u0915\u093c", "\u09ac\u09be\u0982\u09b2\u09be \u09ad\u09be\u09b7\u09be", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd \u0bae\u0bca\u0bb4\u0bbf", "\u0c24\u0c46\u0c32\u0c41\u0c17\u0c41", "\u0d2e\u0d32\u0d2f\u0d3e\u0d33\u0d02",
    "\u0e44\u0e17\u0e22 \u0e20\u0e32\u0e29\u0e32 \u0e19\u0e49\u0e33", "\u0ea5\u0eb2\u0ea7 \u0e99\u0eb3\u0ec9", "\u1019\u103c\u1014\u103a\u1019\u102c", "\u1797\u17b6\u179f\u17b6\u1781\u17d2\u1798\u17c2\u179a", "\u0f56\u0f7c\u0f51\u0f0b\u0f61\u0f72\u0f42",
    "\u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8 \u1c90", "\u0540\u0561\u0575\u0565\u0580\u0565\u0576 \u0587", "\u12a0\u121b\u122d\u129b", "\u13e3\u13b3\u13a9 \uab70", "\u1401\u14c4\u1483\u144e\u1450\u1466", "\u16a0\u16a2\u16a6 \u1680 \u2801\u2803",
    # East Asia.
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8", "\u30ab\u3099 \u304c \u304b\u3099 \u30f4\u30fc", "\uff76\uff9e\uff77\uff9e \uff21\uff22\uff23 \uff01\uff1f", "\u4e2d\u6587\u5206\u8bcd\u3002\u4f60\u597d\uff0c\u4e16\u754c\uff01", "\u7e41\u9ad4\u4e2d\u6587\u300c\u5f15\u865f\u300d", "\u4f60\u597dhello\u4e16\u754cworld123",
    "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "\u3131\u314f \uffa1\uffc2", "\u3400\U00020000\U0002a6df\uf900\U0002f800", "\u3192 \u3220 \u3371 \u33a1 \u32c0", "\u2e80 \u2f00 \u3005\u3006\u3007",
    # Pictures and symbols.
    "\U0001f600", "\U0001f600\U0001f601 text \U0001f602", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\U0001f44d\U0001f3fd \u261d\U0001f3ff", "\u2764\ufe0f \u2764\ufe0e \u00a9\ufe0f", "1\ufe0f\u20e3",
    "\u2190\u2191\u2192 \u2211\u222b\u221a\u221e \u2260\u2264", "\u20ac\u00a3\u00a5\u20bf", "\u2122 \u00ae \u2103 \u2116", "\u201cquotes\u201d \u2018single\u2019 \u2026 \u2013 \u2014", "\u00ab\u00a0guillemets\u00a0\u00bb", "\u00bfQu\u00e9? \u00a1S\u00ed!",
    "\U0001d400\U0001d538\U0001d552 \u210d", "\u2580\u2588 \u25a0\u25cb \u2500\u253c", "\u266a \u2603 \u2713", "\U00013080 \U00012000 \U0001f0a1", "\U0010fffd \ue000 \uf8ff",
    # Characters that tokenizers use.
    "\u2581already \u2581there", "\u0120G \u010a \u0121", "##ing un ##un", "</w> a</w>", "<0x41> <0xC3>", "|pipe|pipe", "<unk> <pad> [UNK] [CLS] [SEP] [MASK]",
    # Added tokens.
    "a<s>b", "<s><s>", "<s> a </s>", "x <left> y", "x <right> y", "x  <both>  y", "<left><right>", " <left> <left> ", "<se <sep> <s", "<sep>word<sep> word word",
    "x<Mixed>y <mixed> <MIXED>", "<s", "s>", "\u00e9<\u00e9> <e\u0301>", "<S> <Sep>", "<sep", "wordword word", "[MASK]", "hello [MASK].", "a [CLS] b[SEP]",
    # Mixed.
    "English \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u4e2d\u6587 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \U0001f600 123", "A\u0300B\u4e00C\U0001f600D", "mixed\u65e5\u672cscripts\u0440\u0443", "Tokenization is fun! \u00bfVerdad? \u672c\u5f53\u3002",
    "RFC\u00a02119: MUST, SHOULD\u2026", "5\u2032 10\u2033 90\u00b0 \u00b5m", "H\u2082O E=mc\u00b2", "n\u00ba 1\u00aa", "\u1e9b\u0323 \u017f\u0323\u0307", "\u0344 \u0958 \u2adc \ufb1d",
    "line one\nline two\n\nline four\n", "  indented\n    more\n", "end.\n\n\n", "a\n b\n  c", "\n\n\na", "x\r\ry", "tab\tspace \t mixed \t\t", "the end",
]
