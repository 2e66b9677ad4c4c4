// SPDX-License-Identifier: Apache-2.0
//
// Help for a server that has no function yet.

pane("top", () => {
  const line = (text) => make("pre", { tabIndex: 0, "aria-label": text }, text);
  const node = make("section", { hidden: true },
    make("h2", {}, "Nothing is served yet"),
    make("p", {}, "A server shows here what it was started with: an ONNX model, MLIR, a ",
      make("code", {}, ".vmfb"), " or a ", make("code", {}, ".so"), "."),
    line("farcall serve model.onnx"),
    make("p", {}, "One that watches a folder takes what is copied there, without a restart:"),
    line("farcalld --watch models/"),
    make("p", { className: "quiet" }, "This page shows it when it is there."));
  page.watch(["listed"], () => {
    const is = page.listed?.length === 0;
    node.hidden = !is;
    if (byId("hint")) byId("hint").hidden = is;
  });
  return node;
});
