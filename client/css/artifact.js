// The frame in which pages written by a model are shown. Loaded with js/ui/artifact.js.

yaa.define('css/artifact', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .dialog.artifact[open] { grid-template-rows: auto minmax(0, 1fr) auto; }
  @media (min-width: 48.01rem) {
    .dialog.artifact { inline-size: min(64rem, 96vw); block-size: min(48rem, 90dvh); }
  }
  .dialog.artifact iframe { inline-size: 100%; block-size: 100%; border: 0; background: white; color-scheme: light; }
  .dialog.artifact .hint { padding: var(--s2) var(--s4); }
}`)
