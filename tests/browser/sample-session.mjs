/**
 * A session that has seen everything there is to show: every kind of tool call, a limit that was met, attachments,
 * a compaction, a wait for a person. `put` stores it in the page's own storage and opens it.
 */
export const START = Date.UTC(2026, 10, 20, 9, 0, 0);


/** [tool, arguments, result or {status, error}, more of the envelope] */
const CALLS = [
  ["list_files", {}, { files: [
    { path: "src/", type: "folder" }, { path: "src/report.py", type: "file", size: 1843 }, { path: "src/lib/", type: "folder" },
    { path: "src/lib/table.py", type: "file", size: 912 }, { path: "data.csv", type: "file", size: 20480 }, { path: "latest", type: "link" },
  ], complete: true }],
  ["read_file", { path: "src/report.py", limit: 8 }, {
    content: ["import csv", "", "def rows(path):", "    with open(path) as file:", "        return list(csv.DictReader(file))", "", "def total(rows):", "    return sum(float(row[\"amount\"]) for row in rows)  # a long line that goes on and on to the right of the card"]
      .map((line, i) => `${String(i + 1).padStart(6)}\t${line}`).join("\n"),
    lines: 61, next_offset: 9,
  }],
  ["search_files", { query: "amount", context: 1 }, {
    matches: 2, lines: "src/report.py-7- def total(rows):\nsrc/report.py:8:     return sum(float(row[\"amount\"]) for row in rows)\n--\nsrc/lib/table.py:14: COLUMNS = [\"date\", \"amount\"]",
    files_searched: 3, complete: true,
  }],
  ["edit_file", { path: "src/report.py", old: "float(row[\"amount\"])", new: "Decimal(row[\"amount\"])" }, {
    path: "src/report.py", replaced: 1,
    diff: "--- src/report.py\n+++ src/report.py\n@@ -6,4 +6,4 @@\n \n def total(rows):\n-    return sum(float(row[\"amount\"]) for row in rows)\n+    return sum(Decimal(row[\"amount\"]) for row in rows)\n ",
  }],
  ["write_file", { path: "NOTES.md", content: "# Notes\n\nAmounts are decimals now.\n" }, { path: "NOTES.md", bytes: 34, replaced: false }],
  ["shell", { command: "python3 -m unittest -q" }, { exit_code: 1, output: "F\n======\nFAIL: test_total\nAssertionError: 10.10 != 10.1\n\nRan 3 tests in 0.01s" }],
  ["python", { code: "print('x' * 60_000)" }, { exit_code: 0, output: `${"x".repeat(120)}\n… 12000 bytes left out …\n${"x".repeat(80)}` }],
  ["shell", { command: "./hog" }, { status: "limit", error: { type: "limit", message: "stopped at the limit memory_mb: allowed 1024, observed 1042", details: { limit: "memory_mb", allowed: 1024, observed: 1042 } } }],
  ["forecast", { city: "Oslo" }, { city: "Oslo", days: [{ day: "Mon", high: 3, note: "snow" }, { day: "Tue", high: -1, note: null }] }],
  ["fetch_url", { url: "https://example.org/csv" }, { title: "About CSV", text: "Comma-separated values (CSV) is a text file format.", chars: 9000, next_offset: 51 }],
  ["chart", { kind: "bars" }, "drawn", { attachments: [{ path: "chart.png", name: "chart.png", media_type: "image/png", bytes: 5_000_000 }, { path: "notes.txt", name: "notes.txt", media_type: "text/plain", bytes: 8 }, { path: "out/big.bin", name: "big.bin", media_type: "application/octet-stream", bytes: 12 }] }],
];

