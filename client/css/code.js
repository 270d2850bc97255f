// Colours, line numbers and folded blocks of code. Loaded with js/ui/code-tools.js.

yaa.define('css/code', ['ui/dom'], ({ css }) => css`
@layer thread {
  .code-keyword { color: light-dark(oklch(0.47 0.13 300), oklch(0.8 0.1 305)); }
  .code-string { color: light-dark(oklch(0.45 0.1 150), oklch(0.83 0.11 152)); }
  .code-number { color: light-dark(oklch(0.5 0.12 45), oklch(0.82 0.1 60)); }
  .code-comment { color: light-dark(oklch(0.52 0.02 var(--hue)), oklch(0.66 0.02 var(--hue))); }
  .code-name { color: light-dark(oklch(0.46 0.11 250), oklch(0.8 0.09 240)); }
  .code-added { color: light-dark(oklch(0.42 0.11 150), oklch(0.84 0.12 152)); }
  .code-removed { color: light-dark(oklch(0.5 0.16 25), oklch(0.77 0.13 22)); }
  .code[data-numbers="true"]:not([data-wrap="true"]) pre { display: flex; padding-inline-start: 0; }
  .code[data-numbers="true"]:not([data-wrap="true"]) pre::before {
    content: attr(data-lines); content: attr(data-lines) / "";
    flex: none; position: sticky; inset-inline-start: 0; padding-inline: var(--s3); white-space: pre; text-align: end;
    font-family: var(--mono); color: var(--ink-3); background: var(--sunken); user-select: none; pointer-events: none;
  }
  .code[data-folded] pre { max-block-size: calc(60lh + var(--s3)); overflow-y: hidden; padding-block-end: 0; }
  .code-more {
    display: block; inline-size: 100%; min-block-size: 2.125rem; border: 0; border-block-start: 1px solid var(--line);
    background: none; font-size: var(--t1); color: var(--ink-2); cursor: pointer;
  }
  .code-more:hover { background: var(--hover); }
  @media print {
    .code[data-folded] pre { max-block-size: none; }
    .code-more { display: none; }
  }
}
`)
