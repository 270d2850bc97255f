/**
 * A server with folders, in memory: as much of yaa's routes as the page's files need, and a model that calls what it is
 * told to (`tool=NAME{"a":1}` in a message, or {next: [name, arguments]} before it). It holds the page to the routes of docs/reference/http.md, where it is wrong
 * on purpose too: an upload breaks off, a folder changes beside the session, objects go away.
 *
 * It prints `listening on ADDRESS`. `POST /control` does to it what a person elsewhere would: {write: {path: text}},
 * {forget: a tree} (its topmost folder and a file of it), {cut: n} (the n-th piece of the next upload is lost).
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

const { use, ROOT } = createRequire(import.meta.url)("../client/load-modules.js");
const { fold, digest } = use("core/fold");
const { standOf } = use("core/workspace-stand");
const { zip } = use("core/zip");
const compare = use("core/diff");

const CLIENT = join(ROOT, "client");
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".json": "application/json", ".svg": "image/svg+xml" };
const FOLDERS = [
  { name: "notes", mode: "overlay", available: true }, { name: "shared", mode: "write", available: true }, { name: "library", mode: "read", available: true },
  { name: "gone", mode: "read", available: false, reason: "the folder is not there" },
];
const ASKS = new Set(["write_file", "edit_file"]);
const HASH = /^[0-9a-f]{64}$/;

/** @type {Map<string, Buffer>} */ const objects = new Map();
/** Real folders, by name: path → bytes. */
const real = new Map(FOLDERS.map(({ name }) => [name, new Map()]));
/** Of each session and folder: its files, and the tree the folder had when it was last looked at. */
const workspaces = new Map();
const uploads = new Map();
let [cutAt, pieces] = [0, 0];
/** The calls that are ordered, by the first words of a turn. */
let next = null;

for (const [path, text] of Object.entries({
  "README.md": "# Notes\n\nSome **notes** of a person.\n", "data/table.csv": "name,amount\nAnn,12\n\"Bob, jr\",7\n", "src/app.py": "import sys\n\n\ndef main():\n    print(\"hello\")\n    return 0\n\n\nif __name__ == \"__main__\":\n    sys.exit(main())\n",
  "src/lib/tools.py": "def double(x):\n    return 2 * x\n", "draft.txt": "one\ntwo\nthree\n", "evil\u202egnp.txt": "what is shown is not what is there\n",
})) real.get("notes").set(path, Buffer.from(text));
real.get("notes").set("dot.png", Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "base64"));
real.get("shared").set("plan.txt", Buffer.from("first\n"));
real.get("library").set("book.txt", Buffer.from("a book\n"));

// -- trees --

function put(bytes) {
  const hash = createHash("sha256").update(bytes).digest("hex");
  objects.set(hash, Buffer.from(bytes));
  return hash;
}

/** @param {Map<string, Buffer>} files */
function record(files) {
  const root = {};
  for (const [path, bytes] of files) {
    const parts = path.split("/");
    let at = root;
    for (const part of parts.slice(0, -1)) at = at[part] ??= {};
    at[parts.at(-1)] = bytes;
  }
  const hashOf = (folder) => {
    const entries = Object.fromEntries(Object.entries(folder).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => (
      [name, Buffer.isBuffer(one) ? ["f", 0o644, one.length, put(one)] : ["d", 0o755, hashOf(one)]])));
    return put(Buffer.from(JSON.stringify({ entries })));
  };
  return hashOf(root);
}

/** @returns {Map<string, Buffer>} @throws {string[]} hashes that are missing */
function filesOf(tree, above = "", found = new Map(), missing = []) {
  const text = objects.get(tree);
  if (!text) missing.push({ sha256: tree, bytes: 0, path: above });
  for (const [name, entry] of Object.entries(text ? JSON.parse(text).entries : {})) {
    const path = above ? `${above}/${name}` : name;
    if (entry[0] === "d") filesOf(entry[2], path, found, missing);
    else if (objects.has(entry[3])) found.set(path, objects.get(entry[3]));
    else missing.push({ sha256: entry[3], bytes: entry[2], path });
  }
  if (!above && missing.length) throw missing;
  return found;
}

function differences(before, after) {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths.filter((path) => !before.has(path) || !after.has(path) || !before.get(path).equals(after.get(path))).map((path) => ({
    path, change: !before.has(path) ? "added" : after.has(path) ? "modified" : "deleted", binary: [before, after].some((side) => side.get(path)?.includes(0)),
    ...(before.has(path) ? { bytes_before: before.get(path).length } : {}), ...(after.has(path) ? { bytes_after: after.get(path).length, bytes: after.get(path).length } : {}),
  }));
}