/** @param {{id?: string, title?: string}} [options] */
export function session({ id = "seen-1", title = "Decimals in the report" } = {}) {
  const messages = [
    { id: "u1", role: "user", content: "Make the amounts of the report decimals, and check it.", at: START },
  ];
  const calls = {};
  let at = START + 400;
  let prompt = 900;
  CALLS.forEach(([name, args, result, more], n) => {
    const call = `c${n + 1}`;
    const bad = result?.status === "limit";
    const ms = 700 + n * 130;
    const wall = n % 3 === 2 ? 2400 : 60 + n * 20;
    messages.push({
      id: `a${n + 1}`, role: "assistant", content: n ? "" : "I look at the files first.", at,
      tool_calls: [{ id: call, type: "function", function: { name, arguments: JSON.stringify(args) } }],
      meta: { model: "demo", ms, first_ms: 200, usage: { prompt_tokens: prompt, completion_tokens: 40, total_tokens: prompt + 40, cost_micro: prompt * 3, cost_unit: "USD" } },
    });
    at += ms + (n === 3 ? 42_000 : 30);
    const envelope = { status: bad ? "limit" : "ok", ...(bad ? { error: result.error } : { result }), logs: n === 5 ? ["3 tests found"] : [], attachments: [], duration_ms: wall, usage: { wall_ms: wall }, ...more };
    messages.push({ id: `t${n + 1}`, role: "tool", tool_call_id: call, name, content: bad ? `Error: ${result.error.message}` : JSON.stringify(result), at: at + wall, ...(bad ? { is_error: true } : {}), result: envelope });
    calls[call] = { name, state: bad ? "failed" : "done", attempt: 1, fingerprint: "f" };
    at += wall + 40;
    prompt += 350 + n * 60;
  });
  messages.push({
    id: "a99", role: "assistant", content: "The amounts are decimals now. One test still compares with a float; shall I change it?", at,
    meta: { model: "demo", ms: 1900, first_ms: 300, usage: { prompt_tokens: prompt, completion_tokens: 60, total_tokens: prompt + 60, cost_micro: prompt * 3, cost_unit: "USD" } },
  });
  return {
    id, version: 1, rev: 2, title, start_time: "2026-11-20T09:00:00Z", character: "You are yaa, a helpful agent.", status: "completed", finish_reason: "completed",
    messages, calls, interrupts: [], grants: [],
    config: { yaa: { max_context: 32_000 }, llm_api: { provider: { name: "auto" } }, limits: { max_steps: 20 } },
    usage: { prompt_tokens: 40_000, completion_tokens: 500, total_tokens: 40_500, calls: 12, cost_micro: 120_000, cost_unit: "USD" },
    context: {
      ops: [
        { op: "stub", ids: ["t1", "t2"] }, { op: "preview", id: "t7", head: 120, tail: 80 }, { op: "rewind", ids: ["a2"] },
      ],
      events: [{ id: "c1", trigger: "size", before: 24_000, after: 9_500, at: 12, ops: 1 }],
    },
    run: { id: "r2", message: "u1", step: 12, tokens: 40_500, cost_micro: 120_000, wall_ms: 61_000, started_at: START },
    ext: {},
  };
}

/** A session that waits for one approval. */
export function asking(id, tool, args) {
  const call = { id: "k1", type: "function", function: { name: tool, arguments: JSON.stringify(args) } };
  return {
    id, version: 1, rev: 1, title: tool, status: "interrupted", finish_reason: "awaiting", calls: { k1: { name: tool, state: "asking" } },
    messages: [{ id: "u1", role: "user", content: "go", at: START }, { id: "a1", role: "assistant", content: "", at: START + 10, tool_calls: [call], meta: {} }],
    interrupts: [{ id: "int-k1", reason: "tool_call", call_id: "k1", tool, args, message: `Allow ${tool}?` }],
  };
}

/** Opens every group of calls. */
export async function openGroups(page) {
  await page.waitForSelector(".work-line");
  await page.$$eval(".work-line[aria-expanded=false]", (all) => all.forEach((one) => one.click()));
  await page.waitForFunction(() => !document.querySelector(".message[data-fold=inside]"));
}

/** Writes sessions into the storage of the page and opens the first of them. */
export async function put(page, ...sessions) {
  await page.waitForSelector("form.composer textarea");
  // A link signs in when the page is idle: a reload before that leaves it without a key.
  await page.waitForFunction(() => { try { return !globalThis.yaa.use("ui/commands").context().app.server.state().checking } catch { return false } });
  await page.evaluate(async (all) => {
    const store = await globalThis.yaa.use("io/store-idb").open();
    for (const one of all) await store.put(one);
    await store.flush();
    store.close();
  }, sessions);
  // Without an event: the page would begin to load scripts for it, which the reload ends with an error in the console.
  await page.evaluate((id) => history.replaceState(null, "", `#s=${id}`), sessions[0].id);
  await page.reload();
  await page.waitForSelector("article.message");
  // What is pressed before it is there leaves the focus nowhere.
  await page.waitForSelector("form.composer .permission"); // it begins with what keeps the focus
}
