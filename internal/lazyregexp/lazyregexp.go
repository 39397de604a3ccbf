// Package lazyregexp is regular expressions that are compiled when they are first used.
//
// A command starts in a few milliseconds, and compiling the expressions of all its
// subcommands would take one or two of them: `tpsh run` needs those of `tpsh hang`
// as little as its dump files. So an expression in a package's variable is made here:
//
//	var lineRank = lazyregexp.New(`\[rank([0-9]{1,6})\]:`)
//
//	m := lineRank.Get().FindStringSubmatch(line)
//
// An expression that is wrong panics at its first use, as regexp.MustCompile does
// when a program starts; so each is used by a test.
package lazyregexp

import (
	"regexp"
	"sync"
)

// An Expr is a regular expression that is compiled when it is first asked for.
type Expr struct{ compiled func() *regexp.Regexp }

// New returns the expression of a pattern, which is not compiled yet.
func New(pattern string) *Expr {
	return &Expr{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
}

// Get returns the compiled expression. It panics if the pattern is none.
func (e *Expr) Get() *regexp.Regexp { return e.compiled() }
