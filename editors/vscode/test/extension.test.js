// The extension with a stand-in for VS Code, and the real server: TPSH is the command.
"use strict";

const { test } = require("node:test");
const assert = require("node:assert");
const fs = require("fs");
const os = require("os");
const path = require("path");
const Module = require("module");

const tpsh = process.env.TPSH || "tpsh";

// standIn returns a module like VS Code's, and what was done with it.
function standIn(folder) {
  const seen = { providers: {}, commands: {}, diagnostics: new Map(), sent: [], listeners: {}, messages: [] };
  const value = (...names) => class { constructor(...args) { names.forEach((n, i) => (this[n] = args[i])); } };
  const uri = (text) => ({ toString: () => text, fsPath: decodeURIComponent(text.replace("file://", "")) });
  const register = (name) => (_language, provider) => ((seen.providers[name] = provider), { dispose() {} });
  const on = (name) => (f) => ((seen.listeners[name] = f), { dispose() {} });
  const vscode = {
    Uri: Object.assign(value("x"), { parse: uri }),
    Range: class { constructor(a, b, c, d) { this.start = { line: a, character: b }; this.end = { line: c, character: d }; } },
    Position: value("line", "character"),
    Location: value("uri", "range"),
    MarkdownString: value("value"),
    TextEdit: value("range", "newText"),
    CompletionItem: value("label", "kind"),
    CompletionList: value("items", "isIncomplete"),
    Hover: value("contents", "range"),
    SignatureHelp: value(),
    SignatureInformation: value("label", "documentation"),
    ParameterInformation: value("label"),
    DocumentSymbol: value("name", "detail", "kind", "range", "selectionRange"),
    InlayHint: value("position", "label", "kind"),
    CodeLens: value("range", "command"),
    Diagnostic: value("range", "message", "severity"),
    WorkspaceEdit: class { constructor() { this.all = []; } set(u, e) { this.all.push([u, e]); } },
    EventEmitter: class { constructor() { this.event = () => {}; } fire() {} dispose() {} },
    DebugAdapterExecutable: value("command", "args"),
    languages: {
      createDiagnosticCollection: () => ({ set: (u, d) => seen.diagnostics.set(u.toString(), d), clear() {}, dispose() {} }),
      registerCompletionItemProvider: register("completion"), registerHoverProvider: register("hover"), registerSignatureHelpProvider: register("signatureHelp"),
      registerDefinitionProvider: register("definition"), registerReferenceProvider: register("references"), registerRenameProvider: register("rename"),
      registerDocumentSymbolProvider: register("symbols"), registerDocumentFormattingEditProvider: register("formatting"),
      registerInlayHintsProvider: register("hints"), registerCodeLensProvider: register("lenses"),
    },
    workspace: {
      isTrusted: true, workspaceFolders: [{ uri: uri("file://" + folder) }], textDocuments: [],
      getConfiguration: () => ({ get: (name) => ({ path: tpsh, lib: [], plan: false, transport: "shm" })[name] }),
      onDidOpenTextDocument: on("open"), onDidChangeTextDocument: on("change"), onDidCloseTextDocument: on("close"), onDidSaveTextDocument: on("save"),
      onDidGrantWorkspaceTrust: on("trust"), onDidChangeConfiguration: on("settings"), saveAll: async () => true,
    },
    window: {
      terminals: [], activeTextEditor: undefined, showErrorMessage: (m) => seen.messages.push(m), showInputBox: async () => "3",
      createTerminal: () => ({ show() {}, sendText: (text) => seen.sent.push(text) }),
    },
    debug: { registerDebugAdapterDescriptorFactory: (_t, f) => ((seen.providers.debug = f), {}), registerDebugConfigurationProvider: () => ({}) },
    commands: { registerCommand: (name, run) => ((seen.commands[name] = run), {}) },
  };
  return { vscode, seen };
}

async function until(what, ok) {
  for (let i = 0; i < 500 && !ok(); i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(ok(), what);
}

test("a session: diagnostics, completion, hover, names, lenses and commands", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tpsh-vscode-"));
  const { vscode, seen } = standIn(folder);
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
  const extension = require("../extension.js");
  try {
    const uri = vscode.Uri.parse("file://" + path.join(folder, "a.star"));
    const text = '"""tpsh run -n 4 a.star"""\nx = ones(2)\nprint(x.shpae)\n';
    const document = { uri, languageId: "tpsh", version: 1, getText: () => text };
    await extension.activate({ subscriptions: [], workspaceState: { get: (_k, d) => d, update: async () => {} } });
    seen.listeners.open(document);
    await until("diagnostics come", () => seen.diagnostics.has(uri.toString()));
    assert.match(seen.diagnostics.get(uri.toString())[0].message, /no \.shpae \(did you mean shape\?\)/);

    const hover = await seen.providers.hover.provideHover(document, { line: 1, character: 5 });
    assert.match(hover.contents.value, /returns a tensor of ones/);
    const list = await seen.providers.completion.provideCompletionItems(document, { line: 2, character: 8 });
    assert.ok(list.items.some((i) => i.label === "shape"), "shape is among the members of x");
    const item = await seen.providers.completion.resolveCompletionItem(list.items.find((i) => i.label === "sum"));
    assert.match(item.documentation.value, /sum/);
    const symbols = await seen.providers.symbols.provideDocumentSymbols(document);
    assert.deepStrictEqual(symbols.map((s) => s.name), ["x"]);
    const edit = await seen.providers.rename.provideRenameEdits(document, { line: 1, character: 0 }, "y");
    assert.strictEqual(edit.all[0][1].length, 2);

    const lenses = await seen.providers.lenses.provideCodeLenses(document);
    assert.strictEqual(lenses[0].command.title, "Run with 4 ranks");
    await seen.commands[lenses[0].command.command](...lenses[0].command.arguments);
    await seen.commands["tpsh.plan"](uri.toString());
    assert.ok(seen.sent[0].endsWith(`run -n 4 --transport shm ${path.join(folder, "a.star")}`), seen.sent[0]);
    assert.ok(seen.sent[1].includes("plan -n 3 "), seen.sent[1]);
    assert.deepStrictEqual(seen.providers.debug.createDebugAdapterDescriptor().args, ["dap"]);

    seen.listeners.change({ document: { ...document, version: 2 }, contentChanges: [{ range: { start: { line: 2, character: 8 }, end: { line: 2, character: 13 } }, text: "shape" }] });
    await until("the mistake is mended", () => seen.diagnostics.get(uri.toString()).length === 0);
  } finally {
    await extension.deactivate();
    Module._load = load;
    fs.rmSync(folder, { recursive: true });
  }
  assert.deepStrictEqual(seen.messages, []);
});

test("what package.json names is there", () => {
  const root = path.join(__dirname, "..");
  const manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json")));
  for (const file of [manifest.main, manifest.contributes.languages[0].configuration, manifest.contributes.grammars[0].path]) {
    assert.ok(fs.existsSync(path.join(root, file)), file);
  }
  const grammar = JSON.parse(fs.readFileSync(path.join(root, manifest.contributes.grammars[0].path)));
  const walk = (node) => {
    for (const [key, v] of Object.entries(node)) {
      if (key === "include" && v.startsWith("#")) {
        assert.ok(grammar.repository[v.slice(1)], v);
      } else if (["match", "begin", "end"].includes(key)) {
        new RegExp(v); // these expressions are such that JavaScript reads them, too
      } else if (typeof v === "object") {
        walk(v);
      }
    }
  };
  walk(grammar);
});
