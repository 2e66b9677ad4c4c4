// SPDX-License-Identifier: Apache-2.0
//
// Shows the explorer to tests/e2e/test_conditions.py. The test writes commands to
// standard input, one line of JSON each, and reads the answers from standard output:
//   ["open", URL]    shows the page, which asks the server what is wrong; stops
//                    its clock
//   ["wait", TEXT]   lets two seconds pass by the page's clock; answers with the lines
//                    that say what is wrong, as soon as one has TEXT, or after ten
//                    seconds
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";

const PASSED_MS = 2000, WAIT_MS = 10000, QUIET_MS = 100;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
let page = null;

// Waits until a page that asks nothing by itself has its answers and stops asking.
async function quiet(shown) {
  let asked = 0;
  shown.on("request", () => { asked++; });
  for (let before = -1; asked !== before;) {
    before = asked;
    await shown.waitForLoadState("networkidle");
    await sleep(QUIET_MS);
  }
}

const acts = {
  async open(url) {
    await page?.context().close();
    page = await (await browser.newContext()).newPage();
    await page.clock.install();
    await page.goto(url);
    await page.locator("#server").filter({ hasText: "farcalld" }).waitFor();
    // All timers that were due have run; from here on, time passes by `wait` alone.
    await page.clock.pauseAt(Date.now() + WAIT_MS);
    await quiet(page);
  },
  async wait(text) {
    await page.clock.runFor(PASSED_MS);
    for (const end = Date.now() + WAIT_MS;; await sleep(20)) {
      const lines = await page.locator(".health p").allInnerTexts();
      if (Date.now() > end || lines.some((each) => each.includes(text))) return lines;
    }
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [act, word] = JSON.parse(line);
  console.log(JSON.stringify(await acts[act](word) ?? null));
}
await browser.close();
