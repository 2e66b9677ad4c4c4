// SPDX-License-Identifier: Apache-2.0
//
// The description of a function, and its signature: a line that opens to a tree.

function typeNode(name, type, role) {
  const node = make("li", {}, make("b", {}, name), name ? " " : "",
    typeSpan(typeText(type) + (role && role !== "in" ? ` (${role})` : "")));
  const inner = type.fields?.map((each) => typeNode(each.name, each.type))
    ?? (Array.isArray(type.items) ? type.items.map((each, i) => typeNode(String(i), each))
      : type.items ? [typeNode("each", type.items)] : []);
  if (inner.length) node.append(make("ul", {}, ...inner));
  return node;
}

function signatureTree(signature) {
  const part = (title, nodes) => make("li", {}, title,
    make("ul", {}, ...(nodes.length ? nodes : [make("li", { className: "quiet" }, "nothing")])));
  return make("ul", { className: "tree" },
    part("takes", signature.arguments.map((each, i) => typeNode(each.name ?? `argument ${i}`, each.type, each.role))),
    part("gives", signature.results.map((each, i) => typeNode(each.name ?? (i || signature.results.length > 1 ? `result ${i}` : "result"), each.type))));
}

// The module's text about its function; null: it has none.
pane("head", ({ signature }) => (signature.raw?.attrs?.doc
  ? make("p", { className: "doc" }, signature.raw.attrs.doc) : null));

pane("head", ({ signature }) => {
  const text = signature.text ?? signature.name, help = typeHelp(text);
  return make("details", { className: "signature" },
    make("summary", { title: help || undefined }, make("code", {}, text)),
    signatureTree(signature), help ? make("p", { className: "quiet" }, `${help}.`) : null);
});
