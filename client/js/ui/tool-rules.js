// The tools of the server as the settings list them. Pure.

yaa.define('ui/tool-rules', [], () => {
  /** What each tool is and does without being asked. @param {any} info @returns {import('./types').ToolRule[]} */
  function toolsOf(info) {
    return (info?.tools ?? []).map((/** @type {any} */ { name, description = '', hints, policy, unavailable = '' }) => (
      { name, description, policy, readOnly: hints?.read_only === true, unavailable: unavailable.replace(/^\w+: /, '') }
    ))
  }

  return { toolsOf }
})
