// SPDX-License-Identifier: Apache-2.0
//
// The problems of the server, requested every two seconds while the page is visible.
// Servers of other versions may have more or fewer members, so a condition without a
// text is ignored.

const HEALTH_MS = 2000;
// If the server does not answer for so long, it counts as gone.
const HEALTH_WAIT_MS = 10000;
const CONDITIONS_MOST = 20;

const textOf = (value) => (typeof value === "string" ? value : "");

const listOf = (value) =>
  (Array.isArray(value) ? value : []).filter((each) => each && typeof each === "object");

// Converts one condition to a text for people; null: it has no text.
function conditionOf(each, module) {
  const text = [each.text, each.code].map(textOf).find(Boolean);
  if (!text) return null;
  const count = Number(each.count) > 1 ? ` (${Number(each.count)} modules)` : "";
  const rest = [textOf(each.detail), textOf(each.until) && `until ${each.until}`].filter(Boolean);
  return { module: module || textOf(each.module), isWarning: each.severity === "warning",
    text: [text + count, ...rest].join("; ") };
}

// Returns [{text, module, isWarning}] from the conditions of the modules or, if this
// client may not read them, from the answer to /readyz?verbose.
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

// A text that changes when a module comes, goes or fails.
const servedOf = (health) => JSON.stringify([health?.status, health?.modules, health?.failed]);

// A text that changes when a condition comes or goes, or another token is used. `more`
// is the number of conditions that only readers can see.
const saidOf = (health) =>
  JSON.stringify([page.token, servedOf(health), health?.conditions, health?.more]);

const ask = (path) => fetchJson(path, { signal: AbortSignal.timeout(HEALTH_WAIT_MS),
  headers: withToken({ Accept: "application/json" }) });

let isAsking = false;
// The modules when `said` was this text.
let known = { said: "", modules: null };

// Returns the conditions of modules; null: there are none, or this client may not read
// them. The list may be long, so it is requested only after a change.
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
    // Set only when it changes; otherwise screen readers would read it again.
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
