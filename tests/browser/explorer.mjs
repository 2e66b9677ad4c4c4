// SPDX-License-Identifier: Apache-2.0
//
// node explorer.mjs URL GUARDED EMPTY FOLDER MODULE seven.json [PICTURES]: uses the
// explorer as people do.
// GUARDED is a server that wants the token in FARCALL_TOKEN, or the one in
// FARCALL_PLAIN, which may not ask for profiles. EMPTY watches FOLDER, and serves
// nothing until MODULE and its sidecar are there. The variable ONLY is a pattern: only
// rows whose names match it are run.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { crc32 as zlibCrc32, deflateSync } from "node:zlib";
import { chromium } from "playwright-core";
import { walk } from "./walk.mjs";

const [, , url, guarded, empty, folder, module, seven, pictures] = process.argv;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");
const [image] = JSON.parse(readFileSync(seven, "utf8"));
const report = `file://${process.cwd()}/report.html`;  // of a load, by farcall bench
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

// Opens a page; notes its foreign requests, its errors and what breaks its policy.
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  page.noted = [];
  page.on("request", (request) => {
    const asked = request.url();
    const ours = asked === report || [url, guarded, empty].some((each) => asked.startsWith(`${each}/`));
    if (!ours && !asked.startsWith("blob:")) page.noted.push(`request to ${asked}`);
  });
  page.on("pageerror", (error) => page.noted.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // Chromium itself logs each answer with an error status; these are expected.
    if (message.type() !== "error") return;
    if (/status of (4\d\d|503)|ERR_(FAILED|INTERNET_DISCONNECTED)/.test(message.text())) return;
    page.noted.push(message.text());
  });
  return page;
}

async function go(page, name) {
  const search = page.getByLabel("Find a function");
  await search.fill(name);
  await page.getByRole("link", { name: name.split(" ").at(-1), exact: true }).first().click();
  await page.getByRole("heading", { level: 2, name: name.split(" ").at(-1) }).waitFor();
  await filled(page);
}

// Waits until the form shows its first example, if it has one.
const filled = (page) => page.locator('[aria-label=Examples][hidden], [aria-label=Examples] [aria-pressed=true]')
  .waitFor({ state: "attached" });

async function visit(page, name) {
  await page.goto(`${url}/#/${name}`);
  await page.getByRole("heading", { level: 2, name: name.split("/")[1] }).waitFor();
  await filled(page);
}

const call = async (page) => {
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByRole("heading", { name: /^(Answer|Problem)$/ }).waitFor();
};

async function draw(page) {
  await filled(page);
  await page.getByRole("button", { name: "Clear" }).click();
  const pad = await page.locator(".pad").boundingBox();
  const at = (x, y) => [pad.x + pad.width * x, pad.y + pad.height * y];
  await page.mouse.move(...at(.3, .12));
  await page.mouse.down();
  await page.mouse.move(...at(.8, .12), { steps: 6 });
  await page.mouse.move(...at(.45, .9), { steps: 8 });
  await page.mouse.up();
}

async function noViolations(page, where) {
  // The debugger evaluates axe, because the page's policy forbids foreign scripts.
  await page.evaluate(axe);
  const { violations } = await page.evaluate("axe.run()");
  assert.deepEqual(violations.map((each) => `${where}: ${each.id}: ${each.nodes.map((node) => node.html)}`), []);
}

const answerText = (page) => page.locator("#answer").innerText();

// Holds the page's calls back; returns a function that lets them go on.
async function holdCalls(page) {
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  await page.route("**/api/v1/functions/**", async (route) => {
    if (route.request().method() === "POST") await held;
    await route.continue().catch(() => {});
  });
  return go;
}

// Pretends a function that no server has, which answers with these results.
async function pretend(page, types, results, show, { text = "made()", module = "m" } = {}) {
  const signature = { raw: { attrs: show === undefined ? {} : { show } }, module, version: "1", name: "made", callable: true, arguments: [],
    text, results: types.map((type) => ({ type })) };
  await page.route(`**/api/v1/functions/${module}/made`, (route) => route.fulfill({
    json: route.request().method() === "POST" ? { results } : signature }));
  await page.goto(`${url}/#/${module}/made`);
  await page.getByRole("heading", { level: 2, name: "made" }).waitFor();
  await call(page);
}

const boxOf = (page, selector) => page.locator(selector).boundingBox();

