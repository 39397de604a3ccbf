// node check.mjs CHROMIUM FOLDER: opens every page of the folder at two widths, light
// and dark, and checks that it has no error and no empty panel, that nothing sticks out,
// and that clicks and keys work. It leaves a picture of each beside it.
import { chromium } from "playwright-core";
import { readdirSync } from "node:fs";
import { resolve } from "node:path";

const [browserPath, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"], timeout: 300000 });
let bad = 0, seen = 0;
const fail = text => { bad++; console.log(text); };

for (const file of readdirSync(folder).filter(f => f.endsWith(".html"))) {
  for (const width of [400, 1400]) for (const colorScheme of ["light", "dark"]) {
    const name = `${file}, ${width} px, ${colorScheme}`;
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    page.on("console", m => { if (m.type() === "error") fail(`${name}: ${m.text()}`); });
    page.on("pageerror", e => fail(`${name}: ${e}`));
    page.on("request", r => { if (!/^(file|data|blob):/.test(r.url())) fail(`${name}: asks for ${r.url()}`); });
    page.setDefaultTimeout(300000); // the machine may be busy
    await page.goto("file://" + resolve(folder, file));
    await page.waitForSelector("body[data-panels]");
    const panels = await page.$$eval("main > section", list => list.map(s => ({ id: s.id, empty: s.innerText.trim().split("\n").length < 2 && !s.querySelector("svg, canvas") })));
    if (!panels.length) fail(`${name}: no panel`);
    for (const p of panels) if (p.empty) fail(`${name}: panel ${p.id} is empty`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) fail(`${name}: ${wide} px stick out`);
    const errors = await page.evaluate(() => document.body.dataset.errors);
    if (errors) fail(`${name}: ${errors}`);
    if (panels.some(p => p.id === "timeline")) await tryTimeline(page, name);
    await page.screenshot({ path: resolve(folder, `${file}-${width}-${colorScheme}.png`), fullPage: true });
    await page.close();
    seen++;
  }
}

// The timeline zooms by key and button, an event can be chosen, and a line of the
// script chooses its events.
async function tryTimeline(page, name) {
  const canvas = page.locator("canvas.timeline");
  const picture = () => canvas.evaluate(c => c.toDataURL());
  let before = await picture();
  await canvas.focus();
  await page.keyboard.press("+");
  if (await picture() === before) fail(`${name}: + does not zoom`);
  await page.keyboard.press("0");
  const box = await canvas.boundingBox();
  let chosen = false;
  for (let row = 0; row < 3 && !chosen; row++) for (let x = 100; x < box.width && !chosen; x += 3) {
    await page.mouse.move(box.x + x, box.y + 24 + row * 19);
    if (await page.locator("#tip").isHidden()) continue;
    await page.mouse.down();
    await page.mouse.up();
    chosen = (await page.locator("#chosen").innerText()).includes("rank ");
  }
  if (!chosen) fail(`${name}: a click chooses no event`);
  const row = page.locator("#lines tr.hit").first();
  if (await row.count()) {
    before = await picture();
    await row.click();
    if (!(await row.getAttribute("class")).includes("chosen")) fail(`${name}: a click chooses no line`);
    const lines = await page.locator("#lines tr.hit").count();
    if (lines > 1 && await picture() === before) fail(`${name}: a line does not show in the timeline`);
  }
}

await browser.close();
console.log(`${seen} views of pages, ${bad} problems`);
process.exit(bad || !seen ? 1 : 0);
