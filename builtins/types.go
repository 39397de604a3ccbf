package builtins

// Documentation of modules and types that have no value of their own in a
// script.
func init() {
	Register(
		&Row{Name: "assert", Namespace: true, Doc: "assert is the module of assertions, for tests. A failure says what was got and what was wanted."},
		&Row{Name: "faults", Namespace: true, Doc: "faults is the module of failures on purpose, for tests of how programs handle them."},
		&Row{Name: "Group", Doc: "Group is the type of what new_group returns."},
		&Row{Name: "Work", Doc: "Work is the type of the second result of a collective with async_op=True."},
		&Row{Name: "Error", Doc: "Error is the type of a failure that attempt has caught. str(e) is what a report prints of it."},
		&Row{Name: "CommTrace", Doc: "CommTrace is what comm_trace returns a list of: structs of what was communicated."},
		&Row{Name: "Attempt", Doc: "Attempt is what attempt returns: a struct with ok, value and error."},
		&Row{Name: "Attempt.ok", Doc: "ok is whether the function returned.\n>>> attempt(max, 3, 5).ok\nTrue"},
		&Row{Name: "Attempt.value", Doc: "value is what the function returned, or None.\n>>> attempt(max, 3, 5).value\n5"},
		&Row{Name: "Attempt.error", Doc: "error is the Error with which the function failed, or None.\n>>> str(attempt(fail, \"no\").error)\n\"fail: no\""},
	)
}
