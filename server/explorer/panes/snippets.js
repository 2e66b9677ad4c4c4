// SPDX-License-Identifier: Apache-2.0
//
// The shown call as code for a shell, Python and JavaScript, to be copied.

const SNIPPET_MOST = 20000;  // a larger body is saved as a file
const ARRAY_MOST = 16;  // an array of more elements is not shown whole
const ARRAY_START = 24;  // characters that are shown of such an array

const quoteShell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const JSON_WORDS = { comma: ",", colon: ":" };
const SCRIPT_WORDS = { comma: ", ", colon: ": " };
const PYTHON_WORDS = { comma: ", ", colon: ": ", true: "True", false: "False", null: "None" };

// Prints a value in the notation of a language. With `folded`, prints only the
// beginning of a large array; that is for reading, not for running.
function printValue(value, words, folded) {
  const inner = (each) => printValue(each, words, folded);
  if (Array.isArray(value)) {
    const count = folded && value.length && !(value[0] && typeof value[0] === "object"
      && !Array.isArray(value[0])) ? flatten(value).length : 0;
    if (count <= ARRAY_MOST) return `[${value.map(inner).join(words.comma)}]`;
    const text = printValue(value, words, false);
    return `${text.slice(0, ARRAY_START)} … ${count} elements …${/\]*$/.exec(text)[0]}`;
  }
  if (value && typeof value === "object") {
    return `{${Object.entries(value).map(([name, each]) =>
      `${JSON.stringify(name)}${words.colon}${inner(each)}`).join(words.comma)}}`;
  }
  return words[String(value)] && typeof value !== "string"
    ? words[String(value)] : JSON.stringify(value);
}

// Writers of the code of a call with these header fields. `body(words)` prints the
// body; `file`: the body is in call.json instead. `token`: the code takes the token
// from the variable FARCALL_TOKEN. `steps`: the answer has a line of JSON for each
// step.
const SNIPPETS = {
  curl: ({ url, fields, body, file, token, steps }) => [`curl -s${steps ? "N" : ""} ${quoteShell(url)}`,
    ...Object.entries(fields).map((each) => `-H ${quoteShell(each.join(": "))}`),
    ...(token ? ['-H "Authorization: Bearer $FARCALL_TOKEN"'] : []),
    `-d ${file ? "@call.json" : quoteShell(body(JSON_WORDS))}`].join(" \\\n  "),
  Python: ({ url, fields, body, file, token, steps }) => [
    `import json, ${token ? "os, " : ""}urllib.request`,
    "",
    `call = ${file ? 'json.load(open("call.json"))' : body(PYTHON_WORDS)}`,
    `fields = ${printValue(fields, PYTHON_WORDS, false)}`,
    ...(token ? ['fields["Authorization"] = "Bearer " + os.environ["FARCALL_TOKEN"]'] : []),
    "request = urllib.request.Request(",
    `    ${JSON.stringify(url)}, json.dumps(call).encode(), fields)`,
    "with urllib.request.urlopen(request) as answer:",
    ...(steps ? ["    for line in answer:", "        print(json.loads(line))"]
      : ['    print(json.load(answer)["results"])']),
  ].join("\n"),
  JavaScript: ({ url, fields, body, file, token, steps }) => [
    `const answer = await fetch(${JSON.stringify(url)}, {`,
    '  method: "POST",',
    `  headers: { ${printValue(fields, SCRIPT_WORDS, false).slice(1, -1)}${token ? ",\n    Authorization: `Bearer ${process.env.FARCALL_TOKEN}`" : ""} },`,
    file ? '  body: (await import("node:fs")).readFileSync("call.json"),'
      : `  body: JSON.stringify(${body(SCRIPT_WORDS)}),`,
    "});",
    steps ? 'for (const line of (await answer.text()).trim().split("\\n")) console.log(JSON.parse(line));'
      : "console.log((await answer.json()).results);",
  ].join("\n"),
};

pane("below", (view) => {
  const text = make("pre", { tabIndex: 0, "aria-label": "Code of this call" });
  const copied = make("span", { role: "status", className: "quiet" });
  let language = "curl", timer = 0, whole = "", call = {};
  const later = () => { clearTimeout(timer); timer = setTimeout(show, 200); };
  const old = make("p", { className: "quiet", role: "status" });
  const show = () => {
    copied.textContent = "";
    try {
      call = { ...view.form.read(), ...(view.steps ? { repeat: view.steps() } : {}) };
      old.textContent = "";
    } catch {
      old.textContent = "This is not what the form has now: first mend what is marked there";
    }
    copy.disabled = file.disabled = old.textContent !== "";
    text.classList.toggle("stale", copy.disabled);
    if (copy.disabled) return;
    const isFile = JSON.stringify(call).length > SNIPPET_MOST;
    const session = sessionOf(view);
    const write = (folded) => SNIPPETS[language]({
      fields: { "Content-Type": "application/json", ...(session ? { "Farcall-Session": session } : {}) },
      url: location.origin + view.path + (call.repeat ? "?iterate" : ""),
      body: (words) => printValue(call, words, folded), file: isFile, steps: Boolean(call.repeat),
      token: view.token !== "" });
    whole = write(false);
    const short = write(true);
    unfold.hidden = short === whole;
    text.textContent = unfold.getAttribute("aria-pressed") === "true" ? whole : short;
    file.hidden = !isFile;
  };
  const unfold = button("Show all elements", () => {
    unfold.setAttribute("aria-pressed", unfold.getAttribute("aria-pressed") !== "true");
    show();
  }, { "aria-pressed": "false" });
  const file = button("Save call.json",
    () => save("call.json", [JSON.stringify(call)], "application/json"), { hidden: true });
  const copy = button("Copy", async () => {
    show();  // includes text that was typed a moment ago
    if (copy.disabled) return;
    try {
      await navigator.clipboard.writeText(whole);
      copied.textContent = "copied";
    } catch {
      text.textContent = whole;
      getSelection().selectAllChildren(text);
      copied.textContent = "selected";
    }
  });
  const pressed = choice("Language",
    Object.keys(SNIPPETS).map((each) => [each, () => { language = each; show(); }]));
  pressed.row.append(unfold, file);
  pressed.press("curl");
  for (const type of ["input", "click"]) view.form.node.addEventListener(type, later);
  view.watch(["token", "steps", "sessions"], later);
  // Reading the form removes an error that the server reported, so the form is read
  // before the call and not after it.
  view.watch(["run"], () => {
    if (view.run.phase !== "calling") return;
    clearTimeout(timer);
    show();
  });
  return make("section", { className: "snippets" }, make("h3", {}, "This call elsewhere"),
    pressed.row, old, make("div", { className: "code" }, text,
      make("div", { className: "copy" }, copied, copy)));
});
