// SPDX-License-Identifier: Apache-2.0
//
// The same call for a shell, Python and JavaScript, ready to be pasted.

const SNIPPET_MOST = 20000;  // a larger body is saved as a file

const quoteShell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const SNIPPETS = {
  curl: (url, body) => (body.length > SNIPPET_MOST
    ? `curl -s ${quoteShell(url)} -H 'Content-Type: application/json' -d @call.json`
    : `curl -s ${quoteShell(url)} -H 'Content-Type: application/json' -d ${quoteShell(body)}`),
  Python: (url, body) => [
    "import json, urllib.request",
    "",
    body.length > SNIPPET_MOST ? 'body = open("call.json").read()' : `body = ${JSON.stringify(body)}`,
    `request = urllib.request.Request(${JSON.stringify(url)}, body.encode(),`,
    '                                 {"Content-Type": "application/json"})',
    "with urllib.request.urlopen(request) as answer:",
    '    print(json.load(answer)["results"])',
  ].join("\n"),
  JavaScript: (url, body) => [
    `const answer = await fetch(${JSON.stringify(url)}, {`,
    '  method: "POST",',
    '  headers: { "Content-Type": "application/json" },',
    body.length > SNIPPET_MOST
      ? '  body: (await import("node:fs")).readFileSync("call.json"),'
      : `  body: ${JSON.stringify(body)},`,
    "});",
    "console.log((await answer.json()).results);",
  ].join("\n"),
};

// `bodyOf` gives the body of the call as the form is now, or throws.
function snippetsView(url, bodyOf) {
  const text = make("pre", { tabIndex: 0, "aria-label": "Code of this call" });
  const copied = make("span", { role: "status", className: "quiet" });
  let language = "curl", timer = 0;
  const later = () => { clearTimeout(timer); timer = setTimeout(show, 200); };
  const show = () => {
    copied.textContent = "";
    let body;
    try { body = bodyOf(); } catch { return; }
    text.textContent = SNIPPETS[language](url, body);
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
  return { node: make("div", {}, pressed.row, make("p", {}, text)), later };
}
