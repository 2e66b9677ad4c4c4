// SPDX-License-Identifier: Apache-2.0
//
// node explorer.mjs URL GUARDED seven.json [FOLDER]: uses the explorer as people do.
// GUARDED is a server that wants the token in FARCALL_TOKEN.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { crc32 as zlibCrc32, deflateSync } from "node:zlib";
import { chromium } from "playwright-core";

const [, , url, guarded, seven, pictures] = process.argv;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");
const [image] = JSON.parse(readFileSync(seven, "utf8"));
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

// A page whose requests, errors and broken rules are noted.
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  page.noted = [];
  page.on("request", (request) => {
    const asked = request.url();
    const ours = asked.startsWith(`${url}/`) || asked.startsWith(`${guarded}/`);
    if (!ours && !asked.startsWith("blob:")) page.noted.push(`request to ${asked}`);
  });
  page.on("pageerror", (error) => page.noted.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // Chromium's own line about an answer that is an error on purpose.
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) page.noted.push(message.text());
  });
  return page;
}

async function go(page, name) {
  const search = page.getByLabel("Find a function");
  await search.fill(name);
  await page.getByRole("link", { name: name.split(" ").at(-1), exact: true }).first().click();
  await page.getByRole("heading", { level: 2, name: name.split(" ").at(-1) }).waitFor();
}

const call = async (page) => {
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByRole("heading", { name: /^(Answer|Problem)$/ }).waitFor();
};

async function draw(page) {
  const pad = await page.locator(".pad").boundingBox();
  const at = (x, y) => [pad.x + pad.width * x, pad.y + pad.height * y];
  await page.mouse.move(...at(.3, .12));
  await page.mouse.down();
  await page.mouse.move(...at(.8, .12), { steps: 6 });
  await page.mouse.move(...at(.45, .9), { steps: 8 });
  await page.mouse.up();
}

async function noViolations(page, where) {
  // axe is evaluated by the browser's debugger: the page itself may run nothing foreign.
  await page.evaluate(axe);
  const { violations } = await page.evaluate("axe.run()");
  assert.deepEqual(violations.map((each) => `${where}: ${each.id}: ${each.nodes.map((node) => node.html)}`), []);
}

const answerText = (page) => page.locator("#answer").innerText();

// A picture of grey values, 0 (white) to 16 (black).
function png(rows) {
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
  const lines = rows.flatMap((row) => [0, ...row.map((each) => 255 - Math.round(each / 16 * 255))]);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.from(lines))), chunk("IEND", Buffer.alloc(0))]);
}

// Node 20.15 and later have it, Debian 12's does not.
const crc32 = zlibCrc32 ?? ((bytes) => {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = crc >>> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
});

