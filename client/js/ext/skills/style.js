// The dialog of skills: rows with a switch, and texts.

yaa.define('ext/skills/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .skills, .skills section { display: grid; gap: var(--s2); grid-template-columns: minmax(0, 1fr); }
  .skills { gap: var(--s4); }
  .skill-list { list-style: none; padding: 0; display: grid; gap: var(--s2); grid-template-columns: minmax(0, 1fr); }
  .skill-list > li { display: flex; flex-wrap: wrap; gap: var(--s2); align-items: start; }
  .skill-list > li > :first-child { flex: 1 1 14rem; min-inline-size: 0; overflow-wrap: anywhere; }
  .skill-list .hint { display: block; }
  .skill-list .badge { margin-inline-end: var(--s1); }
  .skill-head { display: flex; align-items: center; gap: var(--s3); overflow-wrap: anywhere; }
  .skill-text { white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 60vh; overflow: auto; padding: var(--s3); border-radius: var(--r2, 0.5rem); background: var(--hover); }
  .skills summary { padding-block: var(--s1); }
  .skill-text mark { background: var(--bad-wash); color: var(--bad); border-radius: 0.2rem; }
  .note-bad { color: var(--bad); }
}
`)
