// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with the server, asked every two seconds while the page is seen. Servers
// of other versions may say less or more: whatever has no text is left out.

const HEALTH_MS = 2000;
const HEALTH_WAIT_MS = 10000;  // a server that says nothing for so long is gone
const CONDITIONS_MOST = 20;

const textOf = (value) => (typeof value === "string" ? value : "");

// [{text, module}] of what /readyz?verbose answered.
function conditionsOf(health) {
  const rows = Array.isArray(health?.conditions) ? health.conditions : [];
  const shown = rows.filter((each) => each && typeof each === "object").map((each) => ({
    module: textOf(each.module) || textOf(each.name),
    text: [each.text, each.detail, each.reason, each.code].map(textOf).find(Boolean),
  })).filter((each) => each.text);
  if (!shown.length && Number(health?.failed) > 0) {
    shown.push({ module: "", text: `${health.failed} of ${health.modules} modules cannot be called` });
  }
  const more = shown.length - CONDITIONS_MOST;
  return more > 0
    ? [...shown.slice(0, CONDITIONS_MOST), { module: "", text: `and ${more} more` }] : shown;
}

// What changes when a module comes, goes or fails.
const servedOf = ({ status, modules, failed }) => JSON.stringify([status, modules, failed]);

let isAsking = false;

async function askHealth() {
  if (document.hidden || isAsking) return;
  isAsking = true;
  try {
    const { read } = await fetchJson("/readyz?verbose", {
      signal: AbortSignal.timeout(HEALTH_WAIT_MS),
      headers: withToken({ Accept: "application/json" }) });
    const was = page.health;
    page.set({ health: read });
    if (was && servedOf(read) !== servedOf(was)) page.set({ reload: true });
  } catch { /* page.gone, or an answer that is not farcalld's */ }
  isAsking = false;
}

pane("top", () => {
  const node = make("div", { role: "status", className: "health" });
  let shown = "";
  const show = () => {
    const rows = page.gone
      ? [{ module: "", text: `The server is gone: nothing answers at ${location.host}. `
          + "Was it stopped? The page goes on by itself when it is back." }]
      : conditionsOf(page.health);
    // Set only when it changes, or screen readers say it again.
    const text = JSON.stringify(rows);
    if (text === shown) return;
    shown = text;
    node.replaceChildren(...rows.map((each) => make("p", { className: "problem" },
      each.module ? make("strong", {}, `${each.module}: `) : null, each.text)));
  };
  page.watch(["gone", "health"], show);
  page.watch(["gone"], () => { if (!page.gone) page.set({ reload: true }); });
  setInterval(askHealth, HEALTH_MS);
  document.addEventListener("visibilitychange", askHealth);
  askHealth();
  return node;
});
