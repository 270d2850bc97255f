// The form of every setting of a session.

yaa.define('css/config-form', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .panel .field-icon .input { padding-inline-start: 2.25rem; }
  .grid-2 { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 12rem), 1fr)); gap: var(--s4); align-items: start; }
  .config-groups { display: grid; gap: var(--s2); grid-template-columns: minmax(0, 1fr); }
  .config-group { border: 1px solid var(--line); border-radius: var(--r2); background: var(--bg); }
  .config-group > summary {
    display: flex; align-items: center; gap: var(--s2); min-block-size: 2.75rem; padding-inline: var(--s3); cursor: pointer;
    font-size: var(--t3); font-weight: 550; list-style: none; border-radius: var(--r2);
  }
  .config-group > summary::-webkit-details-marker { display: none; }
  .config-group > summary:hover { background: var(--hover); }
  .config-group > summary > span:not(.badge) { flex: 1; }
  .config-group > summary .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); transition: rotate 0.12s; }
  .config-group[open] > summary .icon { rotate: 90deg; }
  .config-fields { display: grid; gap: var(--s5); padding: var(--s3) var(--s4) var(--s5); grid-template-columns: minmax(0, 1fr); }
  .config-field { display: grid; gap: var(--s1); grid-template-columns: minmax(0, 1fr); }
  .config-head { display: flex; align-items: center; gap: var(--s3); min-block-size: 2rem; }
  .config-head .label { flex: 1; min-inline-size: 0; overflow-wrap: anywhere; }
  .config-head .check { color: var(--ink-2); font-size: var(--t2); }
  .config-key { margin-inline-start: var(--s2); font-size: var(--t1); color: var(--ink-3); overflow-wrap: anywhere; }
  .config-standard:not([hidden]) { overflow-wrap: anywhere; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; }
  .config-field textarea.input { field-sizing: content; max-block-size: 40dvh; }
  .config-field summary { font-size: var(--t2); color: var(--ink-2); cursor: pointer; }
  .config-preview {
    margin: var(--s1) 0; padding: var(--s3); max-block-size: 16rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere;
    border-radius: var(--r1); background: var(--sunken); font-size: var(--t2);
  }
  .config-part > span { flex: 1; min-inline-size: 0; overflow-wrap: anywhere; }
}`)
