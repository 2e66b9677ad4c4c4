// SPDX-License-Identifier: Apache-2.0
//
// The button that calls, and the state of the call.

function readCall(view) {
  try { return JSON.stringify(view.form.read()); } catch {
    view.set({ run: { phase: "unsent" } });
    view.form.node.querySelector("[aria-invalid=true]")?.focus();
    return null;
  }
}

async function callFunction(view, profiled) {
  const body = readCall(view);
  if (body === null) return;
  view.run?.stop?.abort();
  const mine = { phase: "calling", began: performance.now(), stop: new AbortController() };
  view.set({ run: mine, edited: false });
  const path = profiled ? `${view.path}?profile=1` : view.path;
  try {
    const answer = await send(path, body, mine.stop.signal, sessionOf(view));
    if (view.run !== mine) return;
    const at = answer.ok ? "" : answer.isAccess ? "token" : view.form.fail(answer.read) ? "field" : "";
    view.set({ run: { phase: answer.ok ? "answered" : "refused", answer, at } });
  } catch (error) {
    if (view.run !== mine) return;
    const ms = performance.now() - mine.began;
    view.set({ run: error.name === "AbortError" ? { phase: "cancelled", ms }
      : { phase: "failed", message: page.gone ? "" : error.message } });
  }
}

const secondsText = (ms) => (ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(1)} s`);

// Each error is shown once: this text only points to an error that a field or the page
// shows.
const RUN_TEXTS = {
  unsent: () => "Not called: see the marked field",
  calling: () => "Calling…",
  failed: (run) => (run.message ? `No answer: ${run.message}` : "No answer: the server is gone"),
  cancelled: (run) => `Cancelled after ${secondsText(run.ms)}`,
  answered: (run) => `Answered in ${secondsText(run.answer.ms)}`,
  refused: (run) => ({ field: "Refused: see the marked field",
    token: "Refused: see the token above" }[run.at] ?? "Refused"),
};

pane("right", (view) => {
  const status = make("span", { role: "status" });
  const elapsed = make("span", { "aria-hidden": "true" });
  const profiled = make("input", { type: "checkbox" });
  const profile = make("label", { className: "check" }, profiled, " with a profile");
  const submit = make("button", { className: "main", type: "submit", title: "Ctrl-Enter" },
    "Call ", make("kbd", { "aria-hidden": "true" }, "Ctrl ↵"));
  submit.setAttribute("form", view.form.node.id);
  submit.setAttribute("aria-keyshortcuts", "Control+Enter");
  const cancel = button("Cancel", () => view.run.stop.abort(), { hidden: true });
  let timer = 0;
  view.form.node.onsubmit = (event) => {
    event.preventDefault();
    callFunction(view, profiled.checked && !profile.hidden);
  };
  const tick = () => { elapsed.textContent = secondsText(performance.now() - view.run.began); };
  view.watch(["run"], () => {
    clearInterval(timer);
    elapsed.textContent = "";
    const running = view.run.phase === "calling";
    if (running) timer = setInterval(tick, 100);
    if (!running && document.activeElement === cancel) submit.focus();
    cancel.hidden = !running;
    status.textContent = RUN_TEXTS[view.run.phase](view.run);
  });
  view.watch(["edited"], () => {
    if (view.edited && ["answered", "refused"].includes(view.run?.phase)) {
      status.textContent = "The arguments have changed since this answer";
    }
  });
  view.watch(["left"], () => {
    if (!view.run || view.run.phase === "calling") return;
    view.run = null;
    status.textContent = "";
  });
  const allow = () => { profile.hidden = view.info?.profile === false; };
  view.watch(["info"], allow);
  allow();
  return make("div", { className: "call" },
    make("div", { className: "row" }, submit, cancel, profile),
    make("p", { className: "quiet" }, status, " ", elapsed));
});