function unified(before, after) {
  const [hunks, signs] = [[], { same: " ", added: "+", removed: "-" }];
  let rows = [];
  const end = () => {
    if (!rows.length) return;
    const count = (side) => rows.filter((row) => row[side]).length;
    const first = (side) => rows.find((row) => row[side])?.[side] ?? 0;
    hunks.push(`@@ -${first("before")},${count("before")} +${first("after")},${count("after")} @@`, ...rows.map((row) => signs[row.kind] + row.text));
    rows = [];
  };
  for (const row of compare.rows(before, after)) {
    if (row.kind === "gap") end();
    else rows.push(row);
  }
  end();
  return hunks.join("\n");
}

// -- workspaces --

function modeOf(name) {
  return name ? FOLDERS.find((one) => one.name === name)?.mode : "own";
}

function workspaceOf(session, folder) {
  const mode = modeOf(folder);
  if (!mode) throw problem(422, "folder_unknown", `There is no folder ${folder}.`);
  const key = mode === "own" || mode === "overlay" ? `${session} ${folder}` : folder;
  if (!workspaces.has(key)) workspaces.set(key, { mode, folder, files: mode === "own" ? new Map() : mode === "overlay" ? new Map(real.get(folder)) : real.get(folder), base: mode === "overlay" ? record(real.get(folder)) : undefined, seen: {} });
  return workspaces.get(key);
}

function pointOf(work, name) {
  if (!name || name === "now") return work.files;
  return filesOf(name === "base" ? work.base : name);
}

function replace(work, files) {
  work.files.clear();
  for (const [path, bytes] of files) work.files.set(path, bytes);
}

/** What the layer holds; what changed in the folder too is a conflict. */
function layer(work) {
  const [base, folder] = [filesOf(work.base), real.get(work.folder)];
  return differences(base, work.files).map((file) => {
    const [before, there] = [base.get(file.path), folder.get(file.path)];
    const moved = !before !== !there || (before && !before.equals(there));
    return moved ? { ...file, conflict: true } : file;
  });
}

function apply(work, { paths, force }) {
  const [left, conflicts] = [[], []];
  let applied = 0;
  const base = filesOf(work.base);
  for (const file of layer(work)) {
    if (paths && !paths.includes(file.path)) left.push(file.path);
    else if (file.conflict && !force) conflicts.push(file.path);
    else {
      const bytes = work.files.get(file.path);
      for (const side of [real.get(work.folder), base]) bytes ? side.set(file.path, bytes) : side.delete(file.path);
      applied += 1;
    }
  }
  work.base = record(base);
  return { applied, left, conflicts, tree: record(work.files) };
}

function discard(work, { paths }) {
  const base = filesOf(work.base);
  const gone = layer(work).filter((file) => !paths || paths.includes(file.path));
  for (const { path } of gone) base.has(path) ? work.files.set(path, base.get(path)) : work.files.delete(path);
  return { discarded: gone.length, left: [], conflicts: [], tree: record(work.files) };
}

