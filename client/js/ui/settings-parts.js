// What the settings have, for their dialog and for the palette.

yaa.define('ui/settings-parts', [], () => {
  /** Of the server itself: its owner alone sees them. */
  const OWNERS = ['providers', 'agents', 'folders', 'keys', 'runs', 'mcp', 'skills', 'sandbox']
  /** Of an extension of the server that is called so. */
  const EXTENSIONS = ['agents', 'mcp', 'skills']
  /** What shows a part that may be missing. @type {Record<string, string>} */
  const SHOWN_BY = { config: 'config-form', ...Object.fromEntries(OWNERS.map((part) => [part, 'owner-settings'])) }
  /** The parts of each tab, in their order; the one that is called as its tab is in sight, the others are folded. @type {Record<string, string[]>} */
  const TABS = {
    model: ['model', 'providers', 'agents', 'limits', 'config'], folders: ['folders', 'keys', 'runs'],
    tools: ['mcp', 'skills', 'sandbox', 'tools'], look: ['look'], storage: ['server', 'storage'],
  }

  /** Is there something that shows this part, to this person? @param {string} part @param {any} info of the server */
  const offers = (part, info) => (!SHOWN_BY[part] || yaa.parts(SHOWN_BY[part]).length > 0) && ((info?.owner === true && info.settings) || !OWNERS.includes(part)) &&
    (!EXTENSIONS.includes(part) || (info?.extensions?.includes(part) ?? true)) // an older server does not say

  return { TABS, OWNERS, SHOWN_BY, offers }
})
