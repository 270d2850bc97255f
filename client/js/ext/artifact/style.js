// The frame in which pages written by a model are shown, beside the thread or over it.

yaa.define('ext/artifact/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .dialog.artifact[open], aside.artifact { grid-template-rows: auto minmax(0, 1fr) auto; }
  @media (min-width: 48.01rem) {
    .dialog.artifact { inline-size: min(64rem, 96vw); block-size: min(48rem, 90dvh); }
  }
  .app[data-artifact="open"] { grid-template-columns: auto minmax(0, 1fr) minmax(0, min(48rem, 46vw)); }
  .app[data-artifact="open"] > .main { grid-column: 2; }
  aside.artifact {
    display: grid; grid-template-columns: minmax(0, 1fr); grid-area: 1 / 3; min-block-size: 0; min-inline-size: 0;
    background: var(--bg); border-inline-start: 1px solid var(--line);
  }
  .artifact iframe { inline-size: 100%; block-size: 100%; border: 0; background: white; color-scheme: light; }
  .artifact > .hint { padding: var(--s2) var(--s4); }
  /* the window became narrow */
  @media (max-width: 64rem) {
    .app[data-artifact="open"] { grid-template-columns: auto minmax(0, 1fr); }
    aside.artifact { position: fixed; inset: 0; z-index: 15; }
  }
  @media (max-width: 48rem) {
    .app[data-artifact="open"] { grid-template-columns: minmax(0, 1fr); }
    .app[data-artifact="open"] > .main { grid-column: 1; }
  }
}`)
