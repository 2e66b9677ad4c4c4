// SPDX-License-Identifier: Apache-2.0
//
// Trouble that people met who used the explorer for the first time. explorer.mjs runs
// these rows together with its own, and passes in the functions they use.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";

export const walk = ({ url, image, open, visit, call, pretend, answerText, noViolations, png }) => {
  const way = (page, name) => page.getByRole("radio", { name, exact: true }).first();
  const json = async (page, name) => {
    await way(page, "JSON").check();
    return JSON.parse(await page.getByLabel(`${name} as JSON`).inputValue());
  };
  const three = [[0, 0, 6, 14, 16, 16, 2, 0], [0, 5, 16, 13, 11, 16, 0, 0], [0, 0, 7, 2, 15, 12, 0, 0],
    [0, 0, 0, 7, 16, 13, 1, 0], [0, 0, 0, 0, 6, 15, 10, 0], [0, 0, 0, 0, 0, 15, 9, 0],
    [0, 0, 3, 11, 8, 16, 6, 0], [0, 0, 7, 16, 16, 8, 0, 0]];
  const code = (page) => page.getByLabel("Code of this call");
  // A .npy file with these bytes as its data.
  const npy = (shape, bytes) => Buffer.concat([Buffer.from("\x93NUMPY\x01\x00\x46\x00", "latin1"),
    Buffer.from(`{'descr': '|i1', 'fortran_order': False, 'shape': (${shape}), }`.padEnd(69) + "\n"), bytes]);

  return {
    async "no image of several is dropped"() {
      const page = await open();
      await visit(page, "digits/batch");
      await page.getByText("Image 1 of 2").waitFor();
      await page.getByText("2x8x8, 128 elements").waitFor();
      await call(page);
      assert.match(await answerText(page), /digits tensor<\?xi32>[\s\S]*7[\s\S]*3/);
      assert.deepEqual(await json(page, "images"), [image, three]);
      // Choosing an example keeps the way of input that was chosen.
      await page.getByRole("button", { name: "a seven and a three" }).click();
      await page.locator("[aria-pressed=true]").getByText("a seven and a three").waitFor();
      assert.ok(await way(page, "JSON").isChecked());
      await way(page, "Draw").check();
      await page.getByRole("button", { name: "Next image" }).click();
      await page.getByText("Image 2 of 2").waitFor();
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByRole("button", { name: "Add an image" }).click();
      await page.getByText("Image 3 of 3").waitFor();
      await noViolations(page, "several images");
      const zeros = image.map((row) => row.map(() => 0));
      assert.deepEqual(await json(page, "images"), [image, zeros, zeros]);
      await way(page, "Draw").check();
      await page.getByRole("button", { name: "Next image" }).click();
      await page.getByRole("button", { name: "Remove this image" }).click();
      await page.getByRole("button", { name: "Remove this image" }).click();
      await page.getByText("1x8x8, 64 elements").waitFor();
      assert.ok(await page.getByRole("button", { name: "Remove this image" }).isHidden());
      return page;
    },

    async "a way that cannot show a value leaves it alone"() {
      const page = await open();
      await visit(page, "digits/classify");
      const odd = image.map((row, i) => row.map((each, j) => (i || j ? each : -77)));
      await json(page, "image");
      const text = page.getByLabel("image as JSON");
      // Draw shows what it can of a value, and does not change the value.
      await text.fill(JSON.stringify(odd));
      await way(page, "Draw").check();
      assert.deepEqual(await json(page, "image"), odd);
      await way(page, "Draw").check();
      await page.getByLabel("Value of black").fill("9");
      assert.deepEqual(await json(page, "image"), odd);
      for (const [typed, to, said] of [
        ["[[1,2]]", "Draw", "A drawing cannot show this, so it stays JSON"],
        ["[[[1]]]", "Grid", "A grid cannot show this, so it stays JSON"],
        ["[[1,", "Grid", "What is no JSON stays here"], ["[[1,", "File", "What is no JSON stays here"]]) {
        await text.fill(typed);
        await way(page, to).click();
        await page.getByText(said).waitFor();
        assert.ok(await way(page, "JSON").isChecked());
        assert.equal(await text.inputValue(), typed);
      }
      // The message is still there after the code of the call has been written again.
      await text.fill("[[[1]]]");
      await way(page, "Grid").click();
      await page.getByRole("radio", { name: "Python" }).check();  // which reads the form
      assert.ok(await page.getByText("A grid cannot show this, so it stays JSON").isVisible());
      // Text that is no valid element is the same in the grid and in JSON.
      await text.fill(JSON.stringify(image));
      await way(page, "Grid").check();
      await page.getByLabel("image 0, 0").fill("abc");
      await page.getByLabel("image 0, 1").fill("999");
      const typed = await json(page, "image");
      assert.deepEqual(typed[0].slice(0, 3), ["abc", 999, 2]);
      await way(page, "Grid").check();
      assert.equal(await page.getByLabel("image 0, 0").inputValue(), "abc");
      return page;
    },

    async "what is of earlier arguments says so"() {
      const page = await open();
      await visit(page, "digits/classify");
      await call(page);
      assert.equal(await page.locator("#answer.old").count(), 0);
      // Another way to give the same value is not another value.
      await way(page, "JSON").check();
      assert.equal(await page.locator("#answer.old").count(), 0);
      await way(page, "Draw").check();
      await page.getByRole("button", { name: "Clear" }).click();
      await page.locator("#answer.old").waitFor();
      await page.getByText("The arguments have changed since this answer").waitFor();
      await noViolations(page, "an old answer");
      await page.getByRole("button", { name: "Call", exact: true }).click();
      await page.locator("#answer:not(.old)").waitFor();
      // The code says so, too, and is not copied then.
      const whole = await code(page).innerText();
      await way(page, "Grid").check();
      await page.getByLabel("image 0, 0").fill("x");
      await page.getByText("This is not what the form has now").waitFor();
      assert.ok(await page.getByRole("button", { name: "Copy" }).isDisabled());
      assert.equal(await code(page).innerText(), whole);
      await noViolations(page, "old code");
      await page.getByLabel("image 0, 0").fill("5");
      await code(page).filter({ hasText: "[[5,0" }).waitFor();
      assert.ok(await page.getByRole("button", { name: "Copy" }).isEnabled());
      return page;
    },

    async "a grid fits, or says that it scrolls"() {
      for (const width of [1280, 390]) {
        const page = await open({ viewport: { width, height: 844 }, ...(width < 400 ? { isMobile: true, hasTouch: true } : {}) });
        await visit(page, "digits/classify");
        await way(page, "Grid").check();
        const box = page.getByRole("region", { name: "Elements of image" });
        assert.ok(await box.evaluate((each) => each.scrollWidth <= each.clientWidth), `${width}: 8 columns fit`);
        await visit(page, "filter/edges");
        await page.getByLabel("Dim 1 of image").fill("40");
        const hint = page.getByText("More to the right: scroll");
        await hint.waitFor();
        await page.getByRole("region", { name: "Elements of image" }).evaluate((each) => { each.scrollLeft = 1e6; });
        await hint.waitFor({ state: "hidden" });
        if (width > 400) await page.context().close();
        else return page;
      }
    },

    async "a file that is no picture is told what would be one"() {
      const page = await open();
      await visit(page, "digits/batch");
      await way(page, "File").check();
      await page.getByText("A .npy or .json file, or a picture").waitFor();
      const file = page.getByLabel(/File for images/);
      await file.setInputFiles({ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
      await page.getByText("a.txt is no picture that a browser shows: choose a .npy or .json file, or a picture").waitFor();
      await file.setInputFiles({ name: "a.json", mimeType: "application/json", buffer: Buffer.from("{") });
      await page.getByText(/^a\.json is no JSON: /).waitFor();
      const bytes = Buffer.from(Array.from({ length: 20 * 64 }, (_, i) => i >> 6));
      await file.setInputFiles({ name: "a.npy", mimeType: "application/octet-stream", buffer: npy("20, 8, 8", bytes) });
      await page.getByText("Image 1 of 20").waitFor();
      await code(page).filter({ hasText: "1280 elements" }).waitFor();
      await page.getByRole("button", { name: "Previous image" }).click();
      await page.getByText("Image 20 of 20").waitFor();
      const grey = await page.getByRole("img", { name: "images as a picture" }).evaluate((each) =>
        each.getContext("2d").getImageData(0, 0, 1, 1).data[0]);
      assert.equal(grey, 0, "19 is above black");
      await file.setInputFiles({ name: "b.png", mimeType: "image/png", buffer: png(image.map((row) => row.map(() => 0))) });
      await page.getByText("1x8x8, 64 elements").waitFor();
      return page;
    },

    async "numbers are short and in columns, classes are a table"() {
      const page = await open();
      const tiny = [2.9123456e-6, 0.25, 1 - 0.25 - 2.9123456e-6];
      const classes = Array.from({ length: 37 }, (_, i) => i * 3 % 10);
      await pretend(page, [{ kind: "tensor", dtype: "f32", shape: [3] }, { kind: "tensor", dtype: "i32", shape: [37] },
        { kind: "tensor", dtype: "i32", shape: [37] }], [tiny, classes, classes.map((each) => each - 5)]);
      const scores = page.locator(".scores li");
      assert.deepEqual((await scores.allInnerTexts()).map((each) => each.split(/\s+/)), [["2", "0.75"], ["1", "0.25"], ["0", "2.912e-6"]]);
      assert.equal(await scores.last().locator("[title]").getAttribute("title"), String(tiny[0]));
      const boxes = await scores.evaluateAll((all) => all.map((each) => [...each.children].map((child) => {
        const { left, right } = child.getBoundingClientRect();
        return { left, right, cut: child.scrollWidth > child.clientWidth + 1 && child.clientWidth > 0 };
      })));
      for (const row of boxes) {
        assert.deepEqual(row.map(({ left, right }) => [left, right]), boxes[0].map(({ left, right }) => [left, right]));
        assert.ok(!row.some((each) => each.cut));
        assert.ok(row[0].right - row[0].left < 60, "no column is empty");
      }
      assert.equal(await page.locator(".plot").count(), 1, "what is below 0 is no class");
      const rows = await page.locator("table.values tr").evaluateAll((all) =>
        all.map((row) => [...row.children].map((each) => each.textContent)));
      assert.deepEqual(rows[0], ["", ...Array.from({ length: 10 }, (_, i) => String(i))]);
      assert.deepEqual(rows.slice(1).flatMap((row) => row.slice(1)), classes.map(String));
      assert.deepEqual(rows.slice(1).map((row) => row[0]), ["0", "10", "20", "30"]);
      await page.unrouteAll();
      await page.goto(url);
      await pretend(page, [{ kind: "tensor", dtype: "i32", shape: [2] }], [[1, 0]], JSON.stringify([{ at: "/0", labels: ["cat", "dog"] }]));
      assert.deepEqual(await page.locator("table.values td").allInnerTexts(), ["", "dog", "cat"]);
      // Where each class has a column of numbers, the labels stand over the columns,
      // and the numbers stay numbers.
      await page.unrouteAll();
      await page.goto(url);
      await pretend(page, [{ kind: "tensor", dtype: "f32", shape: [2, 2] }], [[[1, 0], [3, 1]]], JSON.stringify([{ at: "/0", labels: ["cat", "dog"] }]));
      assert.deepEqual(await page.locator("table.values td, table.values th[scope=col]").allInnerTexts(), ["", "cat", "dog", "1", "0", "3", "1"]);
      return page;
    },

    async "a function opens with its first example and what it does"() {
      const page = await open();
      const first = { "digits/classify": /7/, "filter/edges": /\d/, "matmul/matmul": /19[\s\S]*22[\s\S]*43[\s\S]*50/,
        "filter/fir": /4.5[\s\S]*6.5/ };
      for (const [name, answer] of Object.entries(first)) {
        await visit(page, name);
        assert.ok((await page.locator(".doc").innerText()).length > 20, name);
        await call(page);
        if (name === "filter/fir") await page.getByRole("radio", { name: "Table" }).check();
        assert.match(await answerText(page), answer, name);
      }
      await visit(page, "mandelbrot/render");
      assert.equal(await page.getByLabel("width f32").inputValue(), "3.2");
      // What is typed before the example arrives stays.
      let letGo;
      const held = new Promise((resolve) => { letGo = resolve; });
      await page.route("**/example?name=*", async (route) => { await held; await route.continue().catch(() => {}); });
      await page.reload();
      await page.getByLabel("width f32").fill("1.5");
      const answered = page.waitForResponse("**/example?name=*");
      letGo();
      await (await answered).finished();
      await page.getByRole("button", { name: "the valley of seahorses" }).click();
      await page.locator("[aria-pressed=true]").getByText("the valley of seahorses").waitFor();
      assert.equal(await page.getByLabel("width f32").inputValue(), "0.2");
      return page;
    },

    async "what is typed is not overwritten by an example that comes late"() {
      const page = await open();
      let letGo;
      const held = new Promise((resolve) => { letGo = resolve; });
      await page.route("**/example?name=*", async (route) => { await held; await route.continue().catch(() => {}); });
      await page.goto(`${url}/#/mandelbrot/render`);
      await page.getByLabel("width f32").fill("1.5");
      const answered = page.waitForResponse("**/example?name=*");
      letGo();
      await (await answered).finished();
      await code(page).filter({ hasText: '"width":1.5' }).waitFor();
      await call(page);
      assert.equal(await page.getByLabel("width f32").inputValue(), "1.5");
      assert.equal(await page.locator("[aria-label=Examples] [aria-pressed=true]").count(), 0);
      return page;
    },

    async "Repeat says what a step is, and its code is shown"() {
      const page = await open({ permissions: ["clipboard-read", "clipboard-write"] });
      await visit(page, "filter/fir");
      assert.doesNotMatch(await code(page).innerText(), /iterate/);
      await page.locator("summary", { hasText: "Repeat" }).click();
      await page.getByText("Each step calls the function once more.").waitFor();
      await page.getByLabel("Dim 0 of taps").fill("1");  // what comes is as long as what was given
      await page.getByLabel(/becomes$/).selectOption({ label: "signal" });
      await page.getByLabel("Steps", { exact: true }).fill("7");
      const run = { curl: (text) => execFileSync("sh", ["-c", text], { encoding: "utf8" }),
        Python: (text) => execFileSync("python3", ["-c", text], { encoding: "utf8" }),
        JavaScript: (text) => execFileSync("node", ["--input-type=module", "-e", text], { encoding: "utf8" }) };
      for (const [language, execute] of Object.entries(run)) {
        await page.getByRole("radio", { name: language }).check();
        await code(page).filter({ hasText: /"times": ?7,\s*"feed": ?\{"0": ?0\}/ })
          .filter({ hasText: "iterate" }).waitFor();
        await page.getByRole("button", { name: "Copy" }).click();
        await page.getByText("copied", { exact: true }).waitFor();
        const out = execute(await page.evaluate("navigator.clipboard.readText()"));
        assert.equal(out.match(/step/g).length, 8, language);  // seven, and "steps" of the end
      }
      await page.getByRole("button", { name: "Repeat" }).click();
      await page.getByText("Made 7 steps", { exact: true }).waitFor();
      await page.getByText("A row for each step, from 1 at the top to 7").waitFor();
      const steps = page.getByRole("region", { name: /^Steps of/ });
      assert.ok(await steps.evaluate((each) => each.scrollHeight <= each.clientHeight + 2), "all is seen");
      const map = page.getByRole("img", { name: /a row for each of 7 steps/ });
      const at = await map.boundingBox();
      await map.hover({ position: { x: 2, y: at.height * 2.5 / 7 } });
      await page.getByText(/^step 3, 0: /).waitFor();
      await page.locator("summary", { hasText: "Repeat" }).click();
      await code(page).filter({ hasNotText: "iterate" }).waitFor();
      return page;
    },

    async "EventSource reads a loop, and makes no second one"() {
      const page = await open();
      await visit(page, "matmul/matmul");
      const loops = [];
      page.on("request", (each) => each.url().includes("input=") && loops.push(each));
      const answers = [];
      page.on("response", (each) => each.url().includes("input=") && answers.push(each.status()));
      // Nobody closes the EventSource: it asks again, is told that there is no more,
      // and then closes itself.
      const events = await page.evaluate(() => new Promise((settle, fail) => {
        const loop = { args: [[[2]], [[2]]], repeat: { times: 5, feed: { 0: 0 } } };
        const source = new EventSource("/api/v1/functions/matmul/matmul?iterate&input=" +
          encodeURIComponent(JSON.stringify(loop)));
        const got = [];
        source.onmessage = ({ data }) => got.push(JSON.parse(data));
        source.onerror = () => source.readyState === EventSource.CLOSED && settle(got);
        setTimeout(fail, 60000, new Error("it never closed"));
      }));
      assert.deepEqual(events, [...[4, 8, 16, 32, 64].map((each, i) => ({ step: i + 1, results: [[[each]]] })),
        { done: "times", steps: 5 }]);
      assert.equal(loops.length, 2);
      assert.equal(answers[0], 200);
      assert.ok(answers.length === 1 || answers[1] === 204, answers);
      assert.equal((await loops[1].allHeaders())["last-event-id"], "end");
      return page;
    },

    async "Repeat draws the numbers of a dict, and an old run is dimmed"() {
      const page = await open();
      await visit(page, "digits/classify");
      await page.locator("summary", { hasText: "Repeat" }).click();
      await page.getByLabel("Steps", { exact: true }).fill("5");
      await page.getByRole("button", { name: "Repeat" }).click();
      await page.getByText("Made 5 steps", { exact: true }).waitFor();
      await page.getByRole("img", { name: "Line of digit, 5 steps, from 7 to 7" }).waitFor();
      await page.getByRole("img", { name: /^Line of confidence, 5 steps/ }).waitFor();
      const old = page.locator(".old [aria-label^='Steps of']");
      assert.equal(await old.count(), 0);
      await page.getByRole("button", { name: "Clear" }).click();
      assert.equal(await old.count(), 2);
      await page.getByRole("button", { name: "Repeat" }).click();
      await page.getByText("Made 5 steps", { exact: true }).waitFor();
      assert.equal(await old.count(), 0);
      await page.getByLabel("Steps", { exact: true }).fill("0");
      await page.getByRole("button", { name: "Repeat" }).click();
      await page.getByText("Not called: see the marked field").waitFor();
      assert.equal(await old.count(), 2);
      return page;
    },

    async "the search begins anew"() {
      const page = await open();
      await visit(page, "digits/classify");
      await page.keyboard.press("/");
      await page.keyboard.type("fir");
      await page.getByText("1 of 12 functions").waitFor();
      await page.locator("main").focus();
      await page.keyboard.press("/");
      await page.keyboard.type("edges");
      assert.equal(await page.getByLabel("Find a function").inputValue(), "edges");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 2, name: "edges" }).waitFor();
      await page.getByText("12 of 12 functions").waitFor();
      assert.equal(await page.getByLabel("Find a function").inputValue(), "");
      assert.equal(await page.locator("#functions [aria-current=page]").innerText(), "edges");
      return page;
    },

    async "one who draws by keys sees where"() {
      const page = await open();
      await visit(page, "digits/classify");
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByText("By keys: arrows move, Space inks a cell or clears it.").waitFor();
      const cursor = page.locator(".cursor");
      assert.ok(await cursor.isHidden());
      await way(page, "Draw").focus();
      await page.keyboard.press("Tab");
      assert.ok(await cursor.isVisible());
      const pad = await page.locator(".pad").boundingBox();
      const cell = async () => {
        const box = await cursor.boundingBox();
        return [Math.round((box.y - pad.y) / pad.height * 8), Math.round((box.x - pad.x) / pad.width * 8)];
      };
      assert.deepEqual(await cell(), [0, 0]);
      for (const key of ["ArrowUp", "ArrowLeft"]) await page.keyboard.press(key);
      assert.deepEqual(await cell(), [0, 0], "it does not leave the edge");
      for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "Space"]) await page.keyboard.press(key);
      assert.deepEqual(await cell(), [1, 2]);
      await page.getByText("Row 1, column 2: 100 % black").waitFor();
      const alpha = await page.locator(".pad").evaluate((each) =>
        [...each.getContext("2d").getImageData(2, 1, 1, 1).data]);
      assert.deepEqual(alpha, [0, 0, 0, 255], "the cell itself is seen");
      await noViolations(page, "keys");
      await page.keyboard.press("Tab");
      assert.ok(await cursor.isHidden());
      const wanted = image.map((row, i) => row.map((_, j) => (i === 1 && j === 2 ? 16 : 0)));
      assert.deepEqual(await json(page, "image"), wanted);
      return page;
    },

    async "on a phone the answer comes into view"() {
      const page = await open({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
      await visit(page, "digits/classify");
      await call(page);
      const head = page.getByRole("heading", { name: "Answer" });
      const [box, bar] = [await head.boundingBox(), await page.locator("#nav").boundingBox()];
      assert.ok(box.y >= bar.y + bar.height && box.y + box.height <= 844, `the answer is at ${box.y}`);
      return page;
    },

    async "signs are explained, and where the documentation is"() {
      const page = await open();
      await visit(page, "matmul/matmul");
      const type = page.getByRole("group", { name: /^a tensor/ }).locator(".type").first();
      assert.equal(await type.getAttribute("title"), "? is any size; [d0] is any size, the same wherever it stands");
      await page.locator("summary", { hasText: "matmul(a" }).click();
      await page.getByText("? is any size; [d0] is any size, the same wherever it stands.").waitFor();
      await page.locator("summary", { hasText: "Help" }).click();
      await page.getByText("docs/index.md").waitFor();
      await noViolations(page, "help");
      await page.goto("about:blank");
      await pretend(page, [{ kind: "tensor", dtype: "f32", shape: [null], dims: ["n"] },
        { kind: "list", items: { kind: "unknown" } }], [[1], []], undefined, { text: "made(a: list<?>, b: [f32]) -> tensor<[n]xf32>" });
      assert.equal(await page.locator(".signature summary[title]").getAttribute("title"),
        "[n] is any size, the same wherever it stands");
      await page.unrouteAll();
      await visit(page, "matmul/matmul");
      // Dims of one name are compared before the call is sent.
      await page.getByLabel("Dim 1 of a").fill("3");
      await page.getByText("dim 0 is 2, dim 1 of a is 3: both are 'd0'").waitFor();
      await page.getByLabel("Dim 0 of b").fill("3");
      await page.getByText("dim 0 is 2, dim 1 of a is 3").waitFor({ state: "hidden" });
      await call(page);
      assert.match(await answerText(page), /19[\s\S]*22[\s\S]*43[\s\S]*50/);
      return page;
    },

    async "where code failed is in the details, and what is not there has a link"() {
      const page = await open();
      await visit(page, "filter/edges");
      await page.getByLabel("Dim 0 of image").fill("2");
      await call(page);
      const problem = page.locator("#answer .problem");
      await problem.getByText("the image must be at least 3x3", { exact: true }).waitFor();
      assert.ok(await problem.getByText(/at 0x/).isHidden());
      await problem.locator("summary").click();
      await problem.getByText(/^at 0x[0-9A-F]+ of edges$/).waitFor();
      await noViolations(page, "details");
      await page.goto(`${url}/#/digits/nope`);
      await page.getByText("no function 'nope', only 'classify', 'batch'").waitFor();
      await page.getByRole("link", { name: "Show a function that is there" }).click();
      await page.getByRole("heading", { level: 2, name: "classify" }).waitFor();
      return page;
    },
  };
};