function listed(files, folder, depth) {
  const found = new Map();
  for (const [path, bytes] of files) {
    if (folder && !path.startsWith(`${folder}/`)) continue;
    const parts = path.slice(folder ? folder.length + 1 : 0).split("/");
    for (let n = 1; n <= Math.min(parts.length, depth); n++) {
      const at = [folder, ...parts.slice(0, n)].filter(Boolean).join("/");
      found.set(at, n < parts.length ? { path: at, kind: "folder", bytes: 0, mode: 0o755 } : { path: at, kind: "file", bytes: bytes.length, mode: 0o644 });
    }
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function upload(work, path, body, range) {
  const [, from, to, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(range ?? "") ?? [];
  pieces += 1;
  if (cutAt && pieces === cutAt) return null;
  if (!range) work.files.set(path, body);
  else {
    const before = uploads.get(path) ?? Buffer.alloc(0);
    if (Number(from) !== before.length || body.length !== to - from + 1) throw problem(422, "range", `The piece begins at ${from}, ${before.length} are here.`);
    const whole = Buffer.concat([before, body]);
    uploads.set(path, whole);
    if (whole.length < Number(total)) return { status: 202, received: whole.length };
    uploads.delete(path);
    work.files.set(path, whole);
  }
  return { path, bytes: work.files.get(path).length, tree: record(work.files) };
}

const problem = (status, code, detail) => Object.assign(new Error(detail), { status, code });

function inside(path) {
  if (!path || path.startsWith("/") || path.split("/").includes("..")) throw problem(422, "path_outside", `${path} is not inside of the workspace.`);
  return path;
}

async function serveFiles(request, url, body) {
  const [, session, route] = /^\/workspaces\/([^/]+)\/(\w+)$/.exec(url.pathname) ?? [];
  const query = url.searchParams;
  const work = workspaceOf(decodeURIComponent(session), query.get("folder") ?? "");
  const json = () => JSON.parse(body.toString() || "{}");
  const writes = () => { if (work.mode === "read") throw problem(422, "folder_mode", "The folder is only read."); };
  if (route === "state") return { folder: work.folder, mode: work.mode, tree: record(work.files), ...(work.base ? { base: work.base } : {}) };
  if (route === "files") {
    const all = listed(pointOf(work, query.get("tree")), query.get("path") ?? "", Number(query.get("depth") ?? 1));
    const [offset, limit] = [Number(query.get("offset") ?? 0), Number(query.get("limit") ?? 1000)];
    return { entries: all.slice(offset, offset + limit), complete: offset + limit >= all.length };
  }
  if (route === "file") {
    const path = inside(query.get("path"));
    if (request.method === "PUT") return writes(), upload(work, path, body, request.headers["content-range"]);
    const files = pointOf(work, query.get("tree"));
    const gone = [...files.keys()].filter((one) => one === path || one.startsWith(`${path}/`));
    if (!gone.length) throw problem(404, "file_not_found", `${path} is not there.`);
    if (request.method === "DELETE") {
      writes();
      for (const one of gone) files.delete(one);
      return { tree: record(files) };
    }
    return ranged(files.get(path), request.headers.range);
  }
  if (route === "move") {
    writes();
    const { from, to } = json();
    if (!work.files.has(inside(from))) throw problem(404, "file_not_found", `${from} is not there.`);
    work.files.set(inside(to), work.files.get(from));
    work.files.delete(from);
    return { tree: record(work.files) };
  }
  if (route === "diff") {
    const [before, after] = [pointOf(work, query.get("from")), pointOf(work, query.get("to"))];
    const path = query.get("path");
    const files = differences(before, after).filter((file) => !path || file.path === path);
    const text = (side) => side.get(path)?.toString() ?? "";
    return { files, count: files.length, ...(path && !files[0]?.binary ? { diff: unified(text(before), text(after)) } : {}) };
  }
  if (route === "status") return { files: layer(work), count: layer(work).length, base: work.base };
  if (route === "apply") return apply(work, json());
  if (route === "discard") return discard(work, json());
  if (route === "restore") {
    const replaced = record(work.files);
    replace(work, filesOf(json().tree));
    return { tree: record(work.files), replaced, changed_count: 1 };
  }
  const wanted = query.getAll("path");
  const files = [...pointOf(work, query.get("tree"))].filter(([path]) => !wanted.length || wanted.some((one) => path === one || path.startsWith(`${one}/`)));
  return { status: 200, type: "application/zip", bytes: Buffer.concat(zip(files.map(([name, bytes]) => ({ name, bytes: new Uint8Array(bytes) })))) };
}

function ranged(bytes, range) {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
  if (range && Number(from) >= bytes.length) throw problem(416, "range", "Nothing is there.");
  return { status: range ? 206 : 200, type: "application/octet-stream", bytes: range ? bytes.subarray(Number(from), Number(to) + 1) : bytes };
}

function serveObject(request, url, body) {
  const hash = url.pathname.split("/").at(-1);
  if (request.method === "PUT") {
    if (!HASH.test(hash) || put(body) !== hash) throw problem(422, "object_hash", "The content is not what its name says.");
    return { sha256: hash };
  }
  if (!objects.has(hash)) throw problem(404, "object_not_found", "There is no such object.");
  return { status: 200, type: "application/octet-stream", bytes: objects.get(hash) };
}

// -- runs --

function* run(session, id) {
  const emit = (event) => (fold(session, event), event);
  const folder = session.workspace?.folder ?? "";
  const work = workspaceOf(session.id, folder);
  yield emit({ type: "RUN_STARTED", threadId: session.id, runId: id, timestamp: Date.now(), metadata: { yaa: { run: { id } } } });
  yield emit({ type: "STATE_DELTA", delta: [["calls", {}], ["interrupts", []], ["workspace", {}]].filter(([key]) => !session[key]).map(([key, value]) => ({ op: "add", path: `/yaa/${key}`, value })) });
  const ask = function* (interrupt) {
    yield emit({ type: "STATE_DELTA", delta: [{ op: "add", path: "/yaa/interrupts", value: [interrupt] }] });
    yield end(session, id, "interrupted", "awaiting");
  };
  const answered = (reason) => session.interrupts.find((one) => one.reason === reason && one.answer)?.answer.payload;

  // the files are what the document says
  const stand = standOf(session);
  const now = record(work.files);
  if (work.mode !== "read" && !stand) yield emit({ type: "STATE_DELTA", delta: [{ op: "add", path: "/yaa/workspace/start", value: now }] });
  else if (stand && stand !== now && work.mode !== "read") {
    let files = null;
    try {
      files = filesOf(stand);
    } catch (missing) {
      if (!Array.isArray(missing)) throw missing;
      if (answered("workspace_missing")?.action !== "go_on") {
        return yield* ask({ id: "int-workspace_missing", reason: "workspace_missing", goal: stand, objects: missing, count: missing.length, bytes: missing.reduce((sum, one) => sum + one.bytes, 0) });
      }
    }
    const choice = answered("workspace_restore")?.action;
    if (files && work.mode === "write" && work.seen[session.id] !== stand && !choice) {
      const found = differences(files, work.files);
      return yield* ask({ id: "int-workspace_restore", reason: "workspace_restore", start: now, goal: stand, differences: found, count: found.length });
    }
    if (files && choice !== "keep" && !(work.mode === "write" && work.seen[session.id] === stand)) replace(work, files);
    else yield emit({ type: "STATE_DELTA", delta: [{ op: "add", path: "/yaa/workspace/tree", value: now }, { op: "add", path: "/yaa/workspace/message", value: session.messages.at(-1).id }] });
    yield emit({ type: "STATE_DELTA", delta: [{ op: "add", path: "/yaa/interrupts", value: [] }] });
  }

  const start = session.messages.findLastIndex((message) => message.role === "user");
  const made = session.messages.slice(start).find((message) => message.tool_calls?.length && !message.open);
  const ordered = made ? null : next;
  if (ordered) next = null;
  const order = ordered ? ["", ordered[0], JSON.stringify(ordered[1])] : made ? [] : /tool=(\w+)(\{[^]*\})/.exec(String(session.messages[start]?.content ?? ""));
  let call = made?.tool_calls[0];
  if (order && !made) {
    const message = `msg-${id}`;
    call = { id: `call-${id}`, function: { name: order[1], arguments: order[2] } };
    yield emit({ type: "TEXT_MESSAGE_START", messageId: message, role: "assistant", timestamp: Date.now() });
    yield emit({ type: "TEXT_MESSAGE_CONTENT", messageId: message, delta: "Let me do that." });
    yield emit({ type: "TOOL_CALL_START", toolCallId: call.id, toolCallName: order[1], parentMessageId: message });
    yield emit({ type: "TOOL_CALL_ARGS", toolCallId: call.id, delta: order[2] });
    yield emit({ type: "TOOL_CALL_END", toolCallId: call.id });
    yield emit({ type: "TEXT_MESSAGE_END", messageId: message, timestamp: Date.now(), metadata: { yaa: { meta: { model: "scripted" } } } });
  }
  if (call && !session.messages.some((message) => message.tool_call_id === call.id)) {
    const { name } = call.function;
    const args = JSON.parse(call.function.arguments);
    const answer = session.interrupts.find((one) => one.call_id === call.id)?.answer;
    const entry = { name, state: "proposed", attempt: 0, ...session.calls[call.id] };
    if (ASKS.has(name) && !answer) {
      yield emit({ type: "STATE_DELTA", delta: [{ op: "add", path: `/yaa/calls/${call.id}`, value: { ...entry, state: "asking" } }] });
      return yield* ask({ id: `int-${call.id}`, reason: "tool_call", call_id: call.id, tool: name, args, message: `Allow ${name}?` });
    }
    const allowed = !ASKS.has(name) || answer.payload?.approved;
    yield emit({ type: "STATE_DELTA", delta: [{ op: "add", path: `/yaa/calls/${call.id}`, value: { ...entry, state: "started", attempt: 1 } }, { op: "add", path: "/yaa/interrupts", value: [] }] });
    const before = record(work.files);
    const earlier = new Map(work.files);
    const result = allowed ? perform(work, name, answer?.payload?.edited_args ?? args) : "Denied.";
    const after = record(work.files);
    const files = differences(earlier, work.files);
    const told = { tree: { before, after }, changed: files.map(({ path, change, bytes }) => ({ path, change, ...(bytes === undefined ? {} : { bytes }) })), changed_count: files.length };
    yield emit({
      type: "TOOL_CALL_RESULT", messageId: `res-${call.id}`, toolCallId: call.id, content: JSON.stringify(result), role: "tool", timestamp: Date.now(),
      metadata: { yaa: { name, state: allowed ? "done" : "denied", result: { status: "ok", result, ...(allowed ? told : {}) } } },
    });
    work.seen[session.id] = after;
  }
  yield emit({ type: "TEXT_MESSAGE_START", messageId: `end-${id}`, role: "assistant", timestamp: Date.now() });
  yield emit({ type: "TEXT_MESSAGE_CONTENT", messageId: `end-${id}`, delta: order ? "It is done." : "Understood." });
  yield emit({ type: "TEXT_MESSAGE_END", messageId: `end-${id}`, timestamp: Date.now(), metadata: { yaa: { meta: { model: "scripted" } } } });
  yield end(session, id, "completed", "completed");
}

function perform(work, name, args) {
  const { files } = work;
  if (name === "write_file") {
    const replaced = files.has(args.path);
    files.set(args.path, Buffer.from(args.content));
    return { path: args.path, bytes: args.content.length, replaced };
  }
  if (name === "edit_file") {
    const before = String(files.get(args.path) ?? "");
    files.set(args.path, Buffer.from(before.replaceAll(args.old, () => args.new)));
    return { path: args.path, replaced: 1, diff: unified(before, String(files.get(args.path))) };
  }
  for (const line of String(args.command).split("\n")) {
    const [verb, path, ...text] = line.split(" ");
    if (verb === "rm") files.delete(path);
    else files.set(path, Buffer.from(`${text.join(" ")}\n`));
  }
  return { exit_code: 0, output: "ok\n" };
}

function end(session, id, status, reason) {
  const event = { type: "RUN_FINISHED", threadId: session.id, runId: id, outcome: { type: reason === "awaiting" ? "interrupt" : "success" }, result: { status, finish_reason: reason, rev: (session.rev ?? 0) + 1 } };
  fold(session, event);
  return { ...event, metadata: { yaa: { digest: digest(session) } } };
}

// -- HTTP --

const INFO = {
  name: "yaa", version: "0.0.0", tier: "A", models: [{ name: "scripted", label: "scripted", models: ["scripted"], default: true }], agents: [], modes: [],
  tools: ["write_file", "edit_file", "shell"].map((name) => ({ name, description: name, policy: ASKS.has(name) ? "ask" : "run" })),
  folders: FOLDERS, workspace: { recorded: true, limits: { file_mb: 64, files: 50000 } },
};
let runs = 0;

function control({ write, forget, cut, next: more }) {
  next = more ?? next;
  for (const [folder, files] of Object.entries(write ?? {})) for (const [path, text] of Object.entries(files)) real.get(folder).set(path, Buffer.from(text));
  if (forget) {
    objects.delete(put(filesOf(forget).get("src/app.py")));
    objects.delete(forget);
  }
  if (cut) [cutAt, pieces] = [cut, 0];
  return { folders: Object.fromEntries([...real].map(([name, files]) => [name, Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString()]))])), objects: objects.size };
}

