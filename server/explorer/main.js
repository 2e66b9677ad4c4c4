// SPDX-License-Identifier: Apache-2.0
//
// The page: which function is shown, and where its panes are.

function functionView(signature, path) {
  const view = makeView(signature, path);
  if (!signature.callable) {
    return [...panesOf("head", view),
      make("p", { className: "problem" }, `It cannot be called: ${signature.reason}`)];
  }
  return ["head", "left", "right", "below"].flatMap((place) => panesOf(place, view));
}

async function showFunction() {
  const asked = location.hash;
  page.set({ hash: asked });
  let module, name;
  try { [module, name] = asked.slice(2).split("/").map(decodeURIComponent); } catch { /* no name */ }
  if (!name) return;
  const title = make("h2", {}, make("small", {}, `${module} / `), name);
  document.title = `${name} · farcall`;
  let nodes;
  try {
    nodes = functionView(await getJson(pathOf(module, name)), pathOf(module, name));
  } catch (error) {
    nodes = [error.problem ? problemView(error.problem, error.status) : make("p", {}, error.message)];
  }
  // Another function may have been chosen meanwhile.
  if (location.hash === asked) byId("function").replaceChildren(title, ...nodes);
}

async function load() {
  try {
    const [info, { functions }] =
      await Promise.all([getJson("/api/v1"), getJson("/api/v1/functions")]);
    const listed = withVersions(functions);
    byId("server").textContent = `${info.name} ${info.version}, ${info.modules} modules on ${location.host}`;
    page.set({ listed, listFault: "", wantsToken: false });
    if (!location.hash && listed.length) {
      location.replace(hashOf(listed.find((each) => each.callable) ?? listed[0]));
    } else {
      await showFunction();
    }
  } catch (error) {
    page.set({ listFault: `The list cannot be read: ${error.message}`,
      wantsToken: error.status === 401 || error.status === 403 });
  }
}

byId("nav").append(...panesOf("nav"));
byId("top").append(...panesOf("top"));
addEventListener("hashchange", async () => { await showFunction(); byId("main").focus(); });
page.watch(["token"], load);
load();
