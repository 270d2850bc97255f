// The settings of the server, and "Connect a model".

yaa.define('ext/server/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .host-part, .host-form, .connect, .connect-body { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); }
  .folder-names { list-style: none; display: grid; max-block-size: 14rem; overflow: auto; margin-block-start: var(--s2); border: 1px solid var(--line); border-radius: var(--r1); }
  .folder-names .button { inline-size: 100%; justify-content: start; }
  .host-form { padding: var(--s4); border: 1px solid var(--line); border-radius: var(--r2); background: var(--sunken); }
  .host-form .button-row, .connect .button-row { display: flex; flex-wrap: wrap; gap: var(--s2); }
  .host-rows { list-style: none; display: grid; grid-template-columns: minmax(0, 1fr); border: 1px solid var(--line); border-radius: var(--r2); }
  .host-rows > li { display: flex; flex-wrap: wrap; gap: var(--s2) var(--s3); align-items: center; padding: var(--s3); }
  .host-rows > li + li { border-block-start: 1px solid var(--line); }
  .host-about { flex: 1 1 14rem; min-inline-size: 0; overflow-wrap: anywhere; }
  .host-about .badge { margin-inline-end: var(--s1); white-space: normal; }
  .host-buttons { display: flex; flex-wrap: wrap; gap: var(--s1); }
  .host-buttons:empty, .host-below:not(:has(:not(:empty))) { display: none; }
  .host-below { flex-basis: 100%; display: grid; gap: var(--s1); }
  .host-problem { white-space: pre-line; overflow-wrap: anywhere; }
  .host-problems, .host-tools { padding-inline-start: var(--s5); font-size: var(--t2); display: grid; gap: var(--s1); overflow-wrap: anywhere; }
  .host-tools { max-block-size: 16rem; overflow-y: auto; }
  .host-scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: var(--r2); }
  .host-table { inline-size: 100%; font-size: var(--t2); }
  .host-table :is(th, td) { padding: var(--s2) var(--s3); text-align: start; white-space: nowrap; font-variant-numeric: tabular-nums; }
  .host-table th { color: var(--ink-2); font-weight: 550; background: var(--sunken); }
  .host-table tr + tr td { border-block-start: 1px solid var(--line); }
  .connect-more { border: 1px solid var(--line); border-radius: var(--r2); background: var(--bg); padding-inline: var(--s3); }
  .connect-more > summary { display: flex; align-items: center; gap: var(--s2); min-block-size: 2.75rem; cursor: pointer; font-size: var(--t3); font-weight: 550; list-style: none; }
  .connect-more > summary::-webkit-details-marker { display: none; }
  .connect-more > summary .icon { color: var(--ink-3); }
  .connect-more > :not(summary) { margin-block-end: var(--s4); }
  .connect-more > .host-form { padding: 0; border: 0; background: none; }
  .connect-folds { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr)); gap: var(--s2); align-items: start; }
  .connect-folds > [open] { grid-column: 1 / -1; }
  .connect .hint:empty, .connect .button-row:not(:has(> :not([hidden]))) { display: none; }
  .connect h3 { font-size: var(--t4); }
  .connect .stack, .host .stack { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); }
  .empty > .connect-card {
    padding: var(--s5); border: 1px solid var(--line); border-radius: var(--r3); background: var(--raised); box-shadow: var(--shadow); text-align: start;
  }
  .connect-card { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); }
  .connect-card > h3 { font-size: var(--t5); }
}
`)
