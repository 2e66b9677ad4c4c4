// SPDX-License-Identifier: Apache-2.0
//
// The explorer: the API's client in a browser. Its files are put behind each other,
// this one first, and served as one module. Everything shown is made of text nodes, so
// nothing that a module or an answer says can become markup.

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

// Makes buttons of which one is pressed; `entries` are [text, what a press does].
// Returns their row, and a function that presses the one with a text.
function choice(label, entries) {
  const buttons = entries.map(([text, act]) => button(text, () => press(text)));
  const press = (text) => {
    entries.forEach(([each, act], i) => {
      buttons[i].setAttribute("aria-pressed", each === text);
      if (each === text) act();
    });
  };
  const row = make("div", { className: "row", role: "group", "aria-label": label }, ...buttons);
  return { row, press };
}

function save(name, parts, type) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
