// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with the server, asked every two seconds while the page is seen. Servers
// of other versions may say less or more: whatever has no text is left out.

const HEALTH_MS = 2000;
const HEALTH_WAIT_MS = 10000;  // a server that says nothing for so long is gone
const CONDITIONS_MOST = 20;

const textOf = (value) => (typeof value === "string" ? value : "");

const listOf = (value) =>
  (Array.isArray(value) ? value : []).filter((each) => each && typeof each === "object");

// One condition as people read it; null: it says nothing.
function conditionOf(each, module) {
  const text = [each.text, each.code].map(textOf).find(Boolean);
  if (!text) return null;
  const count = Number(each.count) > 1 ? ` (${Number(each.count)} modules)` : "";
  const rest = [textOf(each.detail), textOf(each.until) && `until ${each.until}`].filter(Boolean);
  return { module: module || textOf(each.module), isWarning: each.severity === "warning",
    text: [text + count, ...rest].join("; ") };
}

// [{text, module, isWarning}] of what the server says of its modules or, if it does not
// say that to this client, of what /readyz?verbose answered.
function conditionsOf(health, modules) {
  const rows = modules
    ? [...listOf(modules.conditions).map((each) => conditionOf(each, "")),
      ...listOf(modules.modules).flatMap((module) => listOf(module.conditions)
        .map((each) => conditionOf(each, textOf(module.label) || textOf(module.name))))]
    : listOf(health?.conditions).map((each) => conditionOf(each, ""));
  const shown = rows.filter(Boolean);
  if (!shown.length && Number(health?.failed) > 0) {
    shown.push({ module: "", text: `${health.failed} of ${health.modules} modules cannot be called` });
  }
  const more = shown.length - CONDITIONS_MOST;
  return more > 0
    ? [...shown.slice(0, CONDITIONS_MOST), { module: "", text: `and ${more} more` }] : shown;
}

// What changes when a module comes, goes or fails.
const servedOf = (health) => JSON.stringify([health?.status, health?.modules, health?.failed]);

// What changes when a condition comes or goes, and who asks for it. `more` are those that
// only readers are told of.
const saidOf = (health) =>
  JSON.stringify([page.token, servedOf(health), health?.conditions, health?.more]);

const ask = (path) => fetchJson(path, { signal: AbortSignal.timeout(HEALTH_WAIT_MS),
  headers: withToken({ Accept: "application/json" }) });

let isAsking = false;
let known = { said: "", modules: null };  // what the modules were when the server said this

// Which module has which condition; null: none has one, or the server says that to others
// alone. The list may be long, so it is asked for only when something has changed.
async function askModules(health) {
  const said = saidOf(health);
  if (said === known.said) return known.modules;
  let modules = null, isFinal = true;
  if (listOf(health?.conditions).length || health?.failed > 0 || health?.more > 0) {
    const { answer, read } = await ask("/api/v1/modules?conditions=1");
    if (answer.ok) modules = read;
    isFinal = answer.ok || [401, 403].includes(answer.status);
  }
  if (isFinal) known = { said, modules };
  return modules;
}

async function askHealth() {
  if (document.hidden || isAsking) return;
  isAsking = true;
  try {
    const { read } = await ask("/readyz?verbose");
    const was = page.health;
    page.set({ health: read, conditions: conditionsOf(read, await askModules(read)) });
    const isOther = was && servedOf(read) !== servedOf(was);
    if (isOther || (page.listFault && !page.isLoading)) page.set({ reload: true });
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
      : page.conditions;
    // Set only when it changes, or screen readers say it again.
    const text = JSON.stringify(rows);
    if (text === shown) return;
    shown = text;
    node.replaceChildren(...rows.map((each) => make("p", {
      className: each.isWarning ? "problem warning" : "problem" },
      each.module ? make("strong", {}, `${each.module}: `) : null, each.text)));
  };
  page.watch(["gone", "conditions"], show);
  page.watch(["gone"], () => {
    known = { said: "", modules: null };
    if (!page.gone) page.set({ reload: true });
  });
  setInterval(askHealth, HEALTH_MS);
  document.addEventListener("visibilitychange", askHealth);
  askHealth();
  return node;
});
