// SPDX-License-Identifier: Apache-2.0
//
// The button that calls, and what becomes of the call.

async function callFunction(view, profiled) {
  let body;
  try { body = view.form.body(); } catch (error) {
    view.set({ run: { ...view.run, phase: "unsent", message: error.message } });
    view.form.node.querySelector("[aria-invalid=true]")?.focus();
    return;
  }
  const mine = { phase: "calling" };
  view.set({ run: mine });
  try {
    const answer = await send(profiled ? `${view.path}?profile=1` : view.path, body);
    if (view.run !== mine) return;
    view.set({ run: { phase: answer.ok ? "answered" : "refused", answer } });
    if (!answer.ok) view.form.fail(answer.read);
  } catch (error) {
    if (view.run === mine) view.set({ run: { phase: "failed", message: error.message } });
  }
}

const RUN_TEXTS = {
  unsent: (run) => `Not called: ${run.message}`,
  calling: () => "calling…",
  failed: (run) => `The server was not reached: ${run.message}`,
  answered: (run) => `Answered in ${run.answer.ms.toFixed(1)} ms`,
  refused: (run) => `Refused: ${run.answer.read.detail}`,
};

pane("left", (view) => {
  const status = make("p", { role: "status", className: "quiet" });
  const profiled = make("input", { type: "checkbox" });
  const submit = make("button", { className: "main", type: "submit" }, "Call");
  submit.setAttribute("form", view.form.node.id);
  view.form.node.onsubmit = (event) => {
    event.preventDefault();
    callFunction(view, profiled.checked);
  };
  view.watch(["run"], () => { status.textContent = RUN_TEXTS[view.run.phase](view.run); });
  return make("p", { className: "row call" }, submit,
    make("label", {}, profiled, " with a profile"), status);
});
