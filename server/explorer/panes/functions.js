// SPDX-License-Identifier: Apache-2.0
//
// The list of functions, and the search in it.

const LISTED_MOST = 300;

// A module of which there are several versions is named with its version.
function withVersions(functions) {
  const versions = new Map();
  for (const { module, version } of functions) {
    versions.set(module, (versions.get(module) ?? new Set()).add(version));
  }
  return functions.map((each) => (versions.get(each.module).size > 1
    ? { ...each, module: `${each.module}@${each.version}` } : each));
}

// Those that have all of the words.
function foundFunctions(words) {
  return page.listed.filter((each) => {
    const text = `${each.module} ${each.text}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function functionLink(each) {
  return make("a", { href: hashOf(each), title: each.reason ?? each.text,
    className: each.callable ? "" : "off",
    "aria-current": hashOf(each) === page.hash ? "page" : undefined }, each.name);
}

pane("nav", () => {
  const search = make("input", { id: "search", type: "search", autocomplete: "off",
    spellcheck: false, "aria-describedby": "found" });
  const count = make("p", { id: "found", role: "status" });
  const list = make("ul", { id: "functions" });
  const show = () => {
    const found = foundFunctions(search.value.toLowerCase().split(/\s+/).filter(Boolean));
    const shown = found.slice(0, LISTED_MOST);
    const modules = new Map();
    for (const each of shown) {
      if (!modules.has(each.module)) modules.set(each.module, make("ul", {}));
      modules.get(each.module).append(make("li", {}, functionLink(each)));
    }
    list.replaceChildren(...[...modules].map(([module, links]) =>
      make("li", {}, make("span", {}, module), links)));
    count.textContent = page.listFault || `${found.length} of ${page.listed.length} functions`
      + (found.length > shown.length ? `, the first ${shown.length} are shown` : "");
  };
  search.addEventListener("input", show);
  addEventListener("keydown", (event) => {
    const typing = /INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing) { event.preventDefault(); search.focus(); }
  });
  page.watch(["listed", "listFault", "hash"], show);
  return make("div", {}, make("label", { htmlFor: "search" }, "Find a function"),
    search, count, list);
});