async function serve(request, response) {
  const url = new URL(request.url, "http://server");
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const send = (status, type, bytes) => response.writeHead(status, { "Content-Type": type, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" }).end(bytes);
  try {
    if (url.pathname === "/session") {
      response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
      const id = `run${++runs}`;
      let n = 0;
      for (const event of run(JSON.parse(body), id)) response.write(`id: ${id}/${++n}\ndata: ${JSON.stringify(event)}\n\n`);
      return response.end();
    }
    const answer = url.pathname === "/health" ? { status: "ok" } : url.pathname === "/info" ? INFO : url.pathname === "/control" ? control(JSON.parse(body.toString() || "{}"))
      : url.pathname.startsWith("/workspaces/") ? await serveFiles(request, url, body) : url.pathname.startsWith("/objects/") ? serveObject(request, url, body) : undefined;
    if (answer === null) return response.destroy();
    if (answer?.bytes instanceof Buffer) return send(answer.status, answer.type, answer.bytes);
    if (answer !== undefined) return send(answer.status === 202 ? 202 : 200, "application/json", JSON.stringify(answer));
    const path = normalize(url.pathname === "/" ? "/index.html" : url.pathname);
    send(200, TYPES[extname(path)] ?? "application/octet-stream", readFileSync(join(CLIENT, path)));
  } catch (error) {
    const status = error.status ?? (error.code === "ENOENT" ? 404 : Array.isArray(error) ? 409 : 500);
    send(status, "application/problem+json", JSON.stringify({ status, code: error.code ?? "failed", title: "No", detail: error.message ?? "objects are missing" }));
  }
}

const server = createServer(serve);
server.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
