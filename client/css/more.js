// What comes with the commands: small dialogs, the palette, selecting sessions.

yaa.define('css/more', ['ui/h'], ({ css }) => css`
@layer dialogs {
  .small-dialog { inline-size: min(30rem, 100vw - 2rem); block-size: fit-content; max-block-size: calc(100dvh - 2rem); }
  .small-dialog.wide { inline-size: min(46rem, 100vw - 2rem); }
  .small-dialog[open] { grid-template-rows: auto minmax(0, 1fr) auto; }
  .dialog-main { padding: var(--s5); overflow-y: auto; display: grid; gap: var(--s4); align-content: start; grid-template-columns: minmax(0, 1fr); scrollbar-width: thin; }
  .dialog-main .group { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); }
  .dialog-foot {
    display: flex; flex-wrap: wrap; justify-content: flex-end; gap: var(--s2); padding: var(--s3) var(--s5); border-block-start: 1px solid var(--line);
  }
  .chips.wrap { flex-wrap: wrap; overflow: visible; }

  .select-bar {
    display: grid; gap: var(--s1); padding: var(--s2) var(--s3); border-block-start: 1px solid var(--line); background: var(--raised); font-size: var(--t2);
  }
  .select-bar > div { display: flex; align-items: center; gap: var(--s1); }
  .select-bar b { flex: 1; font-weight: 550; }

  @media (max-width: 48rem) {
    .small-dialog, .small-dialog.wide {
      inline-size: 100vw; block-size: fit-content; max-block-size: 100dvh; margin: auto 0 0; border-radius: var(--r3) var(--r3) 0 0; border: 1px solid var(--line);
    }
    .dialog-main { padding: var(--s4); }
    .dialog-foot { padding: var(--s3) var(--s4) max(var(--s3), env(safe-area-inset-bottom)); }
  }
}
`)
