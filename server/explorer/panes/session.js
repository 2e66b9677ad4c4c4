// SPDX-License-Identifier: Apache-2.0
//
// The session that calls go into: a new one, or one whose id is known. It is the module's,
// so all its functions have it. What it holds is listed, and read when it is asked for.

const SHOWN_BYTES = 1 << 18;  // of a value; others are saved by other means

// A tensor comes with its type, and its elements in a row or nested.
const storedValue = (value, type) =>
  (type.kind === "tensor" ? unpack(value, dtypeOf(type.dtype)) : value?.data ?? value);

function stateView(path, values) {
  const shown = make("div", {});
  const show = async (name, type) => {
    try {
      const { results } = await getJson(`${path}/values/${encodeURIComponent(name)}`);
      shown.replaceChildren(make("p", { className: "quiet" }, caption(name, type)),
        valueView(name, storedValue(results[0], type), type, "", new Map()));
    } catch (error) {
      if (page.gone || error.isAccess) return;  // said elsewhere
      shown.replaceChildren(error.problem ? problemView(error.problem, error.status)
        : make("p", {}, error.message));
    }
  };
  const rows = Object.entries(values).map(([name, { type, bytes }]) => make("tr", {},
    make("th", { scope: "row" }, name), make("td", {}, typeText(type)), make("td", {}, String(bytes)),
    make("td", {}, bytes > SHOWN_BYTES ? "too large to be shown"
      : button("Show", () => show(name, type), { "aria-label": `Show ${name}` }))));
  if (!rows.length) return [make("p", { className: "quiet" }, "It holds nothing.")];
  const head = make("tr", {}, ...["value", "type", "bytes"].map((each) => make("th", { scope: "col" }, each)), make("td", {}));
  return [make("div", { className: "box", tabIndex: 0, role: "region", "aria-label": "State" },
    make("table", { className: "values" }, make("tbody", {}, head, ...rows))), shown];
}

pane("right", (view) => {
  const all = `/api/v1/modules/${moduleOf(view)}/sessions`;
  const status = make("span", { role: "status" });
  const list = make("div", {});
  const fault = make("div", { role: "alert" });
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: false });
  const field = controlField("Id of a session", input, () => {
    const id = input.value.trim();
    if (/^[0-9a-f]{32}$/.test(id)) return id;
    throw new Error("an id has 32 hexadecimal digits");
  });
  const choose = (session) => page.set({ sessions: new Map(page.sessions).set(moduleOf(view), session) });
  let asked = null;  // which session is shown, or will be
  const refresh = async () => {
    const id = sessionOf(view);
    asked = id;
    // The focus is not left on what is hidden.
    if (!id && [leave, end].includes(document.activeElement)) begin.focus();
    leave.hidden = end.hidden = !id;
    if (!id) {
      status.textContent = "Calls belong to no session";
      list.replaceChildren();
      return;
    }
    const told = await getJson(`${all}/${id}`);
    if (sessionOf(view) !== id) return;
    status.textContent = `Calls go into session ${id.slice(0, 8)}…, at step ${told.step}`;
    list.replaceChildren(...stateView(`${all}/${id}`, told.values));
  };
  // Does what is about session `id`, and leaves it if it is not there any more.
  const attempt = async (act, id = sessionOf(view)) => {
    try { await act(); } catch (error) {
      if (page.gone || error.isAccess) return;
      fault.replaceChildren(error.problem ? problemView(error.problem, error.status) : error.message);
      if ([404, 410].includes(error.status) && id && id === sessionOf(view)) choose("");
    }
  };
  // What a person asks for: what was wrong before is not any more.
  const ask = (act, id) => {
    fault.replaceChildren();
    return attempt(act, id);
  };
  const begin = button("New session", () => ask(async () =>
    choose((await getJson(all, { method: "POST" })).session)));
  const leave = button("Leave it", () => ask(() => choose("")), { hidden: true });
  const end = button("End it", () => ask(async () => {
    await getJson(`${all}/${sessionOf(view)}`, { method: "DELETE" });
    choose("");
  }), { hidden: true });
  const form = make("form", { noValidate: true, "aria-label": "A session by its id" },
    field.node, make("button", { type: "submit" }, "Use"));
  form.onsubmit = (event) => {
    event.preventDefault();
    let id;
    try { id = field.read(); } catch { input.focus(); return; }
    ask(async () => {
      await getJson(`${all}/${id}`);
      choose(id);
    }, id);
  };
  const node = make("details", { className: "signature" }, make("summary", {}, "Session"),
    make("p", { className: "quiet" }, status), make("div", { className: "row" }, begin, leave, end),
    form, fault, list);
  node.ontoggle = () => { if (node.open) ask(refresh); };
  view.watch(["sessions"], () => { if (sessionOf(view) !== asked) attempt(refresh); });
  view.watch(["run"], () => {
    if (sessionOf(view) && ["answered", "refused"].includes(view.run?.phase)) ask(refresh);
  });
  return node;
});
