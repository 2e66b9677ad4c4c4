// SPDX-License-Identifier: Apache-2.0
//
// The explorer: a client of the API in a browser. Its files are concatenated, this one
// first, and served as one module. Everything shown is made of text nodes, so text of a
// module or an answer can never become markup.

const byId = (id) => document.getElementById(id);

let idsMade = 0;
const makeId = () => `x${++idsMade}`;

// Makes an element. Members of `facts` are properties if the element has such a
// property, else attributes.
function make(tag, facts = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined) continue;
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((each) => each !== null && each !== undefined));
  return element;
}

const button = (text, onclick, facts = {}) =>
  make("button", { type: "button", onclick, ...facts }, text);

// Makes a control with several texts, of which one is chosen. `entries` are pairs: a
// text, and the function called when it is chosen. Returns the node, a function that
// marks the entry of a text as chosen, and a function that chooses it.
function choice(label, entries) {
  const name = makeId();
  const boxes = entries.map(([, act]) =>
    make("input", { type: "radio", name, onchange: () => act() }));
  const node = make("span", { className: "tabs", role: "radiogroup", "aria-label": label },
    ...entries.map(([text], i) => make("label", {}, boxes[i], make("span", {}, text))));
  const indexOf = (text) => entries.findIndex(([each]) => each === text);
  const mark = (text) => { boxes[indexOf(text)].checked = true; };
  const press = (text) => { mark(text); entries[indexOf(text)][1](); };
  return { node, row: make("div", { className: "row" }, node), mark, press };
}

// Makes a part of the page that scrolls by itself, and a line below it that is shown
// while there is more to scroll to: {node, box}.
function scrollBox(label, ...children) {
  const box = make("div", { className: "box", tabIndex: 0, role: "region", "aria-label": label },
    ...children);
  const more = make("p", { className: "quiet more", "aria-hidden": "true", hidden: true });
  const look = () => {
    const where = [box.scrollWidth - box.clientWidth - box.scrollLeft > 2 ? "to the right" : "",
      box.scrollHeight - box.clientHeight - box.scrollTop > 2 ? "below" : ""].filter(Boolean);
    more.textContent = `More ${where.join(" and ")}: scroll`;
    more.hidden = !where.length;
  };
  box.addEventListener("scroll", look);
  new ResizeObserver(look).observe(box);
  new MutationObserver(look).observe(box, { childList: true, subtree: true });
  return { box, node: make("div", {}, box, more) };
}

function save(name, parts, type) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