// A PNG with these rows of bytes; `type` is 0 for grey, 3 for indices of the palette.
function png(rows, type = 0, palette = []) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(rows[0].length);
  head.writeUInt32BE(rows.length, 4);
  head[8] = 8;
  head[9] = type;
  const lines = Buffer.concat(rows.map((row) => Buffer.from([0, ...row])));
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head),
    ...(palette.length ? [chunk("PLTE", Buffer.from(palette.flat()))] : []),
    chunk("IDAT", deflateSync(lines, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

// The same picture with its 255 most frequent colours only: a third of the size.
async function smaller(page, picture) {
  const { width, pixels } = await page.evaluate(async (bytes) => {
    const data = Uint8Array.from(atob(bytes), (each) => each.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([data], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const { data: all } = context.getImageData(0, 0, bitmap.width, bitmap.height);
    return { width: bitmap.width, pixels: Array.from(new Uint32Array(all.buffer)) };
  }, picture.toString("base64"));
  const counts = new Map();
  for (const each of pixels) counts.set(each, (counts.get(each) ?? 0) + 1);
  const parts = (each) => [each & 255, each >> 8 & 255, each >> 16 & 255];
  const kept = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 255).map(([each]) => parts(each));
  const near = new Map([...counts.keys()].map((each) => {
    const far = kept.map((one) => one.reduce((sum, part, k) => sum + (part - parts(each)[k]) ** 2, 0));
    return [each, far.indexOf(Math.min(...far))];
  }));
  const rows = [];
  for (let at = 0; at < pixels.length; at += width) {
    rows.push(pixels.slice(at, at + width).map((each) => near.get(each)));
  }
  return png(rows, 3, kept);
}

// Node 20.15 and later have crc32; Debian 12's Node does not.
const crc32 = zlibCrc32 ?? ((bytes) => {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = crc >>> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
});

// How to run the code that the page shows, by language.
const shells = { curl: (text) => execFileSync("sh", ["-c", text], { encoding: "utf8" }),
  Python: (text) => execFileSync("python3", ["-c", text], { encoding: "utf8" }),
  JavaScript: (text) => execFileSync("node", ["--input-type=module", "-e", text], { encoding: "utf8" }) };

const tests = {
  async "a seven is found, drawn, called and read"() {
    const page = await open();
    await page.goto(url);
    await go(page, "digits classify");
    await draw(page);
    const inked = await page.locator(".pad").evaluate((pad) =>
      pad.getContext("2d").getImageData(0, 0, 8, 8).data.filter((each, i) => i % 4 === 3 && each > 128).length);
    assert.ok(inked > 8, `${inked} dark cells`);
    await call(page);
    assert.match(await answerText(page), /digit\s+7/);
    for (const stage of ["read", "route", "admit", "queue", "decode", "call", "encode", "write"]) {
      assert.match(await page.locator(".stages").innerText(), new RegExp(`${stage} [\\d.]+ ms`));
    }
    await noViolations(page, "digits");
    return page;
  },

  async "the code it shows works"() {
    const page = await open({ permissions: ["clipboard-read", "clipboard-write"] });
    await visit(page, "digits/classify");
    await draw(page);
    for (const [language, execute] of Object.entries(shells)) {
      await page.getByRole("radio", { name: language }).check();
      const shown = page.getByLabel("Code of this call");
      await shown.filter({ hasText: /0, ?[1-9].*… 64 elements …/ }).waitFor();
      assert.doesNotMatch(await shown.innerText(), /options/);
      await page.getByRole("button", { name: "Copy" }).click();
      const text = await page.evaluate("navigator.clipboard.readText()");
      assert.match(execute(text), /digit['"]?: ?7/, language);
      await page.getByRole("button", { name: "Show all elements" }).click();
      assert.equal(await shown.innerText(), text);
      await page.getByRole("button", { name: "Show all elements" }).click();
    }
    return page;
  },

  async "steps are drawn as they come, and end as they are told"() {
    const page = await open();
    await visit(page, "scalars-3.13.0/hyp");
    const fields = page.getByLabel(/^input\d/);
    await fields.nth(0).fill("3");
    await fields.nth(1).fill("4");
    // From here on, by keyboard alone.
    await page.locator("summary", { hasText: "Repeat" }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel(/ becomes$/).focus();
    await page.keyboard.type("input1");
    await page.getByLabel("Steps", { exact: true }).fill("50");
    await page.keyboard.press("Enter");
    await page.getByText("Made 50 steps", { exact: true }).waitFor();
    const steps = page.getByRole("region", { name: /^Steps of / });
    const told = await steps.getByRole("img").getAttribute("aria-label");
    assert.match(told, /^Line of \w+, 50 steps, from 5 to 21\.\d+$/);
    // sqrt(16 + 9 n) for n steps
    assert.equal(Number(await steps.locator("code").innerText()).toFixed(3), Math.sqrt(16 + 9 * 50).toFixed(3));
    await page.getByText(/^call [\d.]+ ms$/).waitFor();
    await noViolations(page, "steps");
    await page.getByLabel("Until").selectOption({ index: 1 });
    await page.getByLabel("Value").fill("5");
    await page.getByRole("button", { name: "Repeat" }).click();
    await page.getByText("Ended by its value after 1 steps", { exact: true }).waitFor();
    await page.getByLabel("Steps", { exact: true }).fill("0");
    await page.getByRole("button", { name: "Repeat" }).click();
    await page.getByText("a number from 1 to 100000").waitFor();
    return page;
  },

  async "calls go into a session, whose state is listed"() {
    const page = await open();
    await page.goto(`${url}/#/matmul/matmul`);
    const sessions = `${url}/api/v1/modules/matmul/sessions`;
    // By keyboard alone.
    await page.locator("summary", { hasText: "Session" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Calls belong to no session", { exact: true }).waitFor();
    await noViolations(page, "no session");
    const made = page.waitForResponse((each) => each.url() === sessions);
    await page.getByRole("button", { name: "New session" }).focus();
    await page.keyboard.press("Enter");
    const { session } = await (await made).json();
    const short = `Calls go into session ${session.slice(0, 8)}…, at step`;
    await page.getByText(`${short} 0`, { exact: true }).waitFor();
    await page.getByText("It holds nothing.", { exact: true }).waitFor();
    const put = async (name, value) => {
      const answer = await fetch(`${sessions}/${session}/values/${name}`, { method: "PUT",
        headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });
      assert.equal(answer.status, 200);
    };
    await put("kv", { dtype: "f32", shape: [2, 3], data: [1, 2, 3, 4, 5, 6] });
    await put("note", { bytes: "some text" });
    await put("large", { dtype: "f32", shape: [300, 300], b64: Buffer.alloc(360000).toString("base64") });
    await call(page);
    await page.getByText(`${short} 1`, { exact: true }).waitFor();
    const state = page.getByRole("region", { name: "State" });
    assert.match(await state.innerText(), /kv\s+tensor<2x3xf32>\s+24/);
    assert.match(await state.innerText(), /note\s+bytes\s+9/);
    assert.match(await state.innerText(), /large\s+tensor<300x300xf32>\s+360000\s+too large/);
    await page.getByRole("button", { name: "Show kv" }).focus();
    await page.keyboard.press("Enter");
    const table = page.getByRole("region", { name: "kv" });
    await table.waitFor();
    assert.match(await table.innerText(), /1\s+4\s+5\s+6/);
    await noViolations(page, "a session");
    // The shown code of the call names the session, so each run of it is one more step.
    const code = page.getByLabel("Code of this call");
    for (const [language, execute] of Object.entries(shells)) {
      await page.getByRole("radio", { name: language }).check();
      await code.filter({ hasText: session }).waitFor();
      const { step } = await (await fetch(`${sessions}/${session}`)).json();
      execute(await code.innerText());
      assert.equal((await (await fetch(`${sessions}/${session}`)).json()).step, step + 1, language);
    }
    await page.getByRole("button", { name: "Show note" }).press("Enter");
    await page.getByText(/some text|c29tZSB0ZXh0/).waitFor();
    // Steps of a loop are calls of the session, too.
    await page.locator("summary", { hasText: "Repeat" }).click();
    const steps = page.waitForRequest(/iterate/);
    await page.getByRole("button", { name: "Repeat" }).press("Enter");
    assert.equal((await steps).headers()["farcall-session"], session);
    // The session can be left, and found again by its id.
    await page.getByRole("button", { name: "Leave it" }).press("Enter");
    await page.getByText("Calls belong to no session", { exact: true }).waitFor();
    await code.filter({ hasNotText: session }).waitFor();
    assert.ok(await page.getByRole("button", { name: "New session" }).evaluate((each) => each === document.activeElement));
    const id = page.getByLabel("Id of a session");
    await id.fill("x");
    await id.press("Enter");
    await page.getByText("an id has 32 hexadecimal digits").waitFor();
    await id.fill("0".repeat(32));
    await id.press("Enter");
    await page.locator(".problem").getByText(/session_not_found/).waitFor();
    await id.fill(session);
    await id.press("Enter");
    await page.getByText(new RegExp(`^${short} `)).waitFor();
    // An id that does not exist gives an error, and the session stays.
    await id.fill("0".repeat(32));
    await id.press("Enter");
    await page.locator(".problem").getByText(/session_not_found/).waitFor();
    await page.getByText(new RegExp(`^${short} `)).waitFor();
    // Another client ends the session: the next call says so, and the page leaves it.
    await fetch(`${sessions}/${session}`, { method: "DELETE" });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("heading", { name: "Problem" }).waitFor();
    await page.getByText("Calls belong to no session", { exact: true }).waitFor();
    await page.getByRole("button", { name: "New session" }).press("Enter");
    await page.getByText(/at step 0$/).waitFor();
    assert.equal(await page.locator(".signature .problem").count(), 0);
    await page.getByRole("button", { name: "End it" }).press("Enter");
    await page.getByText("Calls belong to no session", { exact: true }).waitFor();
    return page;
  },

  async "a view is told of sessions when it is shown, whatever its module is called"() {
    const page = await open();
    let id = 0;
    const asked = [];
    await page.route("**/modules/*/sessions**", (route) => {
      asked.push(route.request().method());
      route.fulfill({ json: { session: String(id).repeat(32), step: 0, values: {} } });
    });
    const sent = () => page.waitForRequest((each) => /made$/.test(each.url()) && each.method() === "POST");
    for (const module of ["constructor", "__proto__", "m"]) {
      const first = sent();
      await pretend(page, [{ kind: "scalar", dtype: "i32" }], [1], undefined, { module });
      assert.equal((await first).headers()["farcall-session"], undefined);
      id++;
      await page.locator("summary", { hasText: "Session" }).click();
      await page.getByRole("button", { name: "New session" }).click();
      await page.getByText(new RegExp(`session ${String(id).repeat(8)}…, at step 0`)).waitFor();
      const second = sent();
      await page.getByRole("button", { name: "Call", exact: true }).click();
      assert.equal((await second).headers()["farcall-session"], String(id).repeat(32));
    }
    // Of two functions of a module, only the one that is shown asks; the other asks
    // once it is shown.
    id++;
    await visit(page, "digits/classify");
    await visit(page, "digits/batch");
    await page.locator("summary", { hasText: "Session" }).click();
    asked.length = 0;
    await page.getByRole("button", { name: "New session" }).click();
    const told = page.getByText(new RegExp(`session ${String(id).repeat(8)}…, at step 0`));
    await told.waitFor();
    assert.deepEqual(asked, ["POST", "GET"]);
    await page.goBack();
    await page.getByRole("heading", { level: 2, name: "classify" }).waitFor();
    await told.waitFor({ state: "attached" });
    assert.deepEqual(asked, ["POST", "GET", "GET"]);
    return page;
  },

  async "steps can be cancelled, fail, and be refused"() {
    const page = await open();
    const repeat = async (name, steps, feed) => {
      await go(page, name);
      await page.locator("summary", { hasText: "Repeat" }).click();
      await page.getByLabel("Steps", { exact: true }).fill(String(steps));
      if (feed) await page.getByLabel(/becomes$/).first().selectOption({ label: feed });
      await page.getByRole("button", { name: "Repeat" }).press("Enter");
    };
    await page.goto(url);
    await repeat("mandelbrot render", 100000);
    const cancel = page.getByRole("button", { name: "Cancel" });
    await page.getByText(/^step \d+$/).waitFor();
    await page.getByRole("region", { name: "Steps of output0" }).getByRole("img").waitFor();
    await noViolations(page, "steps that come");
    await cancel.press("Enter");
    await page.getByText(/^Cancelled after \d+ steps$/).waitFor();
    assert.ok(await page.getByRole("button", { name: "Repeat" }).evaluate((each) => each === document.activeElement));
    assert.ok(await cancel.isHidden());
    // Vectors are drawn as a row for each step.
    await repeat("filter fir", 5);
    await page.getByText("Made 5 steps", { exact: true }).waitFor();
    await page.getByRole("img", { name: /a row for each of 5 steps/ }).waitFor();
    // The first step divides 3 by 4, which gives 0; the second divides 3 by that 0.
    await go(page, "scalars-3.13.0 divide");
    const fields = page.getByLabel(/^input\d/);
    await fields.nth(0).fill("3");
    await fields.nth(1).fill("4");
    await repeat("scalars-3.13.0 divide", 9, "input1");
    await page.getByText("Failed after 1 steps", { exact: true }).waitFor();
    await page.locator(".problem").getByText(/step 2: integer division by zero/).waitFor();
    for (const [how, said] of [["fulfill", "Refused"], ["abort", /^The answer ended after 0 steps: /]]) {
      await page.route("**/*iterate*", (route) => (how === "abort" ? route.abort() : route.fulfill({
        status: 503, contentType: "application/problem+json",
        body: '{"title":"Overloaded","code":"overloaded","detail":"too many wait"}' })));
      await page.getByRole("button", { name: "Repeat" }).click();
      await page.getByText(said, { exact: true }).waitFor();
      if (how === "fulfill") await page.locator(".problem").getByText("too many wait").waitFor();
      await page.unroute("**/*iterate*");
    }
    return page;
  },

  async "the report of a load is legible, light and dark"() {
    let page;
    for (const colorScheme of ["light", "dark"]) {
      await page?.context().close();
      page = await open({ colorScheme });
      await page.goto(report);
      await noViolations(page, colorScheme);
      assert.equal(await page.locator("svg").count(), 4);
      // One thing that axe does not look at: the contrast, computed as WCAG defines it.
      const drawn = await page.evaluate(() => {
        const paint = new OffscreenCanvas(1, 1).getContext("2d");
        const light = (colour) => {
          paint.fillStyle = colour;
          paint.fillRect(0, 0, 1, 1);
          const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map((each) =>
            (each <= 10 ? each / 3295 : ((each / 255 + .055) / 1.055) ** 2.4));
          return .2126 * r + .7152 * g + .0722 * b + .05;
        };
        const style = (each) => getComputedStyle(each);
        const ground = light(style(document.documentElement).backgroundColor);
        const contrast = (colour) => Math.max(light(colour) / ground, ground / light(colour));
        return { ground, words: [...document.querySelectorAll("svg text")].map((each) => contrast(style(each).fill)),
          lines: [...document.querySelectorAll("polyline")].map((each) => contrast(style(each).stroke)) };
      });
      assert.equal(drawn.ground > .5, colorScheme === "light");
      assert.ok(drawn.words.length > 20 && drawn.words.every((each) => each >= 4.5), JSON.stringify(drawn));
      assert.ok(drawn.lines.length === 4 && drawn.lines.every((each) => each >= 3), JSON.stringify(drawn));
    }
    return page;
  },

  async "a tensor comes from a picture, a .npy file, JSON and a grid"() {
    const page = await open();
    await visit(page, "digits/classify");
    await page.getByRole("radio", { name: "File", exact: true }).check();
    const file = page.getByLabel(/File for image/);
    await file.setInputFiles({ name: "seven.png", mimeType: "image/png", buffer: png(image.map((row) => row.map((each) => 255 - Math.round(each / 16 * 255)))) });
    await page.getByText("8x8, 64 elements").waitFor();
    await call(page);
    assert.match(await answerText(page), /digit\s+7/);
    await page.getByRole("radio", { name: "JSON", exact: true }).check();
    assert.deepEqual(JSON.parse(await page.getByLabel("image as JSON").inputValue()), image);
    await page.getByRole("radio", { name: "Grid", exact: true }).check();
    assert.equal(await page.getByLabel("image 0, 3").inputValue(), String(image[0][3]));
    const npy = Buffer.concat([Buffer.from("\x93NUMPY\x01\x00\x46\x00", "latin1"),
      Buffer.from("{'descr': '|i1', 'fortran_order': False, 'shape': (8, 8), }".padEnd(69) + "\n"),
      Buffer.from(image.flat())]);
    await page.getByRole("radio", { name: "File", exact: true }).check();
    await file.setInputFiles({ name: "seven.npy", mimeType: "application/octet-stream", buffer: npy });
    await page.getByRole("radio", { name: "JSON", exact: true }).check();
    assert.deepEqual(JSON.parse(await page.getByLabel("image as JSON").inputValue()), image);
    return page;
  },

  async "what is wrong is said at the field, while it is typed"() {
    const page = await open();
    await visit(page, "digits/classify");
    await page.getByRole("radio", { name: "Grid", exact: true }).check();
    const cell = page.getByLabel("image 2, 5");
    await cell.fill("999");
    assert.equal(await cell.getAttribute("aria-invalid"), "true");
    const described = await cell.getAttribute("aria-describedby");
    assert.match(await page.locator(`#${described}`).innerText(), /2, 5: 999 is not from -128 to 127/);
    await page.getByRole("button", { name: "Call", exact: true }).click();
    assert.match(await page.locator(".call [role=status]").innerText(), /Not called/);
    await noViolations(page, "an error");
    await page.getByRole("radio", { name: "JSON", exact: true }).check();
    await page.getByLabel("image as JSON").fill("[[1,2]]");
    await page.getByText("dim 0 is 1, it must be 8").waitFor();
    return page;
  },

  async "what the server refuses is said at its field"() {
    const page = await open();
    await visit(page, "matmul/matmul");
    await page.route("**/functions/matmul/matmul", (route) => (route.request().method() === "POST"
      ? route.fulfill({ status: 422, json: { code: "shape_mismatch", detail: "dim 0 is odd", pointer: "/kwargs/b" } })
      : route.continue()));
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText("Refused: see the marked field").waitFor();
    const field = page.getByRole("group", { name: /^b tensor/ });
    assert.equal(await field.locator(".wrong").innerText(), "dim 0 is odd");
    // The error is marked at the shape, and at no element.
    assert.deepEqual(await field.locator("[aria-invalid=true]").evaluateAll((all) =>
      all.map((each) => each.getAttribute("aria-label"))), ["Dim 0 of b", "Dim 1 of b"]);
    assert.equal(await answerText(page), "");  // each error is told once
    return page;
  },

  async "results are heat maps, pictures and tables"() {
    const page = await open();
    await page.goto(url);
    await go(page, "mandelbrot render");
    await page.getByLabel("x f32").fill("-0.7");
    await page.getByLabel("width f32").fill("3");
    await call(page);
    for (const way of ["Heat map", "Picture"]) {
      await page.getByRole("radio", { name: way }).check();
      const colours = await page.getByRole("img", { name: `${way} of output0` }).evaluate((canvas) =>
        new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, 64, 32).data.buffer)).size);
      assert.ok(colours > 5, `${way} has ${colours} colours`);
    }
    await page.getByRole("radio", { name: "Table" }).check();
    assert.equal(await page.locator(".values tr").count(), 33);
    await noViolations(page, "a table");
    return page;
  },

  async "examples of the module fill the form"() {
    const page = await open();
    await visit(page, "mandelbrot/render");
    const examples = page.getByRole("group", { name: "Examples" });
    assert.deepEqual(await examples.getByRole("button").allInnerTexts(),
      ["the whole set", "the valley of seahorses"]);
    await examples.getByRole("button", { name: "the whole set" }).click();
    await page.getByLabel("Code of this call").filter({ hasText: "-0.6" }).waitFor();
    assert.equal(await page.getByLabel("width f32").inputValue(), "3.2");
    await noViolations(page, "examples");
    await visit(page, "digits/classify");
    await page.getByRole("button", { name: "a seven" }).click();
    await page.getByLabel("Code of this call").filter({ hasText: "12" }).waitFor();
    await call(page);
    assert.match(await answerText(page), /digit\s+7/);
    await page.getByRole("radio", { name: "JSON", exact: true }).check();
    assert.deepEqual(JSON.parse(await page.getByLabel("image as JSON").inputValue()), image);
    await visit(page, "filter/edges");
    await page.getByRole("button", { name: "a square" }).click();
    await page.getByLabel("Code of this call").filter({ hasText: "64 elements" }).waitFor();
    await call(page);
    assert.match(await answerText(page), /4\.243/);
    await visit(page, "scalars-3.13.0/fact");
    await page.getByLabel("input0 i64").waitFor();
    assert.equal(await examples.count(), 0);
    return page;
  },

  async "an example is shown in whole or not at all"() {
    const page = await open();
    const types = { a: [], b: [0, 4], c: [2, 3] };
    const signature = { raw: { attrs: {} }, module: "m", version: "1", name: "made", callable: true,
      text: "made(a, b, c)", results: [], examples: ["shown", "coded"],
      arguments: Object.entries(types).map(([name, shape]) =>
        ({ name, role: "in", type: { kind: "tensor", dtype: "f32", shape } })) };
    const examples = {
      shown: [1.5, { shape: [0, 4], data: [] }, { shape: [2, 3], data: [1, 2, 3, 4, 5, 6] }],
      coded: [2.5, [], { shape: [2, 3], b64: "A".repeat(32) }] };
    await page.route("**/api/v1/functions/m/made", (route) => route.fulfill({ json: signature }));
    await page.route(/made\/example/, (route) => route.fulfill({
      json: { args: examples[new URL(route.request().url()).searchParams.get("name")] } }));
    await page.goto(`${url}/#/m/made`);
    const code = page.getByLabel("Code of this call");
    await page.getByRole("button", { name: "shown" }).click();
    await code.filter({ hasText: "1.5" }).waitFor();
    const sent = async () => JSON.parse(/-d '(.*)'/.exec(await code.innerText())[1]).args;
    assert.deepEqual(await sent(), [1.5, [], [[1, 2, 3], [4, 5, 6]]]);
    await page.getByRole("button", { name: "coded" }).click();
    await page.getByText("The example cannot be shown: the page does not read how c is written").waitFor();
    assert.deepEqual(await sent(), [1.5, [], [[1, 2, 3], [4, 5, 6]]]);
    return page;
  },

  async "what is not finite has a colour, and no number loses digits"() {
    const page = await open();
    await visit(page, "matmul/matmul");
    for (const name of ["a", "b"]) {
      const field = page.getByRole("group", { name: new RegExp(`^${name} tensor`) });
      await field.getByRole("radio", { name: "JSON", exact: true }).check();
      await field.getByLabel(`${name} as JSON`).fill(JSON.stringify(
        Array.from({ length: 6 }, (_, i) => Array.from({ length: 6 }, (_, j) => (i === j ? (i === 2 && name === "a" ? "NaN" : 1) : 0)))));
    }
    await call(page);
    for (const way of ["Heat map", "Picture"]) {
      await page.getByRole("radio", { name: way }).check();
      const orange = await page.getByRole("img", { name: `${way} of output0` }).evaluate((canvas) =>
        canvas.getContext("2d").getImageData(0, 2, 6, 1).data.slice(0, 3).join());
      assert.equal(orange, "224,118,42");
    }
    await visit(page, "scalars-3.13.0/fact");
    const number = page.getByLabel("input0 i64");
    await number.fill("9223372036854775808");
    await page.getByText("is not from -9223372036854775808").waitFor();
    await number.fill("20");
    assert.deepEqual(JSON.parse(/-d '(.*)'/.exec(await page.getByLabel("Code of this call").innerText())[1]).options,
      { int64: "string" });
    for (const [type, isText] of [[{ kind: "tensor", dtype: "ui57", shape: [1] }, true],
      [{ kind: "scalar", dtype: "i54" }, true], [{ kind: "scalar", dtype: "i53" }, false],
      [{ kind: "list", items: { kind: "unknown" } }, true], [{ kind: "tensor", shape: null }, true],
      [{ kind: "tensor", dtype: "f64", shape: [1] }, false], [{ kind: "bytes" }, false],
      [{ kind: "dict", fields: [{ name: "x", type: { kind: "scalar", dtype: "si60" } }] }, true]]) {
      await page.unrouteAll();
      await page.goto(url);
      const sent = page.waitForRequest((each) => each.method() === "POST");
      await pretend(page, [type], [{ x: 0 }]);
      const { options } = (await sent).postDataJSON();
      assert.deepEqual(options, isText ? { int64: "string" } : undefined, JSON.stringify(type));
    }
    return page;
  },

  async "structures are forms of forms"() {
    const page = await open();
    await visit(page, "scalars-3.13.0/swap");
    await page.getByLabel("p f32").fill("2.5");
    await page.getByLabel("q i32").fill("7");
    await call(page);
    assert.match(await answerText(page), /7[\s\S]*2\.5/);
    await visit(page, "scalars-3.13.0/fact");
    await page.getByLabel("input0 i64").fill("20");
    await call(page);
    assert.match(await answerText(page), /2432902008176640000/);
    return page;
  },

  async "the profile of a call is a table"() {
    const page = await open();
    await visit(page, "digits/classify");
    await page.getByLabel("with a profile").check();
    await call(page);
    const table = await page.getByRole("region", { name: "Profile" }).innerText();
    assert.match(table, /function classify/);
    assert.match(table, /dispatch classify_dispatch_0\w* 1x1x1/);
    await noViolations(page, "a profile");
    return page;
  },

  async "a server that wants a token gets it"() {
    const page = await open();
    await page.goto(`${guarded}/`);
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Use" }).click();
    await page.getByText("the token is not known").waitFor();
    const token = page.getByLabel("Token");
    assert.equal(await token.getAttribute("aria-invalid"), "true");
    assert.equal(await page.getByText("the token is not known").count(), 1);
    await noViolations(page, "the token is asked for");
    for (const word of ["a b", "tok\u2026en", "t\u00f6ken"]) {
      await token.fill(word);
      await page.getByRole("button", { name: "Use" }).click();
      await page.getByText("a token has no space, and only characters of ASCII").waitFor();
      assert.equal(await page.evaluate("sessionStorage.getItem('token')"), "wrong");
      // A stored token from before that has such characters is not used either.
      await page.evaluate((kept) => sessionStorage.setItem("token", kept), word);
      const checked = page.waitForResponse("**/readyz?verbose");
      await page.reload();
      await (await checked).finished();
      await page.getByRole("heading", { name: "This server wants a token" }).waitFor();
      assert.equal(await page.getByText("The server is gone").count(), 0);
      await page.evaluate(() => sessionStorage.setItem("token", "wrong"));
    }
    await page.getByLabel("Token").fill(process.env.FARCALL_TOKEN);
    await page.getByRole("button", { name: "Use" }).click();
    await page.getByRole("heading", { level: 2, name: "classify" }).waitFor();
    await call(page);
    assert.match(await answerText(page), /digit/);
    assert.ok(await page.getByLabel("with a profile").isVisible());
    await page.getByRole("button", { name: "Show all elements" }).click();
    const text = await page.getByLabel("Code of this call").innerText();
    assert.match(execFileSync("sh", ["-c", text], { encoding: "utf8" }), /digit/);
    return page;
  },

  async "what a token may not do is not offered"() {
    const page = await open();
    await page.goto(`${guarded}/`);
    await page.getByLabel("Token").fill(process.env.FARCALL_PLAIN);
    await page.getByRole("button", { name: "Use" }).click();
    await page.getByRole("heading", { level: 2, name: "classify" }).waitFor();
    assert.ok(await page.getByLabel("with a profile").isHidden());
    await call(page);
    // The message about a token that is no longer known stands at the token; the answer
    // stays.
    await page.route("**/api/v1/functions/digits/classify", (route) => route.fulfill({ status: 401,
      json: { code: "unauthorized", detail: "the token is not known" } }));
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText("Refused: see the token above").waitFor();
    assert.equal(await page.getByText("the token is not known").count(), 1);
    assert.equal(await page.getByLabel("Token").getAttribute("aria-invalid"), "true");
    return page;
  },

  async "two panes where there is room, each from its top"() {
    const page = await open({ viewport: { width: 1100, height: 700 } });
    await page.goto(url);
    await page.getByRole("heading", { level: 2 }).waitFor();
    await go(page, "digits batch");
    assert.equal(await page.evaluate(() => scrollY), 0);
    await go(page, "scalars-3.13.0 swap");
    await call(page);
    const left = await boxOf(page, ".left"), right = await boxOf(page, ".right");
    assert.ok(right.x >= left.x + left.width, "the answer is on the right");
    assert.ok(Math.abs(right.y - left.y) <= 4, "both begin at one height");
    await page.setViewportSize({ width: 1100, height: 320 });
    await page.evaluate(() => scrollTo(0, 200));
    const button = await boxOf(page, ".call .main");
    assert.ok(button.y >= 0 && button.y < 320, "Call stays in view");
    await page.setViewportSize({ width: 1099, height: 700 });
    const above = await boxOf(page, ".left"), below = await boxOf(page, ".right");
    assert.ok(below.y >= above.y + above.height, "below each other where there is none");
    return page;
  },

  async "a phone has a bar of functions, and targets of 44 pixels"() {
    const page = await open({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
    await page.goto(url);
    await page.getByRole("heading", { level: 2 }).waitFor();
    assert.equal(await page.evaluate(() => scrollY), 0);
    assert.ok(await page.getByLabel("Find a function").isHidden());
    await page.getByRole("button", { name: "Functions (12)" }).tap();
    await noViolations(page, "the bar is open");
    await page.getByRole("link", { name: "classify" }).tap();
    await page.getByRole("heading", { level: 2, name: "classify" }).waitFor();
    assert.ok(await page.getByLabel("Find a function").isHidden());
    assert.equal(await page.evaluate(() => scrollY), 0);
    await call(page);
    const small = await page.evaluate(() => [...document.querySelectorAll(
      "button, a:not(.skip), summary, select, input:not([type=checkbox], [type=radio]), .tabs label, .check")]
      .map((each) => [each.outerHTML, each.getBoundingClientRect()])
      .filter(([, box]) => box.height && (box.height < 43.9 || box.width < 43.9)).map(([html]) => html));
    assert.deepEqual(small, []);
    return page;
  },

  async "Back keeps what was typed"() {
    const page = await open();
    await visit(page, "scalars-3.13.0/hyp");
    await page.getByLabel("input0 f32").fill("12");
    await page.getByLabel("input1 f32").fill("5");
    await call(page);
    await go(page, "digits classify");
    await page.goBack();
    await page.getByRole("heading", { level: 2, name: "hyp" }).waitFor();
    assert.equal(await page.getByLabel("input0 f32").inputValue(), "12");
    assert.equal(await answerText(page), "", "what was answered is let go");
    assert.equal(await page.locator(".stages, .call [role=status]:not(:empty)").count(), 0);
    // An answer that comes while another function is shown is there on return.
    const letGo = await holdCalls(page);
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText("Calling…").waitFor();
    await go(page, "digits classify");
    const answered = page.waitForResponse((each) => each.request().method() === "POST");
    letGo();
    await (await answered).finished();
    await page.goBack();
    await page.getByText(/Answered in/).waitFor();
    assert.match(await answerText(page), /13/);
    return page;
  },

  async "a grid has arrows, and takes the cells of a spreadsheet"() {
    const page = await open({ permissions: ["clipboard-read", "clipboard-write"] });
    await visit(page, "matmul/matmul");
    const paste = async (cell, text) => {
      await page.evaluate((each) => navigator.clipboard.writeText(each), text);
      await page.getByLabel(cell, { exact: true }).focus();
      await page.keyboard.press("Control+V");
    };
    await paste("a 0, 0", "1\t2\t3\r\n4\t5\t6\r\n");
    assert.equal(await page.getByLabel("a 1, 2", { exact: true }).inputValue(), "6");
    assert.equal(await page.getByLabel("Dim 1 of a").inputValue(), "3");
    await paste("b 0, 0", "1 0\n0 1\n2 2");
    await page.getByLabel("a 0, 0", { exact: true }).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "a 1, 1");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("heading", { name: "Answer" }).waitFor();
    await page.getByRole("radio", { name: "JSON" }).last().check();
    assert.deepEqual(JSON.parse(await page.locator("#answer pre").innerText()), [[7, 8], [16, 17]]);
    // These are more rows than a function call in JavaScript may have arguments.
    await page.getByRole("radio", { name: "Grid", exact: true }).first().check();
    await paste("a 0, 0", "1\n".repeat(200000) + "1");
    await page.getByText("what was pasted ends at 200001x1, the grid at").waitFor();
    await visit(page, "digits/classify");
    await page.getByRole("heading", { level: 2, name: "classify" }).waitFor();
    // A ragged array stays JSON.
    const json = page.getByRole("radio", { name: "JSON", exact: true });
    await json.check();
    await page.getByLabel("image as JSON").fill("[[1,2],[3]]");
    await page.getByRole("radio", { name: "Grid", exact: true }).click();
    await page.getByText("A grid cannot show this, so it stays JSON").waitFor();
    assert.ok(await json.isChecked());
    assert.equal(await page.getByLabel("image as JSON").inputValue(), "[[1,2],[3]]");
    await page.getByText("/1 has shape 1, /0 has 2").waitFor();
    await page.getByLabel("image as JSON").fill(JSON.stringify(image));
    await page.getByText("8x8, 64 elements").waitFor();
    await page.getByRole("radio", { name: "Grid", exact: true }).check();
    await paste("image 7, 7", "1\t2");
    await page.getByText("what was pasted ends at 8x9, the grid at 8x8").waitFor();
    await page.getByLabel("image 7, 7").fill("3");
    await page.getByText("8x8, 64 elements").waitFor();
    return page;
  },

  async "a call that runs can be cancelled"() {
    const page = await open();
    await visit(page, "scalars-3.13.0/hyp");
    await call(page);
    const go = await holdCalls(page);
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText("Calling…").waitFor();
    await page.locator(".call p").getByText(/[\d.]+ m?s/).waitFor();
    assert.ok(await page.locator("#answer.old").isVisible(), "the old answer is dimmed");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText(/Cancelled after [\d.]+ m?s/).waitFor();
    assert.ok(await page.getByRole("button", { name: "Cancel" }).isHidden());
    go();
    await page.unrouteAll();
    await call(page);
    await page.getByText(/Answered in/).waitFor();
    assert.equal(await page.locator("#answer.old").count(), 0);
    return page;
  },

  async "a server that is gone is said in words, and comes back"() {
    const page = await open();
    await visit(page, "scalars-3.13.0/hyp");
    await page.getByLabel("input0 f32").fill("12");
    await page.context().setOffline(true);
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText("No answer: the server is gone").waitFor();
    await page.getByText(/The server is gone: nothing answers at/).waitFor();
    await page.context().setOffline(false);
    await page.getByText(/The server is gone/).waitFor({ state: "detached" });
    assert.equal(await page.getByLabel("input0 f32").inputValue(), "12");
    return page;
  },

  async "a connection that is cut within an answer is a server that is gone"() {
    const page = await open();
    await visit(page, "scalars-3.13.0/hyp");
    await page.getByRole("heading", { level: 2, name: "hyp" }).waitFor();
    await page.route("**/readyz?verbose", (route) => route.fulfill({ json: { status: "ready" } }));
    await page.evaluate(() => {
      Response.prototype.text = () => Promise.reject(new TypeError("network error"));
    });
    await page.getByText(/The server is gone/).waitFor();
    return page;
  },

  async "a list that could not be read is read when it can be"() {
    const page = await open();
    let isBad = true;
    await page.route("**/api/v1/functions", (route) => (isBad
      ? route.fulfill({ status: 503, json: { code: "overload", detail: "too much at once" } })
      : route.continue()));
    await page.goto(url);
    await page.getByText("The list cannot be read: too much at once").waitFor();
    isBad = false;
    await page.getByText("12 of 12 functions").waitFor();
    return page;
  },

  async "modules are asked for conditions only when something has changed"() {
    const page = await open();
    let health = { status: "ready", modules: 5, failed: 0, conditions: [] };
    let asked = 0, ready = 0, status = 503;
    await page.route("**/api/v1/modules?conditions=1", (route) => {
      asked++;
      return route.fulfill({ status, json: { conditions: [], modules: [{ name: `m${asked}`,
        conditions: [{ code: "crashed", text: "a process crashed" }] }] } });
    });
    await page.route("**/readyz?verbose", (route) => { ready++; return route.fulfill({ json: health }); });
    // Waits until the page has asked the server `count` more times.
    const rounds = async (count) => {
      for (const end = ready + count; ready < end;) await page.waitForResponse("**/readyz?verbose");
    };
    await page.goto(url);
    await rounds(2);
    assert.equal(asked, 0, "nothing is wrong");
    health = { ...health, conditions: [{ code: "crashed", text: "a process crashed", count: 1 }] };
    await page.locator(".health").getByText("a process crashed").waitFor();
    await rounds(2);
    assert.ok(asked > 1, "a server that failed is asked again");
    status = 200;
    await page.locator(".health").getByText(/^m\d+:/).waitFor();
    const before = asked;
    await rounds(3);
    assert.equal(asked, before, "nothing has changed");
    health = { ...health, conditions: [...health.conditions, { code: "slow", text: "it is slow" }] };
    await page.locator(".health").getByText(`m${before + 1}:`).waitFor();
    status = 403;
    health = { ...health, conditions: health.conditions.slice(1) };
    await page.locator(".health").getByText("it is slow").waitFor();
    const refused = asked;
    await rounds(2);
    assert.equal(asked, refused, "a refusal is no failure");
    // Conditions that only readers of a module are told of are a mere number for all
    // others.
    status = 200;
    health = { ...health, conditions: [], more: 1 };
    await page.locator(".health").getByText(`m${refused + 1}:`).waitFor();
    return page;
  },

  async "what is wrong with the server is shown, whatever else it says"() {
    const page = await open();
    let health = { status: "ready", modules: 5, failed: 0, conditions: [
      { code: "quarantined", severity: "critical", text: "calls are refused", count: 2 },
      null, 7, { code: "overload" }, { text: { no: "text" } }] };
    let modules = null;
    await page.route("**/api/v1/modules?conditions=1", (route) => route.fulfill(modules
      ? { json: modules } : { status: 403, json: { code: "forbidden", detail: "no" } }));
    await page.route("**/readyz?verbose", (route) => route.fulfill({ status: 503, json: health }));
    await page.goto(url);
    const shown = page.locator(".health");
    await shown.getByText("calls are refused (2 modules)").waitFor();
    assert.deepEqual((await shown.innerText()).split(/\n+/), ["calls are refused (2 modules)", "overload"]);
    // A client that may read the modules is told which module it is, and what happened.
    modules = { conditions: [{ code: "certificate_ends", severity: "warning", text: "it ends", until: "2026-12-01T00:00:00Z" }],
      modules: [{ name: "digits", label: "digits@2", conditions: [{ code: "crashed", text: "a process crashed", detail: "SIGSEGV in classify" }] },
        { name: "none" }, null, { conditions: 7 }] };
    await page.goto("about:blank");
    await page.goto(url);
    await shown.getByText("digits@2").waitFor();
    assert.deepEqual((await shown.innerText()).split(/\n+/),
      ["it ends; until 2026-12-01T00:00:00Z", "digits@2: a process crashed; SIGSEGV in classify"]);
    assert.equal(await shown.locator(".warning").count(), 1);
    await noViolations(page, "conditions");
    modules = null;
    health = { status: "not_ready", modules: 5, failed: 2, conditions: "none" };
    await shown.getByText("2 of 5 modules cannot be called").waitFor();
    health = { status: "ready", modules: 5, failed: 0 };
    await shown.getByText("2 of 5 modules").waitFor({ state: "detached" });
    return page;
  },

  async "an empty server says how to add something, and shows it"() {
    const page = await open();
    await page.goto(empty);
    await page.getByRole("heading", { name: "Nothing is served yet" }).waitFor();
    await noViolations(page, "empty");
    copyFileSync(module.replace(".vmfb", ".farcall.json"), `${folder}/digits.farcall.json`);
    copyFileSync(module, `${folder}/.new`);
    renameSync(`${folder}/.new`, `${folder}/digits.vmfb`);
    await page.getByRole("heading", { level: 2, name: "classify" }).waitFor({ timeout: 60000 });
    assert.ok(await page.getByRole("heading", { name: "Nothing is served yet" }).isHidden());
    return page;
  },

  async "scores are bars, a vector is a line"() {
    const page = await open();
    await visit(page, "digits/batch");
    await call(page);
    const bars = page.getByRole("list", { name: /Highest of/ }).getByRole("listitem");
    const rows = (await bars.allInnerTexts()).map((each) => each.split(/\s+/).map(Number));
    assert.equal(rows.length, 10);
    assert.deepEqual(rows, [...rows].sort((a, b) => b[1] - a[1]), "the highest first");
    const scores = Array.from({ length: 30 }, (_, i) => (i === 17 ? .71 : .01));
    const wave = Array.from({ length: 5000 }, (_, i) => (i === 1234 ? 9 : Math.sin(i / 100)));
    await pretend(page, [
      { kind: "tensor", dtype: "f32", shape: [1, 30] }, { kind: "tensor", dtype: "f32", shape: [5000] }],
    [[scores], wave]);
    assert.match(await bars.first().innerText(), /17\s+0\.71/);
    const path = await page.locator(".plot path").getAttribute("d");
    assert.ok(path.split("L").length < 1100, "of many points the extremes are drawn");
    assert.match(path, /[ML]1234 0[LM]/, "the peak is among them");
    const plot = page.locator(".plot");
    const at = await plot.boundingBox();
    await plot.hover({ position: { x: at.width / 2, y: 20 } });
    assert.match(await page.locator(".plot ~ .readout").innerText(), /^2\d{3}: -?[\d.]+$/);
    // Where a part of the plot begins with a value that is not a number, its minimum
    // and maximum are those of the other values.
    await page.unrouteAll();
    const odd = Array.from({ length: 3000 }, (_, i) => (i % 6 ? i % 7 / 7 : ["NaN", "-Infinity", "Infinity"][i / 6 % 3]));
    odd[1201] = -5;
    odd[1203] = 5;
    const wide = Array.from({ length: 9 }, (_, i) => String(9007199254740993n + BigInt(i)));
    await page.goto(url);
    await pretend(page, [{ kind: "tensor", dtype: "f32", shape: [3000] },
      { kind: "tensor", dtype: "i64", shape: [9] }], [odd, wide]);
    const drawn = await page.locator(".plot path").first().getAttribute("d");
    assert.match(drawn, /[ML]1201 100L1203 0/);
    assert.ok(drawn.split("L").length > 400, "it is a line, and no dots");
    await page.locator(".plot").nth(1).hover({ position: { x: 1, y: 20 } });
    assert.match(await page.locator(".readout").nth(1).innerText(), /^0: 9007199254740993$/);
    return page;
  },

  async "a batch is images, and a table has pages"() {
    const page = await open();
    const image = (k) => Array.from({ length: 6 }, (_, i) => Array.from({ length: 5 }, (__, j) => [k, i / 6, j / 5]));
    await pretend(page, [
      { kind: "tensor", dtype: "f32", shape: [3, 6, 5, 3] }, { kind: "scalar", dtype: "f64" },
      { kind: "tensor", dtype: "f32", shape: [120, 2] }],
    [[0, .5, 1].map(image), 0.123456789, Array.from({ length: 120 }, (_, i) => [i, 0.123456789])]);
    assert.equal(await page.locator(".images canvas").count(), 3);
    const pixel = await page.locator(".images canvas").nth(2).evaluate((canvas) =>
      [...canvas.getContext("2d").getImageData(4, 3, 1, 1).data]);
    assert.deepEqual(pixel, [255, 128, 204, 255]);
    const number = page.locator(".big");
    assert.equal(await number.innerText(), "0.1235");
    assert.equal(await number.getAttribute("title"), "0.123456789");
    const table = page.locator(".answer").last();
    await table.getByRole("button", { name: "Next" }).click();
    await table.getByText("rows 50 to 99 of 120").waitFor();
    await table.getByRole("button", { name: "Next" }).click();
    assert.equal(await table.locator("tr").count(), 21);
    assert.ok(await table.getByRole("button", { name: "Next" }).isDisabled());
    await noViolations(page, "plots");
    return page;
  },

  async "what a sidecar says of a result is shown"() {
    const page = await open();
    await page.goto(`${empty}/#/digits/classify`);
    await page.getByRole("heading", { level: 2, name: "classify" }).waitFor();
    await draw(page);
    await call(page);
    assert.match(await answerText(page), /digit\s+seven class 7/);
    const wave = (parts) => Array.from({ length: 800 }, (_, i) => Math.round(i / 8) % parts);
    const sound = { at: "/0", audio: 8000 };
    await pretend(page, [{ kind: "tensor", dtype: "i16", shape: [800] },
      { kind: "tensor", dtype: "f32", shape: [3] }], [wave(100), [.7, .2, .1]],
    JSON.stringify([sound, null, 7, { at: "/1", labels: ["a cat", "a <b>dog</b>", 3] }, { at: {} }]));
    assert.match(await answerText(page), /0\.1 s, 8000 samples a second/);
    await page.getByRole("button", { name: "Play" }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.getByRole("button", { name: "Play" }).waitFor();  // it has ended
    // Playback stops at the end of the answer, and an answer that cannot be played
    // leaves nothing behind.
    await page.evaluate(() => {
      let count = 0;
      const { close } = AudioContext.prototype;
      AudioContext.prototype.close = function () {
        document.body.dataset.closed = ++count;
        return close.call(this);
      };
    });
    const long = Array.from({ length: 480000 }, (_, i) => i % 100 / 100);
    await page.unrouteAll();
    await visit(page, "digits/classify");
    await page.getByRole("heading", { level: 2, name: "classify" }).waitFor();
    await pretend(page, [{ kind: "tensor", dtype: "f32", shape: [480000] }], [long], JSON.stringify([sound]));
    const play = async () => {
      await page.getByRole("button", { name: "Play" }).click();
      await page.getByRole("button", { name: "Stop" }).waitFor();
    };
    await play();
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("button", { name: "Play" }).waitFor();
    await page.locator('body[data-closed=\"1\"]').waitFor();
    await play();
    await go(page, "digits batch");
    await page.locator('body[data-closed=\"2\"]').waitFor();
    await page.goBack();
    await call(page);
    await page.evaluate(() => {
      AudioContext.prototype.createBuffer = () => { throw new Error("no such rate"); };
    });
    await page.getByRole("button", { name: "Play" }).click();
    await page.getByText("It cannot be played: no such rate").waitFor();
    await page.locator('body[data-closed=\"3\"]').waitFor();
    await page.unrouteAll();
    await page.goto(url);
    await pretend(page, [{ kind: "tensor", dtype: "f32", shape: [3] }], [[.7, .2, .1]],
      JSON.stringify([{ at: "/0", labels: ["a cat", "a <b>dog</b>", 3] }]));
    await page.getByRole("radio", { name: "Table" }).check();
    assert.match(await answerText(page), /a cat\s+a <b>dog<\/b>\s+3\s+0\s+0\.7\s+0\.2\s+0\.1/);
    await page.getByRole("radio", { name: "Scores" }).check();
    const labels = await page.locator(".scores li").allInnerTexts();
    assert.deepEqual(labels.map((each) => each.split("\n")[0]), ["a cat", "a <b>dog</b>", "3"]);
    for (const show of ["no JSON", "7", "null", '{"at":"/1"}', '[{"at":"/1","labels":"x","audio":"x"}]', '[{"at":"/0","audio":2999}]']) {
      await page.unrouteAll();
      await page.goto(url);
      await pretend(page, [{ kind: "tensor", dtype: "f32", shape: [8] }], [wave(8).slice(0, 8)], show);
      assert.ok(await page.getByRole("radio", { name: "Line" }).isChecked(), show);
    }
    return page;
  },

  async "a heat map tells the value under the pointer"() {
    const page = await open();
    await visit(page, "mandelbrot/render");
    await page.getByLabel("width f32").fill("3");
    await call(page);
    const map = page.getByRole("img", { name: /^Heat map/ });
    const at = await map.boundingBox();
    await map.hover({ position: { x: at.width * 10.5 / 64, y: at.height * 3.5 / 32 } });
    const told = await page.locator(".readout").innerText();
    await page.getByRole("radio", { name: "Table" }).check();
    const cell = await page.locator(".values tr").nth(4).locator("td").nth(10).innerText();
    assert.equal(told, `3, 10: ${cell}`);
    return page;
  },

  async "the accessibility tree says what is what"() {
    const page = await open();
    await visit(page, "digits/classify");
    await draw(page);
    await call(page);
    const tree = await page.locator("body").ariaSnapshot();
    for (const part of ['navigation "Functions"', 'searchbox "Find a function"', 'main', 'heading "digits / classify" [level=2]',
      'form "Call classify"', 'radiogroup "How to give image"', 'radio "Draw" [checked]', 'img "Drawing of image',
      'button "Call"', 'heading "Answer" [level=3]', 'status: Answered in', 'radiogroup "Language"', 'button "Copy"']) {
      assert.ok(tree.includes(part), `${part} is not in\n${tree}`);
    }
    const order = ["form", 'button "Call"', 'heading "Answer"', 'radiogroup "Language"'].map((each) => tree.indexOf(each));
    assert.deepEqual(order, [...order].sort((a, b) => a - b));
    return page;
  },

  async "the keyboard is enough"() {
    const page = await open();
    await page.goto(url);
    await page.getByText("12 of 12 functions").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("digits");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: "batch" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("hyp");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: "hyp" }).waitFor();
    await page.getByLabel("input0 f32").waitFor();
    await page.keyboard.press("Tab");  // the signature
    await page.keyboard.press("Enter");
    await page.locator("details[open]").waitFor();
    for (const text of ["3", "4"]) {
      await page.keyboard.press("Tab");
      await page.keyboard.press("Control+A");
      await page.keyboard.type(text);
    }
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Answer" }).waitFor();
    assert.match(await answerText(page), /5/);
    await visit(page, "digits/classify");
    await page.locator(".pad").focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Space");
    await page.getByRole("radio", { name: "JSON", exact: true }).check();
    assert.match(await page.getByLabel("image as JSON").inputValue(), /16/);
    return page;
  },

  async "dark, on a phone, and large"() {
    const page = await open({ colorScheme: "dark", viewport: { width: 320, height: 640 } });
    for (const name of ["digits/classify", "matmul/matmul", "scalars-3.13.0/swap"]) {
      await visit(page, name);
      await page.getByRole("button", { name: "Call", exact: true }).waitFor();
      await call(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 320, `${name} is ${wide} wide`);
      await noViolations(page, `${name}, dark`);
    }
    return page;
  },
};

Object.assign(tests, walk({ url, image, open, visit, call, pretend, answerText, noViolations, png }));
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (!new RegExp(process.env.ONLY ?? "").test(name)) continue;
  try {
    const page = await test();
    assert.deepEqual(page.noted, []);
    console.log(`ok      ${name}`);
    await page.context().close();
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}

async function keep(page, name, options) {
  const picture = await smaller(page, await page.screenshot(options));
  assert.ok(picture.length < 80 << 10, `${name} has ${picture.length} bytes`);
  writeFileSync(`${pictures}/${name}.png`, picture);
}

const WIDE = { viewport: { width: 1100, height: 620 } };
const LOOKS = { light: WIDE, dark: { ...WIDE, colorScheme: "dark" }, phone: { viewport: { width: 390, height: 844 } } };
for (const [name, options] of Object.entries(pictures ? LOOKS : {})) {
  const page = await open(options);
  await visit(page, "digits/classify");
  await draw(page);
  await call(page);
  // Pictures are the same in each run, apart from the times in them.
  await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
  await page.getByLabel("Code of this call").filter({ hasText: /0,[1-9]/ }).waitFor();
  await keep(page, `explorer-${name}`, { fullPage: true });
}
for (const colorScheme of pictures ? ["light", "dark"] : []) {
  const page = await open({ viewport: { width: 740, height: 1300 }, colorScheme });
  await page.goto(report);
  await keep(page, `bench-${colorScheme}`, {});
}
await browser.close();
process.exit(failed ? 1 : 0);
