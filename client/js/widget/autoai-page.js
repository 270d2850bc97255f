// The chat of client/auto-ai: index.html, which has it inside, and sidebar-demo.html, which has it at its side. A key is typed,
// or a link brings it (#code=…, #key=…), and it stays for as long as the tab does. Any page can open a link here: where it
// may have been another site, or a key is in use, the person has to press.

;(function page() {
  const { AutoAiChatWidget, serverOf } = yaa.use('widget/autoai')
  const KEPT = 'yaa.auto-ai'
  const form = /** @type {HTMLFormElement} */ (document.getElementById('sign'))
  const said = /** @type {HTMLElement} */ (document.getElementById('said'))
  const field = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (document.getElementById(id))
  const fromDisk = location.protocol === 'file:'
  /** @type {any} */
  let widget = null

  /** A tool of the page, as pages of AutoAi declare theirs. */
  const setTitle = {
    name: 'set_page_title',
    description: 'Set the title of the page the user looks at.',
    parameters: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
    fn: async (/** @type {{title?: string}} */ { title = '' }) => {
      document.title = title
      return { title }
    },
  }

  /** @returns {{server: string, key: string}} */
  function kept() {
    const first = { server: fromDisk ? 'http://127.0.0.1:12345' : serverOf(new URL('.', location.href).href), key: '' }
    try {
      return { ...first, ...JSON.parse(sessionStorage.getItem(KEPT) ?? '{}') }
    } catch {
      return first
    }
  }

  function keep() {
    try {
      sessionStorage.setItem(KEPT, JSON.stringify({ server: field('server').value, key: field('key').value }))
    } catch {
      // it is typed again on the next page
    }
  }

  /** @returns {Record<string, string>} */
  const headers = () => (field('key').value ? { Authorization: `Bearer ${field('key').value.trim()}` } : {})

  /** Whether the server knows the key; if not, why. */
  async function refusal() {
    try {
      const answer = await fetch(`${serverOf(field('server').value)}/auto-ai/v1/models`, { headers: headers() })
      if (answer.ok) return ''
      if (answer.status === 401) return field('key').value ? 'This key is not valid here.' : 'This server needs a key.'
      return `The server answers ${answer.status}.`
    } catch {
      return 'No server answers at this address.'
    }
  }

  async function connect() {
    widget?.destroy()
    widget = null
    const why = await refusal()
    form.hidden = !why
    said.textContent = why
    if (why) return
    keep()
    widget = new AutoAiChatWidget({
      container: document.getElementById('app') ?? undefined,
      baseUrl: field('server').value,
      headers,
      environmentContext: () => [`The title of the page is “${document.title}”.`],
      frontendTools: [setTitle],
    })
  }

  /** The key that the address brings, which is removed from there at once. @param {string} server @returns {Promise<string>} */
  async function brought(server) {
    const link = new URLSearchParams(location.hash.slice(1))
    const [key, code] = [link.get('key') ?? '', link.get('code')]
    if (key || code) history.replaceState(history.state, '', location.pathname + location.search)
    if (!code) return key
    const options = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }) }
    return fetch(`${serverOf(server)}/sign-in`, options).then(async (answer) => (answer.ok ? (await answer.json()).key : ''), () => '')
  }

  /** As in ui/sign-in. */
  function isOwnStep() {
    const referrer = URL.canParse(document.referrer) ? new URL(document.referrer).origin : location.origin
    return location.search !== '?from=elsewhere' && isSecureContext && !fromDisk && !globalThis.opener && referrer === location.origin
  }

  async function start() {
    const { server, key } = kept()
    const sent = await brought(server)
    const asks = sent && sent !== key && (key || !isOwnStep())
    field('server').value = server
    field('key').value = sent || key
    if (asks) said.textContent = 'A link brought this key, and another website may have opened it. Go on only if you wanted to sign in with it.'
    if (asks || !(field('key').value || !fromDisk)) form.hidden = false
    else connect()
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    connect()
  })
  start()
})()
