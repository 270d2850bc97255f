// Citations in an answer and the panel with a source's passage.

yaa.define('ext/citations/style', ['ui/dom'], ({ css }) => css`
@layer thread {
  button.cite {
    display: inline-block; min-inline-size: 1.5rem; padding: 0 0.3em; margin-inline: 0.1em; border: 0; border-radius: var(--r1);
    background: var(--hover); color: var(--accent); font-size: var(--t1); font-weight: 550; line-height: 1.5; vertical-align: 0.2em;
    font-variant-numeric: tabular-nums; cursor: pointer;
  }
  button.cite:hover { background: var(--wash); color: var(--accent-strong); }
  .cited {
    position: fixed; inset: auto; margin: 0; padding: var(--s3); inline-size: min(26rem, calc(100vw - 1rem));
    border: 1px solid var(--line); border-radius: var(--r2); background: var(--raised); color: var(--ink); box-shadow: var(--shadow-up);
  }
  .cited:popover-open { display: grid; gap: var(--s2); justify-items: start; grid-template-columns: minmax(0, 1fr); }
  .cited header { display: flex; align-items: start; justify-content: space-between; gap: var(--s2); inline-size: 100%; }
  .cited h4 { margin: 0; font-size: var(--t3); overflow-wrap: anywhere; }
  .cited .hint { margin: 0; overflow-wrap: anywhere; }
  .cited blockquote {
    margin: 0; padding-inline-start: var(--s3); border-inline-start: 3px solid var(--line); inline-size: 100%; max-block-size: min(40dvh, 20rem);
    overflow-y: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: var(--t2); line-height: 1.5; unicode-bidi: isolate;
  }
}`)
