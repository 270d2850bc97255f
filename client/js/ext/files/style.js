// What files add beside the thread: the choice of a folder, names after an @, lists of files in cards.

yaa.define('ext/files/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .folder { display: inline-flex; align-items: center; gap: var(--s1); min-inline-size: 0; overflow: hidden; white-space: nowrap; text-align: start; }
  .folder > .icon { inline-size: 1rem; block-size: 1rem; flex: none; }
  .folder > span:not(.badge) { min-inline-size: 0; overflow: hidden; text-overflow: ellipsis; }
  .composer-bar .folder { flex: 0 1 auto; max-inline-size: 10rem; }
  @container composer (max-width: 27.5rem) {
    .composer-bar .folder { background-image: none; flex: none; inline-size: 2rem; padding: 0; display: grid; place-items: center; }
    .composer-bar .folder > span, .composer-bar .folder[data-none] { display: none; } /* settings add one, too */
  }
  .mode-row > span:first-child { display: flex; gap: var(--s2); align-items: center; overflow-wrap: anywhere; }
  .badge[data-mode="write"] { background: var(--ask-wash); color: var(--ask); box-shadow: inset 0 0 0 1px var(--ask-line); }
  .badge[data-mode="overlay"] { background: var(--wash); color: var(--accent); }
  .files-button { position: relative; }
  .files-button .desk-count { /* over the button, which is no wider with it */
    position: absolute; inset: -0.25rem auto auto 60%; padding: 0 0.3rem; border-radius: 999px; background: var(--wash); color: var(--accent);
    font-size: var(--t1); line-height: 1.35; font-variant-numeric: tabular-nums;
  }
  .mention bdi { flex: none; max-inline-size: 60%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .mention span bdi { max-inline-size: none; }

  .note > .review-actions { flex: none; display: flex; gap: var(--s2); margin-inline-start: auto; }
  .review-words { display: flex; flex-wrap: wrap; column-gap: var(--s2); }
  .review-lines, .part-note { font-variant-numeric: tabular-nums; }
  :is(.review-lines, .part-note) :is(ins, del) { text-decoration: none; }
  :is(.review-lines, .part-note) ins { color: var(--good); }
  :is(.review-lines, .part-note) del { color: var(--bad); }

  .file-list { list-style: none; padding: 0; display: grid; grid-template-columns: minmax(0, 1fr); }
  .file-list > li { display: flex; align-items: center; gap: var(--s2); min-block-size: 1.75rem; min-inline-size: 0; }
  .file-list .path { min-inline-size: 0; overflow-wrap: anywhere; font-family: var(--mono); font-size: var(--t2); }
  .file-list .part-note { margin-inline-start: auto; font-size: var(--t1); color: var(--ink-3); white-space: nowrap; font-variant-numeric: tabular-nums; }
  .change {
    flex: none; inline-size: 1.25rem; text-align: center; font: 600 var(--t1) / 1.25rem var(--mono); border-radius: 0.25rem; text-decoration: none; cursor: help;
    background: var(--hover); color: var(--ink-2);
  }
  .change[data-change="added"] { color: var(--good); background: light-dark(oklch(0.955 0.035 152), oklch(0.27 0.035 155)); }
  .change[data-change="deleted"] { color: var(--bad); background: light-dark(oklch(0.955 0.025 22), oklch(0.27 0.035 22)); }
  .change[data-change="modified"] { color: var(--accent); background: var(--wash); }
  .ask progress { inline-size: 100%; accent-color: var(--accent); }
}
`)
