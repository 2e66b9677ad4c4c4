// SPDX-License-Identifier: Apache-2.0
//
// The state of the page, and the panes that show it. Panes read the state and are told
// when it changes; no pane uses another.

// Makes a state with these facts. `set` changes some of them, and then calls their
// watchers.
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

// May this text be sent in a header field?
const isToken = (text) => /^[\x21-\x7e]+$/.test(text);
const storedToken = () =>
  [sessionStorage.getItem("token") ?? ""].find(isToken) ?? "";

// The state of the page. `info` and `health` are the server's answers about itself,
// null before the first; `conditions` are its problems (panes/health.js); `listed` are
// the functions, and `listFault` says why they could not be read. `access` is null or,
// if the server needs a token, {detail}: why the given token was refused, "" if none
// was given. `gone`: the server does not answer. `sessions` maps modules to the ids of
// the sessions that calls belong to (panes/session.js).
const page = makeState({ token: storedToken(), info: null,
  health: null, conditions: [], gone: false, listed: null, listFault: "",
  isLoading: false, access: null, sessions: new Map(), hash: location.hash });

// The state of one function: its signature and path, the form of its arguments
// (panes/arguments.js), and `run`, the result of the last call: null, or {phase:
// calling|answered|refused|cancelled|unsent|failed, …}. `left` is set when another
// function is shown: then the answer is dropped, and typed text stays. The panes watch
// `info`, `token` and `sessions` here and not at the page, because the page would keep
// the panes for ever. `sessions` is set when the function is shown. `edited`: the
// arguments were changed since the call. `steps` reads the settings of a repeated call
// while that pane is open; otherwise it is null.
const makeView = (signature, path) => makeState({ signature, path, form: null, run: null,
  edited: false, steps: null, info: page.info, token: page.token, sessions: page.sessions });
// The module of a function as paths name it, and the session of its calls ("": none).
const moduleOf = (view) => view.path.split("/")[4];
const sessionOf = (view) => view.sessions.get(moduleOf(view)) ?? "";

// Does the page show the answer of an earlier call, or of other arguments?
const isOld = ({ run, edited }) => edited || !["answered", "refused"].includes(run?.phase);

// The panes by place, in the order of pack.cmake. Panes of `nav` and `top` are made
// once for the page, the others once for each function. `make` returns a node, or null.
const PANES = { nav: [], top: [], head: [], left: [], right: [], below: [] };
const pane = (place, make) => PANES[place].push(make);
const panesOf = (place, state) => PANES[place].map((make) => make(state)).filter(Boolean);
