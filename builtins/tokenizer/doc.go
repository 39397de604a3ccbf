// Package tokenizer reads the tokenizers of published models, and turns text
// into the numbers of tokens and back, as the Tokenizers library of Hugging Face
// does (https://github.com/huggingface/tokenizers).
//
// Text goes through five parts, each of which a file may leave out. Added
// tokens, such as <|endoftext|>, are found first, and stand for themselves. A
// normalizer changes the text between them: Unicode's normal forms, lower case,
// accents. A pre-tokenizer cuts it into words. A model makes tokens of each word:
// by merging pairs of its characters or bytes (BPE), by the longest pieces from
// the left (WordPiece), by the most likely pieces (Unigram), or as a whole
// (WordLevel). A post-processor puts tokens around them, such as [CLS]. Back, a
// decoder makes text of tokens.
//
//	t, err := tokenizer.Parse(file)
//	ids, err := t.Encode("hello", true)
//	text, err := t.Decode(ids, true)
//
// Parse reads a tokenizer.json. Of older models ParseVocab, ParseMerges and
// ParseSentencePiece read vocab.txt, vocab.json with merges.txt, and
// tokenizer.model. A part that is not known is an error that says where it
// stands: what would be given without it is not what the model was trained on.
//
// Characters are those of Unicode 15. Text that is no UTF-8 is kept byte for byte
// where every byte has a token, and has U+FFFD in the place of bad bytes
// elsewhere. Truncation and padding, which a file may ask for, are not done.
package tokenizer
