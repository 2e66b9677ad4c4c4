// SPDX-License-Identifier: Apache-2.0
//
// The token for a server that needs one, and the reason why a token was refused.

pane("top", () => {
  const input = make("input", { type: "password", autocomplete: "off" });
  const field = controlField("Token", input, () => {
    const token = input.value.trim();
    if (!token) throw new Error("a token is missing");
    if (!isToken(token)) throw new Error("a token has no space, and only characters of ASCII");
    return token;
  });
  const form = make("form", { "aria-label": "Access", hidden: true, noValidate: true },
    make("h2", {}, "This server wants a token"), field.node,
    make("button", { className: "main", type: "submit" }, "Use"),
    make("p", { className: "quiet" }, "This tab keeps it until it is closed."));
  form.onsubmit = (event) => {
    event.preventDefault();
    let token;
    try { token = field.read(); } catch { input.focus(); return; }
    sessionStorage.setItem("token", token);
    page.set({ token });
  };
  page.watch(["access"], () => {
    form.hidden = !page.access;
    if (page.access) field.fail(page.access.detail);
  });
  return form;
});
