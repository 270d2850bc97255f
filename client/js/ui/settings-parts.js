// What the settings have, for their dialog and for the palette.

yaa.define('ui/settings-parts', [], () => ({
  /** The parts of each tab, in their order; the one that is called as its tab is in sight, the others are folded. */
  TABS: /** @type {Record<string, string[]>} */ ({
    model: ['model', 'providers', 'agents', 'limits', 'config'], folders: ['folders', 'keys', 'runs'],
    tools: ['mcp', 'skills', 'sandbox', 'tools'], look: ['look'], storage: ['server', 'storage'],
  }),
  /** Of the server itself: its owner alone sees them, where the page has what shows them. */
  OWNERS: ['providers', 'agents', 'folders', 'keys', 'runs', 'mcp', 'skills', 'sandbox'],
  /** @param {any} info @returns {boolean} */
  owns: (info) => info?.owner === true && yaa.parts('owner-settings').length > 0,
}))
