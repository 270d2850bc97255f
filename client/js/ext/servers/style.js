// The list of servers, and what would be different on another one.

yaa.define('ext/servers/style', ['ui/dom'], ({ css }) => css`
@layer dialogs {
  .servers, .differences { list-style: none; display: grid; gap: var(--s1); padding: 0; }
  .servers li { display: flex; align-items: center; gap: var(--s2); min-block-size: 2.25rem; }
  .server-name { flex: 1; min-inline-size: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-family: var(--mono); font-size: var(--t3); }
  .differences li { display: flex; gap: var(--s2); align-items: baseline; }
  .differences .icon { flex: none; inline-size: 1rem; block-size: 1rem; align-self: center; color: var(--ink-3); }
  .differences [data-level="bad"] .icon { color: var(--bad); }
  .differences [data-level="warn"] .icon { color: var(--ask); }
  @media (max-width: 30rem) { .servers li { flex-wrap: wrap; } }
}`)
