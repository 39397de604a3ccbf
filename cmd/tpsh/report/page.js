"use strict";
// What the page does with its data; see Write in report.go for what that is.
(async function () {
  const problems = [];
  window.addEventListener("error", e => { problems.push(e.message); document.body.dataset.errors = problems.join("; "); });
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // ---- elements and numbers ----
  function el(tag, attributes, ...children) {
    const e = document.createElementNS(tag === "svg" || svgTags.has(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml", tag);
    for (const [k, v] of Object.entries(attributes || {})) {
      if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
      else if (v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
    }
    e.append(...children.filter(c => c !== null && c !== undefined));
    return e;
  }
  const svgTags = new Set(["rect", "text", "line", "g", "title"]);

  function scaled(n, units) {
    for (const [size, name] of units) if (Math.abs(n) >= size) return three(n / size) + " " + name;
    return three(n / units[units.length - 1][0]) + " " + units[units.length - 1][1];
  }
  function three(n) {
    if (n === 0) return "0";
    const a = Math.abs(n);
    return a >= 100 ? n.toFixed(0) : a >= 10 ? n.toFixed(1) : n.toFixed(2);
  }
  const time = ns => ns === 0 ? "0" : scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
  const size = n => n < 1024 ? n + " B" : scaled(n, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]);
  const count = n => n < 1e4 ? String(Math.round(n)) : scaled(n, [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]);
  const percent = (a, b) => b > 0 ? (100 * a / b).toFixed(a / b < 0.1 ? 1 : 0) + " %" : "–";

  async function read() {
    const text = document.getElementById("data").textContent.trim();
    const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // ---- panels ----
  const panels = document.getElementById("panels"), contents = document.getElementById("contents");
  function panel(id, title, ...children) {
    panels.append(el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), ...children));
    contents.append(el("a", { href: "#" + id }, title));
  }
  const note = text => el("p", { class: "note" }, text);
  const cards = list => el("div", { class: "cards" }, ...list.map(([name, value, more]) => el("div", { class: "card" }, el("span", {}, name), el("b", {}, value), el("span", {}, more || ""))));
  const legend = list => el("div", { class: "legend" }, ...list.map(([name, color]) => el("span", {}, el("i", { style: "background:" + color }), name)));
  function table(head, rows, left) {
    const cell = (tag, text, i) => el(tag, { class: i < left ? "l" : undefined }, text);
    return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...head.map((h, i) => cell("th", h, i)))), el("tbody", {}, ...rows.map(r => el("tr", {}, ...r.map((c, i) => cell("td", c, i)))))));
  }
  function bar(parts, whole, title) {
    return el("span", { class: "bar", title }, ...parts.map(([n, color]) => el("i", { style: `width:${whole > 0 ? 100 * n / whole : 0}%;background:${color}` })));
  }

  const tip = document.getElementById("tip");
  function showTip(text, x, y) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const r = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - r.width - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - r.height - 8)) + "px";
  }

  // ---- a run's or a test's job ----
  function showJob(j) {
    const all = j.ranks.map(r => r.sum), total = f => all.reduce((n, s) => n + f(s), 0);
    const n = j.ranks.length, steps = Math.max(...all.map(s => s.steps), 0);
    panel("summary", "Summary", cards([
      ["ranks", n, steps ? steps + " steps" : ""], ["time", time(j.span), "first event to last"],
      ["computing", percent(total(s => s.compute), n * j.span), count(total(s => s.ops)) + " operations"],
      ["communicating", percent(total(s => s.comm - s.wait), n * j.span), count(total(s => s.calls)) + " calls"],
      ["waiting for others", percent(total(s => s.wait), n * j.span), time(total(s => s.wait)) + " of all ranks"],
      ["sent", size(total(s => s.wire)), size(total(s => s.bytes)) + " of payload"],
      ["FLOPs", count(total(s => s.flops)), scaled(total(s => s.flops) / (j.span / 1e9) || 0, [[1e12, "TFLOP/s"], [1e9, "GFLOP/s"], [1e6, "MFLOP/s"]])],
      ["memory, fullest rank", size(Math.max(...all.map(s => s.peak), 0)), "of tensors"]]));
    if (j.warnings.length) panel("warnings", "Worth a look", el("ul", { class: "warn" }, ...j.warnings.map(w => el("li", {}, w.text + (w.line ? " " : ""), w.line ? el("a", { href: "#lines", class: "code", onclick: () => chooseLine(j, w.line) }, w.line) : ""))));
    const timeline = showTimeline(j);
    if (n > 1) showMatrix(j);
    showLines(j, timeline);
    showTree(j);
    showMemory(j);
    if (j.tensors && j.tensors.length) panel("sharding", "How meshes hold tensors", note("Each colour is what some ranks hold; a tensor in one colour is held whole by every rank. Of tensors with more than two dims the first two are drawn."), el("div", { class: "pictures" }, ...j.tensors.map(picture)));
    if (j.calls.length) panel("predicted", "Predicted beside measured", note("The cost model's seconds for each kind of call beside what the member that waited least took."), table(["call", "mesh dims", "ranks", "calls", "payload", "sent", "predicted", "measured", "ratio"],
      j.calls.map(c => [c.op, c.dims || "–", c.size, c.calls, size(c.bytes), size(c.wire), time(c.predict), time(c.measured), c.predict ? three(c.measured / c.predict) : "–"]), 2));
  }

  // ---- the timeline ----
  function showTimeline(j) {
    const lanes = []; // a row of each rank's thread
    j.ranks.forEach((r, i) => r.threads.forEach((t, k) => lanes.push({ rank: i, thread: k, name: k ? t : "rank " + r.rank })));
    const rowOf = new Map(lanes.map((l, y) => [l.rank + ":" + l.thread, y]));
    const height = lanes.length > 60 ? 9 : lanes.length > 24 ? 13 : 18;
    const events = [], byRow = lanes.map(() => []);
    j.ranks.forEach((r, i) => {
      let at = 0;
      for (let k = 0; k < r.b.length; k++) {
        at += r.b[k];
        const e = { rank: i, k, row: rowOf.get(i + ":" + r.t[k]), begin: at, end: at + Math.max(r.d[k], 1) };
        events.push(e);
        byRow[e.row].push(e);
      }
    });
    const canvas = el("canvas", { class: "timeline", tabindex: 0, role: "img", "aria-label": `Timeline of ${j.shown} events on ${j.ranks.length} ranks. Arrow keys move, plus and minus zoom, 0 shows all.` });
    const chosenText = el("div", { id: "chosen", class: "code", "aria-live": "polite" }, "Point at an event, or click it to keep it here.");
    const view = { from: 0, to: j.span }, state = { chosen: null, line: -1 };
    const zoom = (f, at) => { at = at ?? (view.from + view.to) / 2; move(at - (at - view.from) * f, at + (view.to - at) * f); };
    const pan = f => { const w = (view.to - view.from) * f; move(view.from + w, view.to + w); };
    function move(from, to) {
      const w = Math.min(Math.max(to - from, 50), j.span);
      view.from = Math.min(Math.max(from, 0), j.span - w);
      view.to = view.from + w;
      draw();
    }
    const button = (text, label, f) => el("button", { type: "button", title: label, "aria-label": label, onclick: f }, text);
    panel("timeline", "Timeline", el("div", { class: "tools" }, button("+", "zoom in", () => zoom(0.5)), button("−", "zoom out", () => zoom(2)), button("←", "earlier", () => pan(-0.3)), button("→", "later", () => pan(0.3)), button("all", "show all", () => move(0, j.span)),
      legend([["computing", css("--compute")], ["communicating", css("--comm")], ["waiting", css("--wait")]])), el("div", { class: "scroll" }, canvas), chosenText,
      note(j.shown < j.events ? `The ${count(j.shown)} longest of ${count(j.events)} events are drawn; sums elsewhere count all.` : `${count(j.events)} events.`));

    const left = () => Math.min(150, canvas.clientWidth * 0.25), top = 18;
    const px = t => left() + (t - view.from) / (view.to - view.from) * (canvas.clientWidth - left());
    const at = x => view.from + (x - left()) / (canvas.clientWidth - left()) * (view.to - view.from);
    function draw() {
      const w = canvas.clientWidth, h = top + lanes.length * (height + 1), ratio = devicePixelRatio || 1;
      canvas.style.height = h + "px";
      canvas.width = w * ratio; canvas.height = h * ratio;
      const c = canvas.getContext("2d");
      c.scale(ratio, ratio);
      const colors = { text: css("--text"), faint: css("--faint"), edge: css("--edge"), compute: css("--compute"), comm: css("--comm"), wait: css("--wait"), link: css("--link"), panel: css("--panel") };
      c.font = "11px system-ui, sans-serif";
      ticks(c, w, h, colors);
      byRow.forEach((list, row) => {
        const y = top + row * (height + 1);
        let drawn = -1;
        for (const e of list) {
          if (e.end < view.from || e.begin > view.to) continue;
          const x0 = Math.max(px(e.begin), left()), x1 = Math.max(px(e.end), x0 + 0.5);
          if (x1 <= drawn && e !== state.chosen) continue; // hidden by one of this pixel
          drawn = x1 - x0 < 1 ? Math.floor(x0) + 1 : -1;
          drawEvent(c, e, x0, x1, y, colors);
        }
      });
      c.fillStyle = colors.panel;
      c.fillRect(0, top, left() - 2, h);
      lanes.forEach((l, row) => {
        if (height < 12 && l.thread) return;
        c.fillStyle = l.thread ? colors.faint : colors.text;
        c.fillText(clip(c, l.name, left() - 10 - (l.thread ? 8 : 0)), l.thread ? 10 : 2, top + row * (height + 1) + height - Math.max(2, (height - 9) / 2));
      });
    }
    function clip(c, text, width) {
      if (c.measureText(text).width <= width) return text;
      while (text && c.measureText(text + "…").width > width) text = text.slice(0, -1);
      return text + "…";
    }
    function ticks(c, w, h, colors) {
      const raw = (view.to - view.from) / Math.max((w - left()) / 90, 1), p = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find(f => f * p >= raw) * p;
      c.strokeStyle = colors.edge; c.fillStyle = colors.faint;
      for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
        const x = Math.round(px(t)) + 0.5;
        c.beginPath(); c.moveTo(x, top - 4); c.lineTo(x, h); c.stroke();
        c.fillText(time(t), x + 3, 11);
      }
    }
    function drawEvent(c, e, x0, x1, y, colors) {
      const r = j.ranks[e.rank], comm = r.t[e.k] > 0, faded = state.line >= 0 && r.l[e.k] !== state.line;
      c.globalAlpha = faded ? 0.15 : 1;
      c.fillStyle = comm ? colors.comm : colors.compute;
      c.fillRect(x0, y, x1 - x0, height);
      if (comm && r.v[e.k] > 0) {
        c.fillStyle = colors.wait;
        c.fillRect(x0, y, Math.max(0, Math.min(px(e.begin + r.v[e.k]), x1) - x0), height);
      }
      if (x1 - x0 > 34 && height > 11) {
        c.fillStyle = "#fff";
        c.fillText(clip(c, j.strings[r.n[e.k]], x1 - x0 - 6), x0 + 3, y + height - 5);
      }
      const mates = state.chosen && comm && j.ranks[state.chosen.rank].k[state.chosen.k] === r.k[e.k];
      if (e === state.chosen || mates) {
        c.strokeStyle = colors.text; c.lineWidth = 2;
        c.strokeRect(x0, y, x1 - x0, height);
        c.lineWidth = 1;
      }
      c.globalAlpha = 1;
    }
    function find(x, y) {
      const row = Math.floor((y - top) / (height + 1));
      if (row < 0 || row >= lanes.length || x < left()) return null;
      const t = at(x), near = (view.to - view.from) / (canvas.clientWidth - left()) * 2;
      let best = null;
      for (const e of byRow[row]) if (t >= e.begin - near && t <= e.end + near && (!best || e.end - e.begin < best.end - best.begin)) best = e;
      return best;
    }
    function describe(e) {
      const r = j.ranks[e.rank], k = e.k, s = i => j.strings[i];
      const lines = [`${s(r.n[k])}  ${s(r.x[k])}`, `rank ${r.rank}, ${time(r.d[k])} from ${time(e.begin)}${r.v[k] ? ", " + time(r.v[k]) + " of it waiting" : ""}`];
      if (r.t[k] > 0) lines.push(`${r.threads[r.t[k]]}: sends ${size(r.w[k])}, predicted ${time(r.c[k])}`);
      lines.push([s(r.l[k]), s(r.p[k]), s(r.m[k]) && "module " + s(r.m[k]), s(r.r[k]) && "region " + s(r.r[k])].filter(Boolean).join(", "));
      return lines.join("\n");
    }
    let drag = null;
    canvas.addEventListener("pointerdown", e => { drag = { x: e.offsetX, from: view.from, to: view.to, moved: false }; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointerup", e => {
      if (drag && !drag.moved) choose(find(e.offsetX, e.offsetY));
      drag = null;
    });
    canvas.addEventListener("pointermove", e => {
      if (drag && Math.abs(e.offsetX - drag.x) > 3) {
        drag.moved = true;
        const d = (drag.x - e.offsetX) / (canvas.clientWidth - left()) * (drag.to - drag.from);
        move(drag.from + d, drag.to + d);
        return;
      }
      const hit = find(e.offsetX, e.offsetY);
      showTip(hit && describe(hit), e.clientX, e.clientY);
    });
    canvas.addEventListener("pointerleave", () => showTip(""));
    canvas.addEventListener("wheel", e => {
      if (!e.ctrlKey && !e.shiftKey && Math.abs(e.deltaY) > Math.abs(e.deltaX) && canvas.parentElement.scrollHeight > canvas.parentElement.clientHeight + 4) return; // rows scroll
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(e.deltaX / 800);
      else zoom(e.deltaY > 0 ? 1.25 : 0.8, at(e.offsetX));
    }, { passive: false });
    canvas.addEventListener("keydown", e => {
      const keys = { ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), 0: () => move(0, j.span), Escape: () => choose(null) };
      if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
    });
    function choose(e) {
      state.chosen = e;
      chosenText.textContent = e ? describe(e) : "Point at an event, or click it to keep it here.";
      draw();
    }
    redraw.push(draw);
    draw();
    return { byLine(name) { state.line = j.strings.findIndex(s => name && s.startsWith(name + ":")); draw(); } };
  }
  const redraw = [];

  // ---- who sent how much to whom ----
  function showMatrix(j) {
    const n = j.ranks.length, most = Math.max(1, ...j.matrix.flat()), numbers = n <= 16;
    const mix = v => v ? `background:color-mix(in srgb, var(--comm) ${Math.round(12 + 78 * Math.sqrt(v / most))}%, transparent)` : "";
    const t = el("table", { class: "matrix" }, el("thead", {}, el("tr", {}, el("th", {}, "from \\ to"), ...j.ranks.map(r => el("th", { scope: "col" }, String(r.rank))))),
      el("tbody", {}, ...j.matrix.map((row, i) => el("tr", {}, el("th", { scope: "row" }, String(j.ranks[i].rank)),
        ...row.map((v, k) => el("td", { style: mix(v), title: `rank ${j.ranks[i].rank} to rank ${j.ranks[k].rank}: ${size(v)}` }, numbers && v ? size(v) : ""))))));
    panel("matrix", "Bytes between ranks", note("What each rank sent to each other: messages, and the message schedules of collectives, whatever the transport moved."), el("div", { class: "scroll" }, t));
  }

  // ---- lines of the script ----
  let chooseLine = () => {};
  function showLines(j, timeline) {
    if (!j.lines.length) return;
    const most = Math.max(...j.lines.map(l => l.compute + l.comm));
    const rows = j.lines.map(l => {
      const name = l.file + ":" + l.line;
      const row = el("tr", { class: "hit", tabindex: 0, "data-line": name }, el("td", { class: "l code" }, name), el("td", { class: "l code src", title: l.text }, l.text.trim() || "–"),
        el("td", {}, bar([[l.compute, "var(--compute)"], [l.comm - l.wait, "var(--comm)"], [l.wait, "var(--wait)"]], most)), el("td", {}, time(l.compute)), el("td", {}, time(l.comm - l.wait)), el("td", {}, time(l.wait)), el("td", {}, count(l.calls)), el("td", {}, l.wire ? size(l.wire) : "–"));
      const pick = () => chooseLine(j, row.classList.contains("chosen") ? "" : name);
      row.addEventListener("click", pick);
      row.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { pick(); e.preventDefault(); } });
      return row;
    });
    chooseLine = (job, name) => {
      name = name.split(":").slice(0, 2).join(":");
      rows.forEach(r => r.classList.toggle("chosen", r.dataset.line === name));
      timeline.byLine(name);
    };
    const head = ["line", "source", "", "computing", "communicating", "waiting", "calls", "sent"];
    panel("lines", "By line of the script", note("Sums over all ranks; what backward does counts for the line whose gradient it is, where that is known. A click on a line shows it in the timeline."),
      el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...head.map((h, i) => el("th", { class: i < 2 ? "l" : undefined }, h)))), el("tbody", {}, ...rows))));
  }

  // ---- modules and regions ----
  function showTree(j) {
    const branch = (n, whole, open) => {
      const words = `${time(n.compute)} computing, ${time(n.comm)} communicating, ${size(n.wire)} sent, ${count(n.flops)} FLOPs`;
      const name = [el("span", { class: "code" }, n.name), el("span", { class: "n" }, bar([[n.compute, "var(--compute)"], [n.comm - n.wait, "var(--comm)"], [n.wait, "var(--wait)"]], whole), " ", words)];
      if (!n.parts) return el("div", {}, ...name);
      return el("details", { open }, el("summary", {}, ...name), el("div", {}, ...n.parts.map(p => branch(p, whole, false))));
    };
    const trees = [["Modules", j.tree], ["Regions", j.regions]].filter(([, t]) => t.parts);
    if (!trees.length) trees.push(["Program", j.tree]);
    panel("tree", "By module and region", ...trees.map(([name, t]) => el("div", {}, el("p", { class: "note" }, name), branch(t, t.compute + t.comm, true))));
  }

  // ---- memory ----
  function showMemory(j) {
    const ranks = j.ranks.filter(r => r.memory);
    if (!ranks.length) return;
    const choice = el("select", { "aria-label": "rank" }, ...ranks.map((r, i) => el("option", { value: i }, "rank " + r.rank)));
    const fullest = ranks.reduce((best, r, i) => r.sum.peak > ranks[best].sum.peak ? i : best, 0);
    choice.value = fullest;
    const place = el("div", {}), kinds = ranks[0].memory.rows.length > 1 ? j.kinds : ["tensors"];
    panel("memory", "Memory over time", el("div", { class: "tools" }, choice, legend(kinds.map((k, i) => [k, css("--k" + i)]))), place);
    function draw() {
      const m = ranks[choice.value].memory, width = Math.max(place.clientWidth, 200);
      const stacked = m.rows.map(() => []);
      m.time.forEach((_, i) => { let sum = 0; m.rows.forEach((row, k) => { sum += row[i]; stacked[k].push(sum); }); });
      const series = stacked.map((_, k) => ({ label: kinds[k], stroke: css("--k" + k), fill: css("--k" + k), width: 1, paths: uPlot.paths.stepped({ align: 1 }), value: (u, v, s, i) => i === null ? "–" : size(m.rows[k][i]) })).reverse();
      const axis = { stroke: css("--faint"), grid: { stroke: css("--edge"), width: 1 }, ticks: { stroke: css("--edge"), width: 1 } };
      place.replaceChildren();
      new uPlot({ width, height: 260, scales: { x: { time: false }, y: { range: (u, lo, hi) => [0, Math.max(hi, 1) * 1.05] } }, cursor: { y: false },
        axes: [{ ...axis, values: (u, v) => v.map(time) }, { ...axis, size: 78, values: (u, v) => v.map(size) }], series: [{ label: "time", value: (u, v) => v === null ? "–" : time(v) }, ...series] }, [m.time, ...stacked.reverse()], place);
    }
    choice.addEventListener("change", draw);
    redraw.push(draw);
    draw();
  }

  // ---- how a mesh holds a tensor ----
  const hue = (i, n) => `hsl(${Math.round(360 * i / Math.max(n, 1) + 210) % 360} 60% 55%)`;
  function picture(t) {
    const shape = t.shape.length ? t.shape : [1], flat = shape.length === 1, W = 220, H = flat ? 46 : 120;
    const across = flat ? 0 : 1, wide = shape[across] || 1, high = flat ? 1 : shape[0] || 1;
    const pieces = t.blocks.map((b, i) => {
      const lo = d => b.lo[d] ?? 0, hi = d => b.hi[d] ?? 1;
      const x = lo(across) / wide * W, w = (hi(across) - lo(across)) / wide * W, y = flat ? 0 : lo(0) / high * H, h = flat ? H : (hi(0) - lo(0)) / high * H;
      const who = b.ranks.length > 6 ? `${b.ranks.slice(0, 4)}… (${b.ranks.length})` : b.ranks.join(", ");
      return el("g", {}, el("title", {}, `ranks ${b.ranks.join(", ")}: [${b.lo.map((v, d) => v + ":" + b.hi[d]).join(", ")}]`), el("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(w - 1, 0.5), height: Math.max(h - 1, 0.5), rx: 2, fill: hue(i, t.blocks.length), "fill-opacity": 0.55, stroke: "currentColor", "stroke-opacity": 0.35 }),
        w > 14 && h > 12 ? el("text", { x: x + w / 2, y: y + h / 2 + 4, "text-anchor": "middle" }, who.length * 6 < w ? who : String(b.ranks[0]) + (b.ranks.length > 1 ? "…" : "")) : null);
    });
    const mesh = t.mesh.map((n, i) => t.dims && t.dims[i] ? t.dims[i] + " " + n : n).join(" × ");
    return el("figure", {}, el("figcaption", {}, el("b", { class: "code" }, t.name), ` ${t.dtype}[${t.shape.join(", ")}]`, el("br"), el("span", { class: "note" }, `${t.placements.join(", ")} on mesh ${mesh}`)),
      el("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${t.name}: ${t.blocks.length} blocks` }, ...pieces));
  }

  // ---- a plan ----
  function showPlan(p, lines, machine) {
    const s = p.seconds, parts = [["arithmetic", s.arithmetic, "--k0"], ["communication", s.communication, "--k3"], ["bubble", s.bubble, "--k5"], ["waiting", s.waiting, "--k4"]];
    const ns = seconds => time(seconds * 1e9);
    panel("summary", "Summary", cards([["ranks", count(p.ranks), p.kinds + (p.kinds === 1 ? " kind" : " kinds") + ", on " + machine], ["step", ns(p.step_seconds), ""], ["FLOPs", count(p.flops), three(p.tflops_per_rank) + " TFLOP/s a rank"],
      ["MFU", percent(p.mfu, 1), "HFU " + percent(p.hfu, 1)], ["parameters", count(p.parameters), "of the whole model"], ["memory, fullest rank", size(p.memory.peak), p.memory.fits ? "fits" : "does not fit"]]));
    const stack = (list, show) => { const whole = list.reduce((n, r) => n + r[1], 0); return el("div", {}, el("div", { class: "bar", style: "width:100%;height:22px" }, ...list.map(([n, v, c]) => el("i", { title: `${n}: ${show(v)}`, style: `width:${whole ? 100 * v / whole : 0}%;background:var(${c})` }))), legend(list.map(([n, v, c]) => [`${n} ${show(v)} (${percent(v, whole)})`, css(c)]))); };
    panel("time", "Where the step goes", stack(parts, ns));
    const m = p.memory;
    panel("memory", "Memory by kind", stack([["parameters", m.parameters, "--k0"], ["gradients", m.gradients, "--k1"], ["optimizer", m.optimizer, "--k2"], ["activations", m.activations, "--k3"], ["temporaries", m.temporaries, "--k4"], ["communication", m.communication, "--k5"]], size));
    if (lines && lines.length) panel("lines", "By line of the script", table(["line", "source", "call", "calls", "payload", "sent", "time"], lines.map(l => [l.file + ":" + l.line, l.text.trim() || "–", l.what, count(l.calls), size(l.bytes), size(l.wire), ns(l.seconds || 0)]), 3));
    if (p.regions && p.regions.length) {
      const branch = r => { const text = [el("span", { class: "code" }, r.name), el("span", { class: "n" }, `${ns(r.seconds)} arithmetic, ${ns(r.communication)} communication, ${count(r.flops)} FLOPs`)]; return r.regions && r.regions.length ? el("details", { open: true }, el("summary", {}, ...text), el("div", {}, ...r.regions.map(branch))) : el("div", {}, ...text); };
      panel("tree", "By region", ...p.regions.map(branch));
    }
    if (p.told_apart && p.told_apart.length) panel("apart", "Kinds of ranks", el("ul", {}, ...p.told_apart.map(t => el("li", {}, t))));
  }

  // ---- all of it ----
  function show(job) {
    panels.replaceChildren(); contents.replaceChildren(); redraw.length = 0;
    if (data.plan) showPlan(data.plan, data.lines, data.machine || "");
    if (job && job.events) showJob(job);
    else if (!data.plan) panel("empty", "Nothing was recorded", note("No rank has computed or communicated: every test was skipped, or no step was traced."));
    document.body.dataset.panels = [...panels.children].map(p => p.id).join(" ");
  }
  let data;
  try {
    data = await read();
    const choice = document.getElementById("job");
    data.jobs = data.jobs || [];
    data.jobs.forEach((j, i) => choice.append(el("option", { value: i }, j.name || "run")));
    document.getElementById("job-choice").hidden = data.jobs.length < 2;
    choice.addEventListener("change", () => show(data.jobs[choice.value]));
    show(data.jobs[0]);
  } catch (e) {
    panels.replaceChildren(el("section", {}, el("h2", {}, "This page cannot be drawn"), note(String(e))));
    document.body.dataset.errors = String(e && e.stack || e);
  }
  const again = () => redraw.forEach(f => f());
  let waiting = 0;
  addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(again); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("beforeprint", again);
})();