const tests = {
  async "a seven is found, drawn, called and read"() {
    const page = await open();
    await page.goto(url);
    await go(page, "digits classify");
    await draw(page);
    const inked = await page.locator(".pad").evaluate((pad) =>
      pad.getContext("2d").getImageData(0, 0, 8, 8).data.filter((each, i) => i % 4 === 0 && each < 128).length);
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
    const page = await open();
    await page.goto(`${url}/#/digits/classify`);
    await draw(page);
    const run = { curl: (text) => execFileSync("sh", ["-c", text], { encoding: "utf8" }),
      Python: (text) => execFileSync("python3", ["-c", text], { encoding: "utf8" }),
      JavaScript: (text) => execFileSync("node", ["--input-type=module", "-e", text], { encoding: "utf8" }) };
    for (const [language, execute] of Object.entries(run)) {
      await page.getByRole("button", { name: language }).click();
      const text = await page.getByLabel("Code of this call").innerText();
      assert.match(execute(text), /digit['"]?: ?7/, language);
    }
    return page;
  },

  async "a tensor comes from a picture, a .npy file, JSON and a grid"() {
    const page = await open();
    await page.goto(`${url}/#/digits/classify`);
    await page.getByRole("button", { name: "File", exact: true }).click();
    const file = page.getByLabel(/File for image/);
    await file.setInputFiles({ name: "seven.png", mimeType: "image/png", buffer: png(image) });
    await page.getByText("8x8, 64 elements").waitFor();
    await call(page);
    assert.match(await answerText(page), /digit\s+7/);
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    assert.deepEqual(JSON.parse(await page.getByLabel("image as JSON").inputValue()), image);
    await page.getByRole("button", { name: "Grid", exact: true }).click();
    assert.equal(await page.getByLabel("image 0, 3").inputValue(), String(image[0][3]));
    const npy = Buffer.concat([Buffer.from("\x93NUMPY\x01\x00\x46\x00", "latin1"),
      Buffer.from("{'descr': '|i1', 'fortran_order': False, 'shape': (8, 8), }".padEnd(69) + "\n"),
      Buffer.from(image.flat())]);
    await page.getByRole("button", { name: "File", exact: true }).click();
    await file.setInputFiles({ name: "seven.npy", mimeType: "application/octet-stream", buffer: npy });
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    assert.deepEqual(JSON.parse(await page.getByLabel("image as JSON").inputValue()), image);
    return page;
  },

  async "what is wrong is said at the field, while it is typed"() {
    const page = await open();
    await page.goto(`${url}/#/digits/classify`);
    await page.getByRole("button", { name: "Grid", exact: true }).click();
    const cell = page.getByLabel("image 2, 5");
    await cell.fill("999");
    assert.equal(await cell.getAttribute("aria-invalid"), "true");
    const described = await cell.getAttribute("aria-describedby");
    assert.match(await page.locator(`#${described}`).innerText(), /2, 5: 999 is not from -128 to 127/);
    await page.getByRole("button", { name: "Call", exact: true }).click();
    assert.match(await page.locator(".call [role=status]").innerText(), /Not called/);
    await noViolations(page, "an error");
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    await page.getByLabel("image as JSON").fill("[[1,2]]");
    await page.getByText("dim 0 is 1, it must be 8").waitFor();
    return page;
  },

  async "what the server refuses is said at its field"() {
    const page = await open();
    await page.goto(`${url}/#/matmul/matmul`);
    await page.getByLabel("Dim 1 of a").fill("3");
    await call(page);
    assert.match(await answerText(page), /Wrong shape \(shape_mismatch\)/);
    const field = page.getByRole("group", { name: /^b tensor/ });
    assert.match(await field.locator(".wrong").innerText(), /dim/);
    await page.goto(`${url}/#/filter/edges`);
    await page.getByRole("heading", { level: 2, name: "edges" }).waitFor();
    await call(page);
    assert.match(await answerText(page), /the image must be at least 3x3/);
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
      await page.getByRole("button", { name: way }).click();
      const colours = await page.getByRole("img", { name: `${way} of output0` }).evaluate((canvas) =>
        new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, 64, 32).data.buffer)).size);
      assert.ok(colours > 5, `${way} has ${colours} colours`);
    }
    await page.getByRole("button", { name: "Table" }).click();
    assert.equal(await page.locator(".values tr").count(), 33);
    await noViolations(page, "a table");
    return page;
  },

  async "what is not finite has a colour, and no number loses digits"() {
    const page = await open();
    await page.goto(`${url}/#/matmul/matmul`);
    for (const name of ["a", "b"]) {
      const field = page.getByRole("group", { name: new RegExp(`^${name} tensor`) });
      await field.getByRole("button", { name: "JSON", exact: true }).click();
      await field.getByLabel(`${name} as JSON`).fill(JSON.stringify(
        Array.from({ length: 6 }, (_, i) => Array.from({ length: 6 }, (_, j) => (i === j ? (i === 2 && name === "a" ? "NaN" : 1) : 0)))));
    }
    await call(page);
    for (const way of ["Heat map", "Picture"]) {
      await page.getByRole("button", { name: way }).click();
      const orange = await page.getByRole("img", { name: `${way} of output0` }).evaluate((canvas) =>
        canvas.getContext("2d").getImageData(0, 2, 6, 1).data.slice(0, 3).join());
      assert.equal(orange, "224,118,42");
    }
    await page.goto(`${url}/#/scalars-3.13.0/fact`);
    const number = page.getByLabel("input0 i64");
    await number.fill("9223372036854775808");
    await page.getByText("is not from -9223372036854775808").waitFor();
    await number.fill("20");
    assert.deepEqual(JSON.parse(/-d '(.*)'/.exec(await page.getByLabel("Code of this call").innerText())[1]).options,
      { int64: "string" });
    return page;
  },

  async "structures are forms of forms"() {
    const page = await open();
    await page.goto(`${url}/#/scalars-3.13.0/swap`);
    await page.getByLabel("p f32").fill("2.5");
    await page.getByLabel("q i32").fill("7");
    await call(page);
    assert.match(await answerText(page), /7[\s\S]*2\.5/);
    await page.goto(`${url}/#/scalars-3.13.0/fact`);
    await page.getByLabel("input0 i64").fill("20");
    await call(page);
    assert.match(await answerText(page), /2432902008176640000/);
    return page;
  },

  async "the profile of a call is a table"() {
    const page = await open();
    await page.goto(`${url}/#/digits/classify`);
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
    await noViolations(page, "the token is asked for");
    await page.getByLabel("Token").fill(process.env.FARCALL_TOKEN);
    await page.getByRole("button", { name: "Use" }).click();
    await page.getByRole("heading", { level: 2, name: "classify" }).waitFor();
    await call(page);
    assert.match(await answerText(page), /digit/);
    const text = await page.getByLabel("Code of this call").innerText();
    assert.match(execFileSync("sh", ["-c", text], { encoding: "utf8" }), /digit/);
    return page;
  },

  async "the keyboard is enough"() {
    const page = await open();
    await page.goto(url);
    await page.getByText("13 of 13 functions").or(page.getByText("12 of 12 functions")).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("hyp");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: "hyp" }).waitFor();
    await page.getByLabel("input0 f32").waitFor();
    for (const text of ["3", "4"]) {
      await page.keyboard.press("Tab");
      await page.keyboard.press("Control+A");
      await page.keyboard.type(text);
    }
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Answer" }).waitFor();
    assert.match(await answerText(page), /5/);
    await page.goto(`${url}/#/digits/classify`);
    await page.locator(".pad").focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    assert.match(await page.getByLabel("image as JSON").inputValue(), /16/);
    return page;
  },

  async "dark, on a phone, and large"() {
    const page = await open({ colorScheme: "dark", viewport: { width: 320, height: 640 } });
    for (const name of ["digits/classify", "matmul/matmul", "scalars-3.13.0/swap"]) {
      await page.goto(`${url}/#/${name}`);
      await page.getByRole("heading", { level: 2, name: name.split("/")[1] }).waitFor();
      await page.getByRole("button", { name: "Call", exact: true }).waitFor();
      await call(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 320, `${name} is ${wide} wide`);
      await noViolations(page, `${name}, dark`);
    }
    return page;
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
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

const WIDE = { viewport: { width: 960, height: 700 } };
const LOOKS = { light: WIDE, dark: { ...WIDE, colorScheme: "dark" }, phone: { viewport: { width: 390, height: 844 } } };
for (const [name, options] of Object.entries(pictures ? LOOKS : {})) {
  const page = await open(options);
  await page.goto(`${url}/#/digits/classify`);
  await draw(page);
  await call(page);
  // The same from run to run but for the times.
  await page.evaluate(() => document.activeElement.blur());
  await page.getByLabel("Code of this call").filter({ hasText: "16" }).waitFor();
  writeFileSync(`${pictures}/explorer-${name}.png`, await page.screenshot({ fullPage: true }));
}
await browser.close();
process.exit(failed ? 1 : 0);
