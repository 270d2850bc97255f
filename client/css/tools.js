// Pictures of tool calls: programs, changes, findings, files, tables. Wide things scroll inside of themselves.

yaa.define('css/tools', ['ui/dom'], ({ css }) => css`
@layer cards {
  .tool-parts, .picture { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s3); }
  .part-head { min-inline-size: 0; }
  .part-head > .path, .part-head > .button { flex: none; }
  .part-head > .path { flex: 0 1 auto; min-inline-size: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .part-note {
    font-size: var(--t1); color: var(--ink-3); font-weight: 400; font-variant-numeric: tabular-nums; margin-inline-start: auto;
    text-align: end;
  }
  .part-note + .button { margin-inline-start: 0; }
  .part-note:empty { display: none; }
  .part-note:empty + .button { margin-inline-start: auto; }
  .part[data-tone="bad"] .code { border-color: var(--bad-line); background: var(--bad-wash); }
  .path { font-family: var(--mono); font-size: var(--t2); color: var(--ink); overflow-wrap: anywhere; }
  .notice {
    display: flex; gap: var(--s2); align-items: flex-start; padding: var(--s2) var(--s3); border-radius: var(--r1);
    background: var(--sunken); font-size: var(--t2); color: var(--ink-2); overflow-wrap: anywhere;
  }
  .notice > .icon { inline-size: 1rem; block-size: 1rem; margin-block-start: 0.15rem; }
  .notice > span { min-inline-size: 0; }
  .notice[data-tone="bad"] { background: var(--bad-wash); color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad-line); }
  .notice[data-tone="ask"] { background: var(--ask-wash); color: var(--ask); box-shadow: inset 0 0 0 1px var(--ask-line); }
  .ended { line-height: 1; }
  .more-rows { margin: var(--s1); }

  .diff, .found, .tree, .grid {
    border: 1px solid var(--line); border-radius: var(--r1); background: var(--sunken); overflow: auto; scrollbar-width: thin;
    max-block-size: 26rem; font-family: var(--mono); font-size: var(--t2); line-height: 1.55;
  }
  .diff:focus-visible, .found:focus-visible, .tree:focus-visible, .grid:focus-visible { outline-offset: -2px; }
  .diff { padding-block: var(--s1); display: grid; grid-template-columns: minmax(100%, max-content); align-content: start; }
  /* what is to be allowed is in sight: no box to be scrolled in, no line out of its end */
  .ask .diff { max-block-size: none; grid-template-columns: minmax(0, 1fr); }
  .ask .diff-row { white-space: pre-wrap; overflow-wrap: anywhere; }
  .diff-row { display: grid; grid-template-columns: 3.2em 3.2em minmax(0, 1fr); white-space: pre; }
  .diff-row > :last-child { padding-inline: 1.5em var(--s3); text-decoration: none; position: relative; }
  .diff-row > :last-child::before { position: absolute; inset-inline-start: 0.4em; }
  .diff-row[data-kind="added"] { background: light-dark(oklch(0.955 0.035 152), oklch(0.27 0.035 155)); }
  .diff-row[data-kind="removed"] { background: light-dark(oklch(0.955 0.025 22), oklch(0.27 0.035 22)); }
  .diff-row > ins::before { content: "+"; color: var(--good); }
  .diff-row > del::before { content: "−"; color: var(--bad); }
  .diff-row small { color: var(--ink-2); font-family: var(--sans); font-style: italic; margin-inline-start: var(--s2); }
  .diff-row mark { color: inherit; border-radius: 0.2em; background: light-dark(oklch(0.87 0.08 152), oklch(0.4 0.075 155)); }
  .diff-row > del mark { background: light-dark(oklch(0.88 0.065 22), oklch(0.4 0.08 22)); }
  .no {
    color: var(--ink-3); text-align: end; padding-inline-end: 0.6em; font-variant-numeric: tabular-nums; user-select: none;
  }
  .diff-row[data-kind="added"] .no, .diff-row[data-kind="removed"] .no { color: var(--ink-2); }
  .diff-gap { padding: 0.15rem var(--s3); color: var(--ink-3); background: var(--hover); margin-block: var(--s1); font-size: var(--t1); }
  .diff-none, .none { padding: var(--s2) var(--s3); color: var(--ink-3); font-family: var(--sans); }

  .found-file + .found-file { border-block-start: 1px solid var(--line); }
  .found-file > .path {
    position: sticky; inset-block-start: 0; padding: var(--s1) var(--s3); background: var(--hover); font-weight: 600;
  }
  .found.web { font-family: var(--sans); }
  .web > .found-file { padding: var(--s2) var(--s3); display: grid; gap: var(--s1); }
  .web p { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
  .found-line { display: grid; grid-template-columns: 4em minmax(0, 1fr); white-space: pre-wrap; overflow-wrap: anywhere; }
  .found-line > :last-child { font-weight: 400; padding-inline-end: var(--s3); color: var(--ink-2); }
  .found-line[data-hit="true"] > :last-child { color: var(--ink); }
  .found-line[data-hit="true"] .no { color: var(--accent); font-weight: 600; }

  .tree, .tree ul { list-style: none; }
  .tree { padding: var(--s2) var(--s3); }
  .tree ul { padding-inline-start: 1.1rem; margin-inline-start: 0.5rem; border-inline-start: 1px solid var(--line); }
  .tree .node { display: flex; align-items: center; gap: var(--s2); min-block-size: 1.5rem; border-radius: var(--r1); list-style: none; }
  .tree summary.node { cursor: pointer; }
  .tree summary.node::-webkit-details-marker { display: none; }
  .tree .icon { inline-size: 0.9375rem; block-size: 0.9375rem; color: var(--ink-3); }
  .tree .size { margin-inline-start: auto; color: var(--ink-3); font-size: var(--t1); white-space: nowrap; }

  .grid { font-family: var(--sans); }
  .grid table { inline-size: 100%; }
  .grid th {
    position: sticky; inset-block-start: 0; background: var(--hover); text-align: start; font-weight: 600; white-space: nowrap;
  }
  .grid :is(th, td) {
    padding: 0.3rem var(--s3); border-block-end: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word;
  }
  .grid tr:last-child td { border-block-end: 0; }
  .grid .number { text-align: end; font-variant-numeric: tabular-nums; }

  .code.numbered pre {
    display: grid; grid-template-columns: auto minmax(0, 1fr); max-block-size: 26rem; overflow: auto; padding-inline-start: 0;
  }
  .code.numbered code { min-inline-size: max-content; }
  .gutter {
    position: sticky; inset-inline-start: 0; padding-inline: var(--s3) 0.8em; background: var(--sunken); color: var(--ink-3);
    text-align: end; user-select: none; white-space: pre; font-variant-numeric: tabular-nums;
  }
  .code.numbered[data-wrap="true"] .gutter { display: none; }
  .code.numbered[data-wrap="true"] pre { padding-inline-start: var(--s3); grid-template-columns: minmax(0, 1fr); }
  .code.numbered[data-wrap="true"] code { min-inline-size: 0; }
  .page-head { display: grid; gap: var(--s1); font-size: var(--t3); }
  .page-head a { overflow-wrap: anywhere; }

  .handed { list-style: none; display: grid; gap: var(--s2); margin: 0; padding: var(--s2) var(--s3); border-block-start: 1px solid var(--line); }
  .handed-row { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s1) var(--s2); }
  .handed-row .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .handed-row .path { min-inline-size: 0; max-inline-size: calc(100% - 1rem - var(--s2)); overflow-wrap: anywhere; } /* beside its icon */
  .handed-row .part-note { flex: 1 1 auto; }
  .handed-row > :last-child { margin-inline-start: auto; }
  .handed-inside, .shown-image { margin-block-start: var(--s2); }
  .shown-image { display: block; max-inline-size: 100%; padding: 0; border: 0; background: none; cursor: zoom-in; }
  .shown-image[aria-pressed="true"] { cursor: zoom-out; }
  .handed img {
    display: block; max-inline-size: 100%; max-block-size: 24rem; block-size: auto; border-radius: var(--r1); border: 1px solid var(--line);
  }
  .handed .shown-image img { inline-size: auto; max-block-size: 12rem; }
  .handed .shown-image[aria-pressed="true"] img { max-block-size: 80dvh; }
}
`)
