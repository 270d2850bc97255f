// Editing and the list of branches; put on the page with the first edit.

yaa.define('css/branches', ['ui/dom'], ({ css }) => css`
@layer thread {
  .message[data-editing] > :not(.words-edit, .sr-only) { display: none; }
  /* room for the outline inside the box that containment cuts at */
  .words-edit { display: grid; gap: var(--s2); padding-block: 0.25rem; }
  .words-edit textarea { field-sizing: content; min-block-size: 4rem; max-block-size: 60dvh; line-height: 1.5; }
  .words-actions { display: flex; flex-wrap: wrap; gap: var(--s2); align-items: center; }
  .words-actions .hint { flex: 1 1 10rem; }
}
@layer dialogs {
  .edit-form { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); }
  .edit-form textarea { min-block-size: 10rem; max-block-size: 50dvh; field-sizing: content; }
  .value-field { display: grid; gap: var(--s2); grid-template-columns: minmax(0, 1fr); }
  .value-field > .button { justify-self: end; position: relative; margin-block-end: calc(-1 * var(--s5)); }
  .value-field label .hint { display: none; }
  .value-field .form textarea { min-block-size: 5rem; }
  .edit-actions { display: flex; flex-wrap: wrap; gap: var(--s2); align-items: center; }
  .edit-actions .gap { flex: 1; }

  .paths { list-style: none; display: grid; gap: 1px; }
  .path-row {
    display: flex; align-items: center; gap: var(--s1); min-block-size: 2.75rem; border-radius: var(--r1);
    padding-inline: calc(var(--s2) + var(--depth, 0) * 1.25rem) var(--s1);
  }
  .path-row:hover { background: var(--hover); }
  .path-row[data-active="true"] { background: var(--wash); }
  .path-row > .icon { inline-size: 1rem; block-size: 1rem; color: var(--ink-3); }
  .path-row > .input { flex: 1; inline-size: auto; min-inline-size: 0; }
  .path-open {
    flex: 1; min-inline-size: 0; display: grid; border: 0; background: none; text-align: start; cursor: pointer;
    padding: var(--s1) var(--s2); border-radius: var(--r1); min-block-size: 2.5rem; align-content: center;
  }
  .path-open[aria-current] { cursor: default; }
  .path-title { font-size: var(--t3); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
  .path-figures { font-size: var(--t1); color: var(--ink-3); }
  .path-row [aria-pressed="true"] .icon { fill: currentColor; color: var(--ask); }
  @media (max-width: 48rem) {
    .path-row { padding-inline-start: calc(var(--s1) + var(--depth, 0) * 0.75rem); }
  }
}
`)
