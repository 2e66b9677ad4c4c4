// SPDX-License-Identifier: Apache-2.0
//
// The token of a server that wants one.

pane("top", () => {
  const field = make("input", { type: "password", autocomplete: "off", required: true });
  const form = make("form", { "aria-label": "Access", hidden: true },
    make("h2", {}, "This server wants a token"),
    make("p", { className: "row" }, make("label", {}, "Token ", field),
      make("button", { className: "main", type: "submit" }, "Use")),
    make("p", { className: "quiet" }, "This tab keeps it until it is closed."));
  form.onsubmit = (event) => {
    event.preventDefault();
    const token = field.value.trim();
    sessionStorage.setItem("token", token);
    page.set({ token });
  };
  page.watch(["wantsToken"], () => { form.hidden = !page.wantsToken; });
  return form;
});
