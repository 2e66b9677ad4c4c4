// SPDX-License-Identifier: Apache-2.0
//
// How the time of a call was spent: in its stages and, if the call was profiled, in its
// parts.

function timeView(stages, roundTrip) {
  const all = stages.reduce((sum, each) => sum + each[1], 0);
  const bar = make("div", { className: "bar", "aria-hidden": "true" });
  const list = make("ul", { className: "stages" });
  stages.forEach(([name, ms], i) => {
    const part = make("i", { className: `s${i}`, title: name });
    part.style.flex = `${ms / (all || 1)} 0 0`;
    bar.append(part);
    list.append(make("li", {}, make("i", { className: `s${i}` }), `${name} ${ms.toFixed(3)} ms`));
  });
  return make("div", {}, bar, list,
    make("p", { className: "quiet" }, `${all.toFixed(3)} ms in the server, ${roundTrip.toFixed(1)} ms seen from here`));
}

// ---------------------------------------------------------------------------
// The profile of a call

// Returns the rows in order, with their depth: each after the row that called it, the
// longest first.
function inOrder(rows, parent, depth) {
  return rows.map((row, i) => ({ row, i })).filter(({ row }) => (row.parent ?? -1) === parent)
    .sort((a, b) => b.row.ns - a.row.ns)
    .flatMap(({ row, i }) => [{ row, depth }, ...inOrder(rows, i, depth + 1)]);
}

const timeText = (ns) => (ns < 1e6 ? `${(ns / 1e3).toPrecision(3)} us` : `${(ns / 1e6).toPrecision(3)} ms`);

function profileView(profile) {
  const head = make("tr", {}, ...["time", "self", "count", "what"].map((each) => make("th", { scope: "col" }, each)));
  const body = inOrder(profile.rows, -1, 0).map(({ row, depth }) => make("tr", {},
    ...[timeText(row.ns), timeText(row.self_ns), String(row.count)].map((each) => make("td", {}, each)),
    make("td", { className: "what" }, `${"\u00a0\u00a0".repeat(depth)}${row.kind} ${row.name} ${row.grid?.join("x") ?? ""}`)));
  return scrollBox("Profile",
    make("table", { className: "values" }, make("tbody", {}, head, ...body))).node;
}

pane("right", (view) => {
  const node = make("div", {});
  view.watch(["run"], () => {
    const { answer } = view.run;
    if (!answer) return;
    const { profile } = answer.read;
    node.replaceChildren(
      ...(answer.stages.length
        ? [make("h3", {}, "Where the time went"), timeView(answer.stages, answer.ms)] : []),
      ...(profile
        ? [make("h3", {}, "The profile of the call"), profileView(profile)] : []));
  });
  view.watch(["run", "edited"], () => node.classList.toggle("old", isOld(view)));
  view.watch(["left"], () => node.replaceChildren());
  return node;
});
