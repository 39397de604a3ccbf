package builtins

import "tpsh/runtime/op"

// What the tests of the language see of the tables.
var (
	Entries       = entries
	Split         = split
	DescribeParam = describeParam
	ParametersOf  = (*Row).parameters
)

func (e *entry) Name() string       { return e.name }
func (e *entry) Doc() string        { return e.doc }
func (e *entry) Params() []op.Param { return e.params }

func (e *entry) Example() string {
	_, example := e.parts()
	return example
}
