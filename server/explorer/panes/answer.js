// SPDX-License-Identifier: Apache-2.0
//
// The answer of a function, or the reason why there is none. It is dimmed when the
// arguments change, until there is another answer.

// Scrolls to a node that lies below the visible part of the page, as on phones.
function bringUp(node) {
  if (node.getBoundingClientRect().top > innerHeight - 120) node.scrollIntoView();
}

pane("right", (view) => {
  const node = make("div", { id: "answer" });
  view.watch(["run"], () => {
    const { phase, answer, at } = view.run;
    if (phase === "answered") {
      node.replaceChildren(make("h3", {}, "Answer"),
        ...answerView(view.signature, answer.read.results));
      bringUp(node);
    } else if (phase === "refused") {
      node.replaceChildren(...(at ? [] : [make("h3", {}, "Problem"),
        problemView(answer.read, answer.status)]));
      if (!at) bringUp(node);
    }
  });
  view.watch(["run", "edited"], () => node.classList.toggle("old", isOld(view)));
  view.watch(["left"], () => node.replaceChildren());
  return node;
});
