// SPDX-License-Identifier: Apache-2.0
//
// What a function answered, or why it did not. An old answer is dimmed until there is
// another.

pane("right", (view) => {
  const node = make("div", { id: "answer" });
  view.watch(["run"], () => {
    const { phase, answer, at } = view.run;
    node.classList.toggle("old", isOld(view.run));
    if (phase === "answered") {
      node.replaceChildren(make("h3", {}, "Answer"),
        ...answerView(view.signature, answer.read.results));
    } else if (phase === "refused") {
      node.replaceChildren(...(at ? [] : [make("h3", {}, "Problem"),
        problemView(answer.read, answer.status)]));
    }
  });
  view.watch(["left"], () => node.replaceChildren());
  return node;
});
