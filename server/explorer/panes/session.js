// SPDX-License-Identifier: Apache-2.0
//
// The session to which calls belong: a new one, or one with a known id. It belongs to
// the module, so all functions of the module use it. Its values are listed, and each is
// read when it is requested.

// The most bytes of a shown value; larger ones must be read in another way.
const SHOWN_BYTES = 1 << 18;

// The server sends a tensor with its type; its elements are flat or nested.
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
      // The state shows this error already.
      if (page.gone || error.isAccess) return;
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
  let asked = null;  // the session that is shown, or will be shown next
  const refresh = async () => {
    const id = sessionOf(view);
    asked = id;
    // The focus must not stay on a node that is hidden.
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
  // Runs `act` for session `id`. If the session does not exist any more, leaves it.
  const attempt = async (act, id = sessionOf(view)) => {
    try { await act(); } catch (error) {
      if (page.gone || error.isAccess) return;
      fault.replaceChildren(error.problem ? problemView(error.problem, error.status) : error.message);
      if ([404, 410].includes(error.status) && id && id === sessionOf(view)) choose("");
    }
  };
  // Runs an action of a person, after removing the error of the previous one.
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
