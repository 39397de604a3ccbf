// Package allowance tells how much memory a process may use: that of the machine,
// or of the container it is in where that has less.
//
// Terms:
//
//   - The total is what the machine or the container has. Control groups of
//     both versions are asked, at the root that a container sees.
//   - What is available can be had without taking from another process.
//
// For example, the default limit of a job:
//
//	limit := allowance.Memory() / 10 * 8
//
// Where a system does not tell, the numbers are 0.
package allowance
