// SPDX-License-Identifier: Apache-2.0
//
// What the page knows, and the panes that show it. A pane reads the state and is told
// when it changes; no pane knows another.

// Makes a state of these facts. `set` changes some, and then runs each `watch`er of them.
function makeState(facts) {
  const watchers = [];
  const state = { ...facts,
    set(changes) {
      Object.assign(state, changes);
      for (const { names, act } of watchers) {
        if (names.some((each) => each in changes)) act();
      }
    },
    watch(names, act) { watchers.push({ names, act }); },
  };
  return state;
}

// The page. `token` was given in this tab, "" if none was; `listed` are the functions.
const page = makeState({ token: sessionStorage.getItem("token") ?? "", listed: [],
  wantsToken: false, listFault: "", hash: location.hash });

// A function: its signature and path, the form of its arguments (panes/arguments.js), and
// `run`, what became of the last call: null, or {phase: calling|answered|refused|failed, …}.
const makeView = (signature, path) => makeState({ signature, path, form: null, run: null });

// The panes by place, in the order of pack.cmake. Those of `nav` and `top` are made once
// with the page, the others for each function. `make` returns a node, or null.
const PANES = { nav: [], top: [], head: [], left: [], right: [], below: [] };
const pane = (place, make) => PANES[place].push(make);
const panesOf = (place, state) => PANES[place].map((make) => make(state)).filter(Boolean);
