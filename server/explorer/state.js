// SPDX-License-Identifier: Apache-2.0
//
// What the page knows, and the panes that show it. A pane reads the state and is told
// when it changes; no pane knows another.

// Makes a state of these facts. `set` changes some, and then runs who watches them.
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

// May this be sent in a field of a request?
const isToken = (text) => /^[\x21-\x7e]+$/.test(text);
const storedToken = () =>
  [sessionStorage.getItem("token") ?? ""].find(isToken) ?? "";

// The page. `info` and `health` are what the server says of itself, null before it did;
// `conditions` what is wrong with it (panes/health.js), `listed` are the functions,
// `listFault` why they could not be read; `access` is null or, if a token is wanted,
// {detail}: what is wrong with that given, "" if none was. `gone`: the server does not
// answer. `sessions` are the ids that calls go into, by module (panes/session.js).
const page = makeState({ token: storedToken(), info: null,
  health: null, conditions: [], gone: false, listed: null, listFault: "",
  isLoading: false, access: null, sessions: new Map(), hash: location.hash });

// A function: its signature and path, the form of its arguments (panes/arguments.js), and
// `run`, what became of the last call: null, or {phase: calling|answered|refused|
// cancelled|unsent|failed, …}. `left` is set when another function is shown: what was
// answered is let go, what was typed stays. Its panes watch `info`, `token` and `sessions`
// here, not at the page, which would keep them for ever; `sessions` are told to the view
// that is shown, and to another when it is shown again.
// `edited`: the arguments were changed since. `steps` gives what is repeated while that pane
// is open, else it is null.
const makeView = (signature, path) => makeState({ signature, path, form: null, run: null,
  edited: false, steps: null, info: page.info, token: page.token, sessions: page.sessions });
// The module of a function, as it stands in paths, and the session of its calls, "": none.
const moduleOf = (view) => view.path.split("/")[4];
const sessionOf = (view) => view.sessions.get(moduleOf(view)) ?? "";

// Is what is shown the answer of an earlier call, or of other arguments?
const isOld = ({ run, edited }) => edited || !["answered", "refused"].includes(run?.phase);

// The panes by place, in the order of pack.cmake. Those of `nav` and `top` are made once
// with the page, the others for each function. `make` returns a node, or null.
const PANES = { nav: [], top: [], head: [], left: [], right: [], below: [] };
const pane = (place, make) => PANES[place].push(make);
const panesOf = (place, state) => PANES[place].map((make) => make(state)).filter(Boolean);
