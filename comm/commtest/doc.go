// Package commtest holds the tests that every transport of package comm must
// pass. A transport's own test calls Suite with what opens a Fabric.
package commtest
