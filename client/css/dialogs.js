// What comes with the commands: dialogs, the palette, selecting sessions.

yaa.define('css/dialogs', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .qr { display: block; inline-size: min(100%, 15rem); block-size: auto; border-radius: var(--r1); }
  .dialog {
    margin: auto; padding: 0; border: 1px solid var(--line); border-radius: var(--r3); background: var(--bg); color: var(--ink);
    inline-size: min(44rem, 100vw - 2rem); block-size: min(42rem, 100dvh - 2rem); max-block-size: none; max-inline-size: none;
    box-shadow: var(--shadow-up); overflow: clip;
  }
  .dialog[open] { display: grid; grid-template-rows: auto minmax(0, 1fr); animation: rise 0.14s ease-out; }
  .dialog::backdrop { background: oklch(0 0 0 / 0.4); }
  .dialog-head {
    display: flex; align-items: center; gap: var(--s2); padding: var(--s3) var(--s3) var(--s3) var(--s5);
    border-block-end: 1px solid var(--line);
  }
  .dialog-head h2 { flex: 1; font-size: var(--t5); }
  @media (max-width: 48rem) {
    .dialog { inline-size: 100vw; block-size: 100dvh; border: 0; border-radius: 0; }
    .dialog-head { padding-inline-start: var(--s4); }
  }

  .small-dialog { inline-size: min(30rem, 100vw - 2rem); block-size: fit-content; max-block-size: calc(100dvh - 2rem); }
  .small-dialog.wide { inline-size: min(46rem, 100vw - 2rem); }
  .small-dialog[open] { grid-template-rows: auto minmax(0, 1fr) auto; }
  .dialog-main {
    padding: var(--s5); overflow-y: auto; display: grid; gap: var(--s4); align-content: start;
    grid-template-columns: minmax(0, 1fr); scrollbar-width: thin;
  }
  .dialog-main .group { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); }
  .dialog-foot {
    display: flex; flex-wrap: wrap; justify-content: flex-end; gap: var(--s2); padding: var(--s3) var(--s5);
    border-block-start: 1px solid var(--line);
  }
  .form-end { display: flex; justify-content: flex-end; gap: var(--s2); }
  .hint.mono { font-family: var(--mono); font-size: var(--t1); overflow-wrap: anywhere; }
  textarea.input.one-line { min-block-size: 2.25rem; }

  .choices { display: grid; gap: var(--s2); grid-template-columns: repeat(auto-fit, minmax(min(100%, 12rem), 1fr)); }
  .choice { position: relative; cursor: pointer; }
  .choice input { position: absolute; inset: 0; opacity: 0; cursor: pointer; }
  .choice > span {
    display: grid; align-content: start; gap: var(--s1); padding: var(--s3); block-size: 100%;
    border: 1px solid var(--line); border-radius: var(--r2);
    background: var(--raised); font-size: var(--t3); line-height: 1.4;
  }
  .choice .hint { font-size: var(--t1); }
  .choice:hover > span { border-color: var(--edge); }
  .choice input:checked + span { border-color: var(--accent); background: var(--wash); box-shadow: inset 0 0 0 1px var(--accent); }
  .choice input:focus-visible + span { outline: 2px solid var(--accent); outline-offset: 2px; }
  .foreign .check > span { flex: 1; min-inline-size: 0; overflow-wrap: anywhere; }
  .foreign-gone { display: grid; gap: var(--s1); padding-inline-start: var(--s5); overflow-wrap: anywhere; }
  .foreign-more summary { font-size: var(--t2); color: var(--ink-2); cursor: pointer; }
  .foreign-more pre { max-block-size: 16rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }

  .palette {
    inline-size: min(38rem, 100vw - 2rem); block-size: fit-content; max-block-size: min(32rem, 100dvh - 4rem);
    margin-block: max(10dvh, 1rem) auto;
  }
  .palette[open] { grid-template-rows: auto minmax(0, 1fr); }
  .palette .field-icon { border-block-end: 1px solid var(--line); }
  .palette .field-icon .icon { inset-inline-start: var(--s4); inline-size: 1.125rem; block-size: 1.125rem; }
  .palette .input {
    border: 0; min-block-size: 3rem; padding-inline: 2.75rem var(--s4); font-size: var(--t4); background: none;
    border-radius: 0; outline: none;
  }
  .palette ul { list-style: none; overflow-y: auto; padding: var(--s2); scrollbar-width: thin; }
  .palette li {
    display: flex; align-items: center; gap: var(--s3); min-block-size: 2.375rem; padding: var(--s1) var(--s3);
    border-radius: var(--r1); font-size: var(--t3); cursor: pointer;
  }
  .palette li .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .palette li .name { flex: 1; min-inline-size: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  @media (max-width: 30rem) { .palette li:has(.hint) { display: grid; grid-template-columns: auto minmax(0, 1fr); row-gap: 0; } .palette li .hint { grid-column: 2; } }
  .palette li[aria-selected="true"] { background: var(--wash); }
  .palette mark { background: none; color: var(--accent); font-weight: 650; }
  .palette .side-note { padding: 0 var(--s5) var(--s4); }
  .keys { display: inline-flex; gap: var(--s1); }
  kbd {
    padding: 0.05rem 0.4rem; border: 1px solid var(--line); border-block-end-width: 2px; border-radius: var(--r1);
    background: var(--raised);
    font-size: var(--t1); color: var(--ink-2); white-space: nowrap;
  }
  .key-list {
    list-style: none; display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr));
    gap: 0 var(--s5); margin-block-start: var(--s2);
  }
  .key-list li {
    display: flex; justify-content: space-between; align-items: center; gap: var(--s3); min-block-size: 2rem;
    font-size: var(--t3); border-block-end: 1px solid var(--line);
  }
  .key-list li > :last-child { display: flex; gap: var(--s3); }

  .composer { position: relative; }
  .slash {
    position: absolute; inset: auto 0 calc(100% + 0.375rem); z-index: 5; list-style: none; padding: var(--s1);
    max-block-size: 45dvh; overflow-y: auto;
    border: 1px solid var(--line); border-radius: var(--r2); background: var(--raised); box-shadow: var(--shadow-up);
  }
  .slash li {
    display: flex; align-items: center; gap: var(--s3); min-block-size: 2.25rem; padding: 0 var(--s3);
    border-radius: var(--r1); font-size: var(--t3); cursor: pointer; min-inline-size: 0;
  }
  .slash code { flex: none; }
  .slash li span { min-inline-size: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--ink-2); }
  .slash li .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .slash li:hover { background: var(--hover); }
  .slash li[aria-selected="true"] { background: var(--wash); }

  .chips.wrap { flex-wrap: wrap; overflow: visible; }

  .select-bar {
    display: grid; gap: var(--s1); padding: var(--s2) var(--s3); border-block-start: 1px solid var(--line);
    background: var(--raised); font-size: var(--t2);
  }
  .select-bar > div { display: flex; align-items: center; gap: var(--s1); }
  .select-bar b { flex: 1; font-weight: 550; }

  @media (max-width: 48rem) {
    .small-dialog, .small-dialog.wide {
      inline-size: 100vw; block-size: fit-content; max-block-size: 100dvh; margin: auto 0 0;
      border-radius: var(--r3) var(--r3) 0 0; border: 1px solid var(--line);
    }
    .palette { border-radius: var(--r3); }
    .dialog-main { padding: var(--s4); }
    .dialog-foot { padding: var(--s3) var(--s4) max(var(--s3), env(safe-area-inset-bottom)); }
  }
}
@layer overrides {
  /* what is chosen is told by a background elsewhere, and here there is none */
  @media (forced-colors: active) {
    [aria-selected="true"], [aria-pressed="true"], .row[data-current="true"], .choice input:checked + span, .swatch input:checked + span {
      outline: 2px solid Highlight; outline-offset: -2px;
    }
    :is(.gauge-bar, .gauge-stack, .figures, .legend, .track) i, .swatch > span { forced-color-adjust: none; }
  }
  /* the whole session on paper, and nothing that is pressed */
  @media print {
    :root { color-scheme: light; }
    html, body, .app, .main, .scroll, .scroll > .column { display: block; height: auto; min-block-size: 0; overflow: visible; contain: none; }
    .chunk, .message { content-visibility: visible; min-block-size: 0; }
    .skip, .side, .scrim, .top-meter, .foot, .inspector, .toasts, .message-actions, .call-edits, .ask-actions, .all-bar, .aside, .code-bar .button, .handed .button { display: none; }
    .code pre, .think-text, .args dd, .diff, .found, .tree, .grid { white-space: pre-wrap; overflow: visible; max-block-size: none; }
  }
}
`)
