// SPDX-License-Identifier: Apache-2.0
//
// The same call for a shell, Python and JavaScript, ready to be pasted.

const SNIPPET_MOST = 20000;  // a larger body is saved as a file

const quoteShell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// With `token` the code takes the token from the variable FARCALL_TOKEN.
const SNIPPETS = {
  curl: (url, body, token) => `curl -s ${quoteShell(url)} -H 'Content-Type: application/json'`
    + (token ? ' -H "Authorization: Bearer $FARCALL_TOKEN"' : "")
    + ` -d ${body.length > SNIPPET_MOST ? "@call.json" : quoteShell(body)}`,
  Python: (url, body, token) => [
    `import json, ${token ? "os, " : ""}urllib.request`,
    "",
    body.length > SNIPPET_MOST ? 'body = open("call.json").read()' : `body = ${JSON.stringify(body)}`,
    'fields = {"Content-Type": "application/json"}',
    ...(token ? ['fields["Authorization"] = "Bearer " + os.environ["FARCALL_TOKEN"]'] : []),
    `request = urllib.request.Request(${JSON.stringify(url)}, body.encode(), fields)`,
    "with urllib.request.urlopen(request) as answer:",
    '    print(json.load(answer)["results"])',
  ].join("\n"),
  JavaScript: (url, body, token) => [
    `const answer = await fetch(${JSON.stringify(url)}, {`,
    '  method: "POST",',
    `  headers: { "Content-Type": "application/json"${token ? ", Authorization: `Bearer ${process.env.FARCALL_TOKEN}`" : ""} },`,
    body.length > SNIPPET_MOST
      ? '  body: (await import("node:fs")).readFileSync("call.json"),'
      : `  body: ${JSON.stringify(body)},`,
    "});",
    "console.log((await answer.json()).results);",
  ].join("\n"),
};

pane("below", (view) => {
  const text = make("pre", { tabIndex: 0, "aria-label": "Code of this call" });
  const copied = make("span", { role: "status", className: "quiet" });
  const url = location.origin + view.path;
  const bodyOf = view.form.body;
  let language = "curl", timer = 0;
  const later = () => { clearTimeout(timer); timer = setTimeout(show, 200); };
  const show = () => {
    copied.textContent = "";
    let body;
    try { body = bodyOf(); } catch { return; }
    text.textContent = SNIPPETS[language](url, body, page.token !== "");
    file.hidden = body.length <= SNIPPET_MOST;
  };
  const file = button("Save call.json", () => save("call.json", [bodyOf()], "application/json"), { hidden: true });
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      copied.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(text);
      copied.textContent = "selected";
    }
  });
  const pressed = choice("Language", Object.keys(SNIPPETS).map((each) => [each, () => { language = each; show(); }]));
  pressed.row.append(copy, file, copied);
  pressed.press("curl");
  for (const type of ["input", "click"]) view.form.node.addEventListener(type, later);
  return make("div", {}, make("h3", {}, "This call elsewhere"), pressed.row,
    make("p", {}, text));
});
