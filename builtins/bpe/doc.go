// Package bpe reads a byte-level tokenizer from a tokenizer.json file, as the
// Tokenizers library of Hugging Face writes them, and turns text into the
// numbers of tokens and back.
//
// Text is cut in three steps. Added tokens, such as <|endoftext|>, are found
// first, and stand for themselves. The text between them is cut into words by
// the pre-tokenizer, mostly a regular expression. Each word is then a list of
// bytes, every byte a token of its own, of which pairs are merged in the order
// of a learned list, until no pair of the list is left: byte-pair encoding
// (Sennrich, Haddow and Birch, "Neural machine translation of rare words with
// subword units", ACL 2016).
//
//	t, err := bpe.Parse(file)
//	ids, err := t.Encode("hello", true)
//	text, err := t.Decode(ids, true)
package bpe
