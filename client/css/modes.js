// The mode picker's menu, agent and model in one field, what the server remarks on, and messages that wait.

yaa.define('css/modes', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .composer-bar :is(.mode, .permission) { flex: none; min-inline-size: 0; }
  .mode, .permission { overflow: hidden; white-space: nowrap; text-align: start; }
  .permission.wide { color: var(--accent); }
  .menu [aria-disabled=true] { opacity: 0.6; }
  .mode:disabled { opacity: 0.6; cursor: default; }
  :is(.mode, .permission) > .icon { display: none; inline-size: 1rem; block-size: 1rem; }
  @container composer (max-width: 27.5rem) {
    .composer-bar :is(.mode, .permission) { background-image: none; flex: none; inline-size: 2rem; padding: 0; display: grid; place-items: center; }
    :is(.mode, .permission) > .icon { display: block; }
    :is(.mode, .permission) > span { display: none; }
  }
  .composer-bar .pair { display: none; }
  @container composer (max-width: 27.5rem) {
    .composer-bar:has(> .pair:not([hidden])) > .select:not(.pair, .folder, .permission) { display: none; }
    .composer-bar .pair:not([hidden]) { display: block; flex: 0 1 auto; min-inline-size: 5rem; }
  }
  @media (hover: none) and (pointer: coarse) {
    .composer-bar:has(> .pair:not([hidden])) > .select:not(.pair, .folder, .permission) { display: none; }
    .composer-bar .pair:not([hidden]) { display: block; flex: 0 1 auto; }
  }
  .mode-row { display: grid; text-align: start; }
  .menu [role="menuitemradio"] { align-items: start; max-inline-size: 22rem; padding-block: var(--s1); white-space: normal; }
  .menu [role="menuitemradio"] > .icon { margin-block-start: 0.1875rem; }
  .warnings { flex-wrap: nowrap; }
  .warnings:has(> details) { align-items: start; }
  .warnings > details { flex: 1; min-inline-size: 0; }
  .warnings summary { display: flex; gap: var(--s2); align-items: center; min-block-size: 1.75rem; cursor: pointer; list-style: none; }
  .warnings summary::-webkit-details-marker { display: none; }
  .warnings [open] > summary .chevron { rotate: 90deg; }
  .warnings ul { padding: var(--s1) 0 var(--s1) 2.5rem; display: grid; gap: var(--s1); overflow-wrap: anywhere; }
  .queue-item { flex-wrap: nowrap; }
  .queue-item > .input { flex: 1; min-inline-size: 0; field-sizing: content; }
  .queue-words {
    flex: 1; min-inline-size: 0; border: 0; background: none; padding: var(--s1) 0; text-align: start; cursor: text; color: var(--ink);
    white-space: nowrap; overflow: hidden; text-overflow: ellipsis; font-size: var(--t3);
  }
}
`)
