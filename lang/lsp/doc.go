// Package lsp is a language server: it tells an editor the types that package analysis knows of
// programs, the mistakes that package check finds in them, and the tensors that a plan of them has.
//
// Terms:
//
//   - A document is a text that the editor has open; the file on disk does not matter
//     then.
//   - A position of the protocol is a line and a column from 0, in UTF-16 units; one of
//     a tree counts from 1, in runes; an offset counts bytes. Type text turns them into
//     each other.
//   - A sight is the value of a variable when a plan ran the program on shapes alone.
//     Plans run in the background, one for a document, and end when it changes.
//
// Requests are answered one after the other, on the goroutine that reads them; work that
// takes longer (checks after a change, plans) waits for a pause in the typing. The
// language, the files and the plans are the caller's:
//
//	s := lsp.New(lsp.Options{Language: language, Plan: plan})
//	code := s.Serve(ctx, stdio) // until the editor says exit
//
// Messages are JSON-RPC as github.com/sourcegraph/jsonrpc2 has it, in frames of our
// own: the lengths of those are bounded.
package lsp
