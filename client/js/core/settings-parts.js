// What the settings have, for their dialog and for the palette. Pure.

yaa.define('core/settings-parts', [], () => ({
  /** The parts of each tab, in their order; the one that is called as its tab is in sight, the others are folded. */
  TABS: /** @type {Record<string, string[]>} */ ({
    model: ['model', 'providers', 'agents', 'limits', 'config'], folders: ['folders', 'keys', 'runs'],
    tools: ['mcp', 'skills', 'sandbox', 'tools'], look: ['look'], storage: ['server', 'storage'],
  }),
  /** Of the server itself: its owner alone sees them. */
  OWNERS: ['providers', 'agents', 'folders', 'keys', 'runs', 'mcp', 'skills', 'sandbox'],
}))
