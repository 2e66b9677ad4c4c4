// SPDX-License-Identifier: Apache-2.0
//
// The list of functions, with a search. On a phone a bar opens it.

const LISTED_MOST = 300;

// Shows the version of a module if the module has several.
function withVersions(functions) {
  const versions = new Map();
  for (const { module, version } of functions) {
    versions.set(module, (versions.get(module) ?? new Set()).add(version));
  }
  return functions.map((each) => (versions.get(each.module).size > 1
    ? { ...each, module: `${each.module}@${each.version}` } : each));
}

// Returns the functions whose names have all of the words.
function foundFunctions(words) {
  return (page.listed ?? []).filter((each) => {
    const text = `${each.module} ${each.text}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function functionLink(each) {
  return make("a", { href: hashOf(each), title: each.reason ?? each.text,
    className: each.callable ? "" : "off",
    "aria-current": hashOf(each) === page.hash ? "page" : undefined }, each.name);
}

// Enter in the search opens the first function; arrow keys move through the list and
// back.
function listKeys(event, search, list) {
  const links = [...list.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "Enter" && event.target === search) links[0]?.click();
  else if (event.key === "ArrowDown") (links[at + 1] ?? links[at])?.focus();
  else if (event.key === "ArrowUp" && at >= 0) (links[at - 1] ?? search).focus();
  else return;
  if (event.key !== "Enter" || event.target === search) event.preventDefault();
}

function countText(found, shown) {
  if (page.listFault) return page.listFault;
  if (!page.listed) return "";
  return `${found} of ${page.listed.length} functions`
    + (found > shown ? `, the first ${shown} are shown` : "");
}

pane("nav", () => {
  const search = make("input", { id: "search", type: "search", autocomplete: "off",
    spellcheck: false, "aria-describedby": "found" });
  const count = make("p", { id: "found", role: "status" });
  const list = make("ul", { id: "functions" });
  const fold = button("Functions", () => open(fold.getAttribute("aria-expanded") !== "true"),
    { className: "fold", "aria-expanded": "false", "aria-controls": "finder" });
  const open = (is) => fold.setAttribute("aria-expanded", is);
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
    count.textContent = countText(found.length, shown.length);
    fold.textContent = `Functions (${page.listed?.length ?? 0})`;
  };
  search.addEventListener("input", show);
  page.watch(["listed", "listFault"], show);
  let at = page.hash;
  page.watch(["hash"], () => {
    if (page.hash === at) return;
    at = page.hash;
    search.value = "";
    open(false);
    show();
  });
  addEventListener("keydown", (event) => {
    const typing = /INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName);
    if (event.key !== "/" || typing) return;
    event.preventDefault();
    open(true);
    search.select();
  });
  const finder = make("div", { id: "finder" },
    make("label", { htmlFor: "search" }, "Find a function"), search, count, list);
  finder.addEventListener("keydown", (event) => listKeys(event, search, list));
  return make("div", {}, fold, finder);
});
