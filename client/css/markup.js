// Alerts, notes, keys, parts that are opened; and diagrams.

yaa.define('css/markup', ['ui/dom'], ({ css }) => css`
@layer thread {
  .prose [data-alert] { color: var(--ink); border-inline-start-color: var(--alert); --alert: var(--edge); }
  .prose [data-alert="tip"] { --alert: var(--good); }
  .prose :is([data-alert="important"], [data-alert="warning"]) { --alert: var(--ask); }
  .prose [data-alert="caution"] { --alert: var(--bad); }
  .alert-title { display: flex; gap: var(--s2); align-items: center; font-weight: 600; color: var(--ink-2); }
  :is([data-alert="important"], [data-alert="warning"]) > .alert-title { color: var(--ask); }
  [data-alert="tip"] > .alert-title { color: var(--good); }
  [data-alert="caution"] > .alert-title { color: var(--bad); }
  .alert-title > .icon { inline-size: 1rem; block-size: 1rem; }

  .prose kbd {
    padding: 0.05em 0.4em; border: 1px solid var(--edge); border-block-end-width: 2px; border-radius: 0.3em; background: var(--raised);
    font-family: var(--mono); font-size: 0.85em; white-space: nowrap;
  }
  .prose :is(sub, sup) { font-size: 0.75em; line-height: 0; }
  .note-ref { font-size: 0.75em; vertical-align: super; line-height: 0; }
  .note-link { border: 0; padding: 0.2em 0.15em; background: none; color: var(--accent); cursor: pointer; font: inherit; text-decoration: underline; }
  .file-link { border: 0; padding: 0; background: none; color: var(--accent); cursor: pointer; font: inherit; text-align: start; text-decoration: underline; }
  .file-link > .icon { inline-size: 1em; block-size: 1em; margin-inline-end: 0.25em; vertical-align: -0.1em; }
  .image-off {
    display: inline-flex; align-items: center; gap: var(--s2); padding: var(--s1) var(--s3); min-block-size: 2rem;
    border: 1px dashed var(--edge);
    border-radius: var(--r1); background: none; font-size: var(--t2); color: var(--ink-2); cursor: pointer;
    max-inline-size: 100%; text-align: start;
  }
  .image-off:hover { background: var(--hover); }
  .image-off .why { display: block; font-size: var(--t1); color: var(--ink-3); }
  .prose .footnote { font-size: var(--t2); color: var(--ink-2); }
  .footnote .note-label { margin-inline-end: 0.3em; }

  .prose .fold { border: 1px solid var(--line); border-radius: var(--r2); padding: var(--s2) var(--s3); }
  .prose .fold > summary { cursor: pointer; font-weight: 550; min-block-size: 1.5rem; }
  .prose .fold > summary ~ * { margin-block-start: var(--gap); }
}
`)
