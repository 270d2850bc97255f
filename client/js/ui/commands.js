// The registry of commands, for the palette, `/` in the composer and keys. Their work may be in scripts that are loaded
// later.

yaa.define('ui/commands', ['ui/i18n'], ({ t }) => {
  /** @typedef {import('./types').Command} Command */
  /** @typedef {import('./types').CommandContext} CommandContext */
  const APPLE = /Mac|iP(?:hone|ad|od)/.test(globalThis.navigator?.platform ?? '')
  const PAIR_MS = 1500
  /** Keys that mean something to the element they are pressed on. */
  const OWN_KEYS = 'input, textarea, select, [contenteditable], dialog, [role="menu"], [role="tablist"], [role="slider"]'

  /** @type {Map<string, Command>} */ const commands = new Map()
  /** @type {CommandContext | null} */ let context = null
  let first = { key: '', at: 0 }

  /** @param {Command} command a second one of the same id takes the place of the first @returns {() => void} takes it out again */
  function register(command) {
    commands.set(command.id, command)
    return () => { commands.delete(command.id) }
  }

  /** The app gives what commands work on. @param {CommandContext} given */
  function bind(given) {
    context = given
  }

  /** What commands work on; there since before anything could be pressed. */
  const bound = () => /** @type {CommandContext} */ (context)

  /** @param {Command} command */
  const offered = (command) => Boolean(context && (!command.when || command.when(context)))

  /** What a person can do now. @returns {Command[]} */
  function list() {
    return [...commands.values()].filter((command) => !command.hidden && offered(command))
  }

  /** Everything that has a name, now or at another time. @returns {Command[]} */
  const table = () => [...commands.values()].filter((command) => !command.hidden)

  /**
   * Run a command, once the command table is loaded; undefined when it is missing or not possible now.
   * @param {string} id @param {any[]} rest for the command @returns {Promise<any>}
   */
  async function run(id, ...rest) {
    if (!commands.has(id)) await context?.more?.()
    const command = commands.get(id)
    if (!command || !context || !offered(command)) return undefined
    return command.run(context, ...rest)
  }

  /** @param {Command} command */
  const titleOf = (command) => (typeof command.title === 'function' ? command.title() : t(command.title))

  /** @param {Command} command @returns {string[]} */
  const keysOf = (command) => [command.keys ?? []].flat()

  /**
   * The command that this key starts. `Mod+K` works anywhere; `?`, `j` and the pair `g a` only outside of fields, and
   * only if single keys are switched on in the settings: pressed by accident, they would change what is open.
   * @param {any} event a KeyboardEvent; it says when it was pressed, a busy page hears it late
   */
  function find(event) {
    const now = event.timeStamp
    const before = now - first.at < PAIR_MS ? first.key : ''
    first = { key: '', at: now }
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return null
    const strong = (APPLE ? event.metaKey : event.ctrlKey) && !event.altKey
    const by = (/** @type {string} */ keys) => [...commands.values()].find((one) => !one.hidden && keysOf(one).includes(keys) && offered(one))
    if (strong) return by(`Mod+${event.shiftKey ? 'Shift+' : ''}${event.key.toUpperCase()}`) ?? null
    if (event.ctrlKey || event.metaKey || event.altKey || event.target?.closest?.(OWN_KEYS)) return null
    if (context?.app.settings.get('keys') !== 'on' || event.key.length > 1) return null
    const found = by(`${before} ${event.key}`) ?? by(event.key)
    if (!found) first = { key: event.key, at: now }
    return found ?? null
  }

  /** @param {KeyboardEvent} event */
  function onkeydown(event) {
    const command = find(event)
    if (!command) return isText(event) ? context?.app.views?.composer.focus() : undefined
    event.preventDefault()
    run(command.id)
  }

  /** Is it a letter for the message: typed outside of any field? @param {any} event */
  function isText(event) {
    if (context?.app.settings.get('keys') === 'on') return false
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return false
    return [...event.key].length === 1 && event.key !== ' ' && !event.target?.closest?.(OWN_KEYS)
  }

  /** The keys of a command as they are printed on this machine's keyboard. @param {string} keys */
  function label(keys) {
    const mod = APPLE ? '⌘' : 'Ctrl'
    return keys.split(' ').map((one) => one.replace('Mod', mod).replaceAll('+', APPLE ? '' : '+').replace('Shift', APPLE ? '⇧' : 'Shift'))
  }

  return { register, bind, context: bound, list, table, run, find, onkeydown, titleOf, keysOf, label }
})
