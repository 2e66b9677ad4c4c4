// SPDX-License-Identifier: Apache-2.0
//
// The page: shows the chosen function, and puts its panes into place.

const KEPT_MOST = 20;
let shown = null;  // {view, nodes} of the function that is shown
// By hash: the panes of a function, with the text typed into them.
const kept = new Map();

function functionNodes(view) {
  const { signature } = view;
  const column = (place) => make("div", { className: place }, ...panesOf(place, view));
  const head = panesOf("head", view);
  if (signature.callable) {
    return [...head, make("div", { className: "panes" },
      ...["left", "right", "below"].map(column))];
  }
  return [...head,
    make("p", { className: "problem" }, `It cannot be called: ${signature.reason}`)];
}

// Tells only the shown view, because each view that is told sends requests.
function tellSessions() {
  if (shown?.view && shown.view.sessions !== page.sessions) {
    shown.view.set({ sessions: page.sessions });
  }
}

// Returns the panes of a function. If its signature has not changed, they are as they
// were left.
function keptView(hash, signature, path) {
  const text = JSON.stringify(signature);
  const was = kept.get(hash);
  kept.delete(hash);
  if (was?.text === text) {
    kept.set(hash, was);
  } else {
    const view = makeView(signature, path);
    kept.set(hash, { text, view, nodes: functionNodes(view) });
  }
  if (kept.size > KEPT_MOST) kept.delete(kept.keys().next().value);
  return kept.get(hash);
}

async function showFunction() {
  const asked = location.hash;
  page.set({ hash: asked });
  let module, name;
  try { [module, name] = asked.slice(2).split("/").map(decodeURIComponent); } catch { /* no name */ }
  if (!name) return;
  const title = make("h2", {}, make("small", {}, `${module} / `), name);
  const path = pathOf(module, name);
  document.title = `${name} · farcall`;
  let next;
  try {
    next = keptView(asked, await getJson(path), path);
  } catch (error) {
    // The state shows this error already.
    if (page.gone || error.isAccess) return;
    const all = page.listed?.filter((each) => each.callable) ?? [];
    const there = all.find((each) => each.module === module) ?? all[0];
    next = { view: null, nodes: [error.problem ? problemView(error.problem, error.status)
      : make("p", {}, error.message),
    there ? make("p", {}, make("a", { href: hashOf(there) }, "Show a function that is there")) : ""] };
  }
  // Another function may have been chosen meanwhile.
  if (location.hash !== asked || next === shown) return;
  shown?.view?.set({ left: true });
  shown = next;
  tellSessions();
  byId("function").replaceChildren(title, ...next.nodes);
}

async function load() {
  page.set({ isLoading: true });
  try {
    const [info, { functions }] =
      await Promise.all([getJson("/api/v1"), getJson("/api/v1/functions")]);
    const listed = withVersions(functions);
    byId("server").textContent = `${info.name} ${info.version}, ${info.modules} module${info.modules === 1 ? "" : "s"} on ${location.host}`;
    page.set({ info, listed, listFault: "", access: null });
    if (!location.hash && listed.length) {
      location.replace(hashOf(listed.find((each) => each.callable) ?? listed[0]));
    } else {
      await showFunction();
    }
  } catch (error) {
    const said = page.gone || error.isAccess;
    const listFault = said ? "" : `The list cannot be read: ${error.message}`;
    // Set only when it changes; otherwise screen readers would read it again.
    if (listFault !== page.listFault) page.set({ listFault });
  }
  page.set({ isLoading: false });
}

byId("nav").append(...panesOf("nav"));
byId("top").append(...panesOf("top"));
addEventListener("hashchange", async (event) => {
  await showFunction();
  scrollTo(0, 0);
  // The focus stays where it is for the first function, because nobody has chosen it.
  if (new URL(event.oldURL).hash) byId("main").focus({ preventScroll: true });
});
page.watch(["info", "token"], () => kept.forEach(({ view }) =>
  view.set({ info: page.info, token: page.token })));
page.watch(["sessions"], tellSessions);
page.watch(["token", "reload"], load);
load();
