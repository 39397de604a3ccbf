package nn

import "tpsh/builtins"

var moduleDictClass = &class{Name: "ModuleDict", forward: cannotRun, elements: moduleElements}

func init() {
	const two = ">>> m = nn.ModuleDict({\"a\": nn.ReLU(), \"b\": nn.Tanh()})\n"
	builtins.Register(
		&builtins.Row{Name: "nn.ModuleDict", Fn: dictMaker(moduleDictClass),
			Doc: "ModuleDict(modules={}) returns a module that holds modules under names, for another module to call.\n" +
				"m[name] is one of them, and can be assigned; name in m, len(m) and loops over the names\n" +
				"work as with a dict. A loop goes in the order of definition.\n" + two + ">>> m[\"a\"](tensor([-1.0])), len(m), \"c\" in m\n([0.], 2, False)"},
		&builtins.Row{Name: "ModuleDict", Base: "Module", Doc: "ModuleDict is the type of what nn.ModuleDict makes: a module with the methods of a dict."},
		dictRow("ModuleDict.keys", "keys() returns the names as a list.\n"+two+">>> m.keys()\n[\"a\", \"b\"]", (*dictModule).names),
		dictRow("ModuleDict.values", "values() returns the modules as a list.\n"+two+">>> m.values()\n[ReLU(), Tanh()]", (*dictModule).values),
		dictRow("ModuleDict.items", "items() returns pairs of names and modules as a list.\n"+two+">>> m.items()\n[(\"a\", ReLU()), (\"b\", Tanh())]", (*dictModule).items),
		&builtins.Row{Name: "ModuleDict.update", Fn: updateDict,
			Doc: "update(modules) adds the modules of a dict, or of another ModuleDict, in place of those of their names.\n" + two + ">>> m.update({\"b\": nn.ReLU()})\n>>> m[\"b\"]\nReLU()"},
		&builtins.Row{Name: "ModuleDict.pop", Fn: popDict,
			Doc: "pop(key) takes the module of a name out, and returns it.\n" + two + ">>> m.pop(\"a\")\nReLU()\n>>> m.keys()\n[\"b\"]"},
		&builtins.Row{Name: "ModuleDict.clear", Fn: clearDict,
			Doc: "clear() takes all modules out.\n" + two + ">>> m.clear()\n>>> len(m)\n0"},
	)
}
