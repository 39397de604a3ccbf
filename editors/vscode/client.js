// A client of a language server on the standard input and output of a process: JSON-RPC
// in frames with a Content-Length. It knows nothing of VS Code.
"use strict";

const { spawn } = require("child_process");

class Client {
  // command and args start the server. onNotification(method, params) and
  // onRequest(method, params), whose result is the answer, get what it says by itself;
  // onExit(code) is called when it has gone.
  constructor(command, args, options = {}) {
    this.pending = new Map();
    this.next = 1;
    this.buffer = Buffer.alloc(0);
    this.onNotification = options.onNotification || (() => {});
    this.onRequest = options.onRequest || (() => null);
    this.onExit = options.onExit || (() => {});
    this.gone = null;
    this.process = spawn(command, args, { cwd: options.cwd, env: options.env || process.env, stdio: ["pipe", "pipe", "pipe"] });
    this.process.stdout.on("data", (chunk) => this.take(chunk));
    this.process.stderr.on("data", (chunk) => options.onLog && options.onLog(chunk.toString()));
    this.process.stdin.on("error", () => {}); // the server has gone: exit says so
    this.process.on("error", (error) => this.end(error));
    this.process.on("exit", (code) => this.end(new Error(`tpsh lsp ended with status ${code}`), code));
  }

  end(error, code) {
    if (this.gone) {
      return;
    }
    this.gone = error;
    for (const { reject } of this.pending.values()) {
      reject(error);
    }
    this.pending.clear();
    this.onExit(code, error);
  }

  // take reads what the server has written: messages, or parts of them.
  take(chunk) {
    this.buffer = Buffer.concat([this.buffer, chunk]);
    for (;;) {
      const header = this.buffer.indexOf("\r\n\r\n");
      if (header < 0) {
        return;
      }
      const match = /content-length: *(\d+)/i.exec(this.buffer.toString("ascii", 0, header));
      const length = match ? Number(match[1]) : 0;
      if (this.buffer.length < header + 4 + length) {
        return;
      }
      const body = this.buffer.toString("utf8", header + 4, header + 4 + length);
      this.buffer = this.buffer.subarray(header + 4 + length);
      this.receive(JSON.parse(body));
    }
  }

  async receive(message) {
    if (message.method === undefined) {
      const waiting = this.pending.get(message.id);
      this.pending.delete(message.id);
      if (waiting && message.error) {
        waiting.reject(new Error(message.error.message));
      } else if (waiting) {
        waiting.resolve(message.result);
      }
      return;
    }
    if (message.id === undefined) {
      this.onNotification(message.method, message.params);
      return;
    }
    const result = await this.onRequest(message.method, message.params);
    this.write({ jsonrpc: "2.0", id: message.id, result: result === undefined ? null : result });
  }

  write(message) {
    const body = Buffer.from(JSON.stringify(message), "utf8");
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  // request returns a promise of the answer.
  request(method, params) {
    if (this.gone) {
      return Promise.reject(this.gone);
    }
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.write({ jsonrpc: "2.0", id, method, params });
    });
  }

  notify(method, params) {
    if (!this.gone) {
      this.write({ jsonrpc: "2.0", method, params });
    }
  }

  // stop ends the server as the protocol has it, and the process if that does not help.
  async stop() {
    if (this.gone) {
      return;
    }
    const kill = setTimeout(() => this.process.kill(), 2000);
    try {
      await this.request("shutdown", null);
      this.notify("exit", null);
    } catch {
      this.process.kill(); // it has gone, or answers no more
    } finally {
      this.process.on("exit", () => clearTimeout(kill));
    }
  }
}

module.exports = { Client };
