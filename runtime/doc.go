// Package runtime runs ranks and what they compute: a Job starts them, a Rank
// is one of them, with its operators, its tape, its random numbers and its
// groups. It knows tensors and communication, and nothing of scripts.
package runtime
