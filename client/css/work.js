// Groups of calls, the plan over the message field, and how long something takes.

yaa.define('css/work', ['ui/dom'], ({ css }) => css`
@layer cards {
  @media not print {
    .message[data-fold="inside"] { display: none; }
    .message[data-fold="closed"] .turn > .calls, .message[data-fold="closed"] .turn > .think { display: none; }
  }
  .message[data-fold="open"] .turn > .calls, .message[data-fold="member"] .turn { padding-inline-start: var(--s3); border-inline-start: 2px solid var(--line); }
  .message[data-fold="member"] { margin-block-start: var(--s2); }
  .work { margin-block-end: var(--s1); }
  .work-line {
    display: flex; align-items: center; flex-wrap: wrap; gap: var(--s1) var(--s2); inline-size: 100%; min-block-size: 2.375rem; padding: 0.25rem var(--s3);
    border: 1px solid var(--line); border-radius: var(--r2); background: var(--raised); color: var(--ink); text-align: start; cursor: pointer; font-size: var(--t3);
  }
  .work-line:hover { background: var(--hover); }
  .work-line > .sign { color: var(--good); display: grid; }
  .work-line .icon { inline-size: 1rem; block-size: 1rem; }
  .work-line .chevron { color: var(--ink-3); transition: rotate 0.12s; }
  .work-line[aria-expanded="true"] .chevron { rotate: 90deg; }
  .work-words { flex: 1; min-inline-size: 0; overflow-wrap: anywhere; }
  .work-bad { order: 5; flex: 1 0 100%; padding-inline-start: 1.5rem; color: var(--bad); font-weight: 550; overflow-wrap: anywhere; }
  .work-bad:empty { display: none; }
  .work[data-tone="bad"] .sign { color: var(--ink-3); }
  .work-line .tool-state:empty { display: none; }

  .marks-list { list-style: none; display: grid; gap: var(--s1); font-size: var(--t3); color: var(--bad); }
  .marks-list li { display: flex; gap: var(--s2); align-items: baseline; overflow-wrap: anywhere; }
  .marks-list .icon { inline-size: 1rem; block-size: 1rem; flex: none; align-self: center; }
  .marks-list span { min-inline-size: 0; }
  .plan { border: 1px solid var(--line); border-radius: var(--r2); background: var(--raised); font-size: var(--t3); margin-block-end: var(--s2); }
  .plan > summary { display: flex; align-items: center; gap: var(--s2); min-block-size: 2.375rem; padding: 0.25rem var(--s3); cursor: pointer; list-style: none; }
  .plan > summary::-webkit-details-marker { display: none; }
  .plan .icon { inline-size: 1rem; block-size: 1rem; flex: none; color: var(--ink-3); }
  .plan[open] > summary .chevron { rotate: 90deg; }
  .plan-count { color: var(--ink-2); font-variant-numeric: tabular-nums; white-space: nowrap; }
  .plan-now { flex: 1; min-inline-size: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--ink-2); }
  .plan-tasks { display: grid; gap: var(--s1); padding: var(--s1) var(--s3) var(--s3); max-block-size: 30dvh; overflow-y: auto; list-style: none; }
  .plan-tasks li { display: flex; gap: var(--s2); align-items: baseline; overflow-wrap: anywhere; }
  .plan-tasks li > .icon { align-self: start; margin-block-start: 0.2rem; }
  .plan-tasks li > span { min-inline-size: 0; }
  .plan-tasks small { display: block; color: var(--ink-2); font-size: var(--t2); }
  .plan-tasks [data-status="completed"] .icon { color: var(--good); }
  .plan-tasks [data-status="failed"] .icon, .plan[data-tone="bad"] .plan-count { color: var(--bad); }
  .plan-tasks [data-status="in_progress"] { font-weight: 600; }
  .plan-tasks [data-status="cancelled"] > span { text-decoration: line-through; }
  .plan-tasks [data-status="todo"] .icon { border: 1px solid var(--edge); border-radius: 50%; }

  .tool-state[data-for]::after { content: " " attr(data-for); }
  .working[data-for]::after { content: attr(data-for); font-size: var(--t2); color: var(--ink-3); margin-inline-start: var(--s2); font-variant-numeric: tabular-nums; }

  [data-tone="bad"] > details > .tool-line .tool-gist { color: var(--bad); font-weight: 550; }
}
`)
