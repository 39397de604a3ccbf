// What the server answers, as VS Code wants it. Positions are the same in both: lines
// and UTF-16 units from 0.
"use strict";

// providers returns the providers of a language, which ask by request(method, params).
function providers(vscode, request) {
  const at = (document, position) => ({
    textDocument: { uri: document.uri.toString() },
    position: { line: position.line, character: position.character },
  });
  const range = (r) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
  const location = (l) => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));
  const markdown = (m) => (m ? new vscode.MarkdownString(m.value) : undefined);
  const edits = (list) => (list || []).map((e) => new vscode.TextEdit(range(e.range), e.newText));

  function item(i) {
    const out = new vscode.CompletionItem(i.label, i.kind - 1); // the protocol counts kinds from 1
    out.detail = i.detail;
    out.sortText = i.sortText;
    out.filterText = i.filterText;
    out.documentation = markdown(i.documentation);
    if (i.textEdit) {
      out.insertText = i.textEdit.newText;
      out.range = range(i.textEdit.range);
    }
    out.source = i;
    return out;
  }

  function symbol(s) {
    const out = new vscode.DocumentSymbol(s.name, s.detail || "", s.kind - 1, range(s.range), range(s.selectionRange));
    out.children = (s.children || []).map(symbol);
    return out;
  }

  return {
    completion: {
      async provideCompletionItems(document, position) {
        const list = await request("textDocument/completion", at(document, position));
        return list && new vscode.CompletionList(list.items.map(item), list.isIncomplete);
      },
      async resolveCompletionItem(i) {
        const full = await request("completionItem/resolve", i.source);
        i.documentation = markdown(full && full.documentation);
        return i;
      },
    },
    hover: {
      async provideHover(document, position) {
        const h = await request("textDocument/hover", at(document, position));
        return h && new vscode.Hover(markdown(h.contents), h.range && range(h.range));
      },
    },
    signatureHelp: {
      async provideSignatureHelp(document, position) {
        const h = await request("textDocument/signatureHelp", at(document, position));
        if (!h) {
          return null;
        }
        const out = new vscode.SignatureHelp();
        out.activeSignature = h.activeSignature;
        out.activeParameter = h.activeParameter;
        out.signatures = h.signatures.map((s) => {
          const one = new vscode.SignatureInformation(s.label, markdown(s.documentation));
          one.parameters = (s.parameters || []).map((p) => new vscode.ParameterInformation(p.label));
          return one;
        });
        return out;
      },
    },
    definition: {
      async provideDefinition(document, position) {
        return ((await request("textDocument/definition", at(document, position))) || []).map(location);
      },
    },
    references: {
      async provideReferences(document, position, context) {
        const params = { ...at(document, position), context: { includeDeclaration: context.includeDeclaration } };
        return ((await request("textDocument/references", params)) || []).map(location);
      },
    },
    rename: {
      async provideRenameEdits(document, position, newName) {
        const edit = await request("textDocument/rename", { ...at(document, position), newName });
        const out = new vscode.WorkspaceEdit();
        for (const [uri, list] of Object.entries((edit && edit.changes) || {})) {
          out.set(vscode.Uri.parse(uri), edits(list));
        }
        return out;
      },
      async prepareRename(document, position) {
        const r = await request("textDocument/prepareRename", at(document, position));
        if (!r) {
          throw new Error("This name is not one of the program's own.");
        }
        return { range: range(r.range), placeholder: r.placeholder };
      },
    },
    symbols: {
      async provideDocumentSymbols(document) {
        return ((await request("textDocument/documentSymbol", at(document, { line: 0, character: 0 }))) || []).map(symbol);
      },
    },
    formatting: {
      async provideDocumentFormattingEdits(document) {
        return edits(await request("textDocument/formatting", at(document, { line: 0, character: 0 })));
      },
    },
    hints: {
      async provideInlayHints(document, r) {
        const params = { ...at(document, r.start), range: { start: r.start, end: r.end } };
        const list = await request("textDocument/inlayHint", params);
        return (list || []).map((h) => {
          const out = new vscode.InlayHint(new vscode.Position(h.position.line, h.position.character), h.label, h.kind);
          out.tooltip = h.tooltip;
          return out;
        });
      },
    },
    lenses: {
      async provideCodeLenses(document) {
        const list = await request("textDocument/codeLens", at(document, { line: 0, character: 0 }));
        return (list || []).map((l) => new vscode.CodeLens(range(l.range), l.command));
      },
    },
    diagnostic(d) {
      const out = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
      out.source = d.source;
      out.code = d.code;
      out.tags = d.tags;
      return out;
    },
  };
}

module.exports = { providers };
