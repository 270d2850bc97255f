/**
 * Places of JavaScript where a small mistake can be made: files as `[[path, text], …]` on the input, on the output for
 * each of them a list of sites (sites.py), or null if it does not parse. The parser is the one that Node.js brings along:
 * `node --expose-internals`.
 */
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(import.meta.url);
const { parse } = require("internal/deps/acorn/acorn/dist/acorn");
const { fullAncestor } = require("internal/deps/acorn/acorn-walk/dist/walk");

const EDGES = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
const LISTS = new Set(["BlockStatement", "Program", "SwitchCase", "StaticBlock"]);

/** The syntax tree of a script, or of a module. */
function tree(text) {
  const options = { ecmaVersion: "latest", allowHashBang: true };
  try {
    return parse(text, { ...options, sourceType: "script" });
  } catch {
    return parse(text, { ...options, sourceType: "module" });
  }
}

/** [kind, start, end, text] of a node. @param {any[]} above its ancestors, itself the last */
function* mistakes(node, above, text) {
  const of = (one) => text.slice(one.start, one.end);
  const number = (one) => one?.type === "Literal" && Number.isInteger(one.value);
  const { type } = node;
  if (type === "IfStatement" || type === "ConditionalExpression" || type === "WhileStatement") {
    if (node.test.type !== "Literal") yield ["negate", node.test.start, node.test.end, `!(${of(node.test)})`];
  } else if (type === "AwaitExpression") {
    yield ["await", node.start, node.end, of(node.argument)];
  } else if (type === "BinaryExpression" && EDGES[node.operator]) {
    const start = text.indexOf(node.operator, node.left.end);
    if (/^[\s)]*$/.test(text.slice(node.left.end, start))) yield ["off by one", start, start + node.operator.length, EDGES[node.operator]];
  } else if (type === "BinaryExpression" && /^[+-]$/.test(node.operator) && number(node.right)) {
    yield ["off by one", node.right.start, node.right.end, String(node.right.value + 1)];
  } else if (type === "MemberExpression" && node.computed && number(node.property)) {
    yield ["off by one", node.property.start, node.property.end, String(node.property.value + 1)];
  } else if (type === "CallExpression") {
    for (let at = 0; at + 1 < node.arguments.length; at += 1) {
      const [one, two] = node.arguments.slice(at);
      if (one.type === "SpreadElement" || two.type === "SpreadElement" || of(one) === of(two)) continue;
      yield ["swap", one.start, two.end, of(two) + text.slice(one.end, two.start) + of(one)];
      break;
    }
  } else if (type === "ThrowStatement" || type === "ContinueStatement" || (type === "ExpressionStatement" && !node.directive)) {
    yield ["remove", node.start, node.end, ";"];
  }
}

/** What a function is called: by itself, or where it stands. */
function nameOf(node, parent) {
  const named = node.id ?? (parent?.type === "VariableDeclarator" ? parent.id : parent?.key);
  return named?.name ?? named?.value ?? "";
}

/** What to insert so that a line tells that it is reached. */
function probe(above) {
  for (let at = above.length - 1; at > 0; at -= 1) {
    const [node, parent] = [above[at], above[at - 1]];
    if (parent.type === "ArrowFunctionExpression" && parent.body === node && node.type !== "BlockStatement") {
      return { ends: [node.start, node.end], texts: ["(PROBE, ", ")"] };
    }
    const isListed = LISTS.has(parent.type) && parent.test !== node;
    if (isListed) return { ends: [node.start], texts: ["PROBE; "] };
  }
  return null;
}

/** @param {string} text */
function sites(text) {
  const found = [];
  const bytes = (at) => Buffer.byteLength(text.slice(0, at));
  fullAncestor(tree(text), (node, _, above) => {
    const functions = above.flatMap((one, at) => (FUNCTIONS.has(one.type) && one !== node ? [nameOf(one, above[at - 1])] : []));
    const isDefined = above.some(({ type, callee }) => type === "CallExpression" && callee.object?.name === "yaa" && callee.property?.name === "define");
    if (functions.length < (isDefined ? 2 : 1)) return; // what runs once, as a file is loaded
    if ([...above, node.expression].some((one) => one?.type === "CallExpression" && one.callee.object?.name === "console")) return;
    const at = probe(above);
    if (!at) return;
    for (const [kind, start, end, put] of mistakes(node, above, text)) {
      const begin = text.lastIndexOf("\n", node.start - 1) + 1;
      const line = text.slice(begin, (text.indexOf("\n", begin) + 1 || text.length + 1) - 1).trim();
      found.push({
        function: functions.filter(Boolean).join("."), kind, line: text.slice(0, node.start).split("\n").length, text: line,
        edit: [bytes(start), bytes(end), put], probe: at.ends.map((end, index) => [bytes(end), at.texts[index]]),
      });
    }
  });
  return found;
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(([, text]) => {
  try {
    return sites(text);
  } catch (problem) {
    if (problem instanceof SyntaxError) return null;
    throw problem;
  }
})));
