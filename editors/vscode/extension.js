// The extension: it starts `tpsh lsp` and `tpsh dap`, and runs programs in a terminal.
"use strict";

const vscode = require("vscode");
const path = require("path");
const { Client } = require("./client");
const { providers } = require("./providers");

const language = { language: "tpsh" };
let client = null;

const setting = (name) => vscode.workspace.getConfiguration("tpsh").get(name);
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`);

function serverArgs() {
  const args = ["lsp"];
  for (const folder of setting("lib") || []) {
    args.push("--lib", folder);
  }
  if (!setting("plan") || !vscode.workspace.isTrusted) {
    args.push("--no-plan");
  }
  return args;
}

async function startServer(context, diagnostics, kit, hintsChanged) {
  const folder = (vscode.workspace.workspaceFolders || [])[0];
  const started = new Client(setting("path"), serverArgs(), {
    cwd: folder && folder.uri.fsPath,
    onNotification(method, params) {
      if (method === "textDocument/publishDiagnostics") {
        diagnostics.set(vscode.Uri.parse(params.uri), params.diagnostics.map(kit.diagnostic));
      }
    },
    onRequest(method) {
      if (method === "workspace/inlayHint/refresh") {
        hintsChanged.fire();
      }
      return null;
    },
    onExit(code, error) {
      diagnostics.clear();
      if (client === started && code !== 0) {
        vscode.window.showErrorMessage(`tpsh: ${error.message}. The setting tpsh.path says which command it is.`);
      }
    },
  });
  client = started;
  const root = folder ? folder.uri.toString() : null;
  await started.request("initialize", {
    processId: process.pid,
    rootUri: root,
    capabilities: { workspace: { inlayHint: { refreshSupport: true } } },
  });
  started.notify("initialized", {});
  vscode.workspace.textDocuments.forEach(opened);
}

function opened(document) {
  if (client && document.languageId === "tpsh") {
    const { uri, version } = document;
    client.notify("textDocument/didOpen", {
      textDocument: { uri: uri.toString(), languageId: "tpsh", version, text: document.getText() },
    });
  }
}

function changed(event) {
  const { document } = event;
  if (client && document.languageId === "tpsh" && event.contentChanges.length > 0) {
    client.notify("textDocument/didChange", {
      textDocument: { uri: document.uri.toString(), version: document.version },
      contentChanges: event.contentChanges.map((c) => ({ range: c.range, text: c.text })),
    });
  }
}

const told = (method) => (document) => {
  if (client && document.languageId === "tpsh") {
    client.notify(method, { textDocument: { uri: document.uri.toString() } });
  }
};

// inTerminal types a command of tpsh into a terminal of its own.
function inTerminal(words, file) {
  const name = "tpsh";
  const terminal = vscode.window.terminals.find((t) => t.name === name) || vscode.window.createTerminal({ name, cwd: path.dirname(file) });
  terminal.show(true);
  terminal.sendText([setting("path"), ...words].map(quoted).join(" "));
}

// fileOf returns the file of a lens, or of the editor that is active.
function fileOf(uri) {
  if (uri instanceof vscode.Uri) {
    return uri.fsPath;
  }
  if (typeof uri === "string") {
    return vscode.Uri.parse(uri).fsPath;
  }
  const editor = vscode.window.activeTextEditor;
  return editor && editor.document.languageId === "tpsh" ? editor.document.uri.fsPath : undefined;
}

async function askRanks(context) {
  const last = context.workspaceState.get("ranks", "4");
  const text = await vscode.window.showInputBox({
    prompt: "On how many ranks?",
    value: last,
    validateInput: (v) => (/^[1-9]\d*$/.test(v) ? null : "want a number of ranks, 1 or more"),
  });
  if (text) {
    await context.workspaceState.update("ranks", text);
  }
  return text;
}

function commands(context, restart) {
  const onRanks = (verb) => async (uri, n) => {
    const file = fileOf(uri);
    const ranks = file && (typeof n === "number" ? String(n) : await askRanks(context));
    if (!file || !ranks) {
      return;
    }
    await vscode.workspace.saveAll(false);
    const transport = verb === "run" && setting("transport") ? ["--transport", setting("transport")] : [];
    inTerminal([verb, "-n", ranks, ...transport, file], file);
  };
  return {
    "tpsh.run": onRanks("run"),
    "tpsh.plan": onRanks("plan"),
    "tpsh.test": async (uri, test) => {
      const file = fileOf(uri);
      if (file) {
        await vscode.workspace.saveAll(false);
        inTerminal(["test", ...(test ? ["--run", `^${test}$`] : []), file], file);
      }
    },
    "tpsh.restart": restart,
  };
}

function debugging() {
  return {
    createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(setting("path"), ["dap"]),
    resolveDebugConfiguration(_folder, config) {
      const file = fileOf();
      if (!config.type && file) {
        return { type: "tpsh", request: "launch", name: "Debug", program: file, ranks: 2 };
      }
      return config;
    },
  };
}

async function activate(context) {
  const diagnostics = vscode.languages.createDiagnosticCollection("tpsh");
  const hintsChanged = new vscode.EventEmitter();
  const request = (method, params) => (client ? client.request(method, params).catch(() => null) : Promise.resolve(null));
  const kit = providers(vscode, request);
  const l = vscode.languages;
  const restart = async () => {
    if (client) {
      await client.stop();
    }
    await startServer(context, diagnostics, kit, hintsChanged).catch(() => null); // onExit has told it
  };
  const debug = debugging();
  context.subscriptions.push(
    diagnostics,
    hintsChanged,
    l.registerCompletionItemProvider(language, kit.completion, ".", "(", ",", '"', "'", "/", "="),
    l.registerHoverProvider(language, kit.hover),
    l.registerSignatureHelpProvider(language, kit.signatureHelp, "(", ","),
    l.registerDefinitionProvider(language, kit.definition),
    l.registerReferenceProvider(language, kit.references),
    l.registerRenameProvider(language, kit.rename),
    l.registerDocumentSymbolProvider(language, kit.symbols),
    l.registerDocumentFormattingEditProvider(language, kit.formatting),
    l.registerInlayHintsProvider(language, { ...kit.hints, onDidChangeInlayHints: hintsChanged.event }),
    l.registerCodeLensProvider(language, kit.lenses),
    vscode.workspace.onDidOpenTextDocument(opened),
    vscode.workspace.onDidChangeTextDocument(changed),
    vscode.workspace.onDidCloseTextDocument(told("textDocument/didClose")),
    vscode.workspace.onDidSaveTextDocument(told("textDocument/didSave")),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("tpsh") && restart()),
    vscode.debug.registerDebugAdapterDescriptorFactory("tpsh", debug),
    vscode.debug.registerDebugConfigurationProvider("tpsh", debug),
    ...Object.entries(commands(context, restart)).map(([name, run]) => vscode.commands.registerCommand(name, run)),
  );
  await restart();
}

async function deactivate() {
  if (client) {
    await client.stop();
  }
}

module.exports = { activate, deactivate };
