// The tools that come with the page. Each is off until a person switches it on in the settings; what they may see and
// do is what their description says. `ask_user` is the server's.

yaa.define('ui/builtin-tools', ['core/client-tools', 'io/clipboard', 'ui/popup', 'ui/i18n'], ({ register, gestureNeeded }, clipboard, { toast }, { t }) => {
  const SANDBOX = 'sandbox.html'
  const MAX_RUN_S = 60
  const MAX_FILE = 150_000
  const string = (/** @type {string} */ description) => ({ type: 'string', description })

  /** @param {Record<string, any>} properties @param {string[]} [required] */
  const object = (properties, required = []) => ({ type: 'object', properties, required, additionalProperties: false })

  /** @type {PageTool[]} */
  const TOOLS = [
    {
      name: 'notify',
      description: 'Show the user a short notification, also while they look elsewhere. You go on at once and are not told whether they saw it.',
      parameters: object({ text: string('One or two sentences'), title: string('A few words') }, ['text']),
      wait: false,
      enabled: () => { globalThis.Notification?.requestPermission?.() },
      run: notify,
    },
    {
      name: 'page_info',
      description: "Tell the user's local time, time zone, languages, screen and browser, as their page sees them.",
      hints: { read_only: true, idempotent: true },
      run: pageInfo,
    },
    {
      name: 'clipboard_write',
      description: "Put a text on the user's clipboard, in place of what is there. Use it only when they asked for it.",
      parameters: object({ text: string('The text, as it is to be pasted') }, ['text']),
      gesture: () => !navigator.clipboard,
      hints: { idempotent: true },
      run: copy,
    },
    {
      name: 'pick_file',
      description: 'Ask the user for a file of their device. They choose which, or none. Returns its name, type, size and, of a text, the beginning.',
      parameters: object({ why: string('What you need it for, for the user'), accept: string('Types, such as ".csv,text/plain"') }),
      gesture: true,
      timeout_s: 0,
      run: pickFile,
    },
    {
      name: 'run_javascript',
      description: 'Run JavaScript in a sandbox of the browser, without network, page or storage. An expression gives its value; otherwise use `return`. `await` works. console.log lines come back too. Nothing is kept between calls.',
      parameters: object({
        code: string('An expression, or the body of an async function'),
        timeout_s: { type: 'number', description: `Seconds until it is ended, 5 if you say nothing, at most ${MAX_RUN_S}`, exclusiveMinimum: 0, maximum: MAX_RUN_S },
      }, ['code']),
      hints: { read_only: true, idempotent: true },
      timeout_s: MAX_RUN_S + 10,
      run: runJavascript,
    },
  ]

  /** @param {{text: string, title?: string}} args */
  function notify({ text, title }) {
    const allowed = document.hidden && globalThis.Notification?.permission === 'granted'
    if (!allowed) return toast(title ? `${title}: ${text}` : text)
    const note = new Notification(title || t('app.name'), { body: text })
    note.onclick = () => { window.focus(); note.close() }
  }

  function pageInfo() {
    const now = new Date()
    const dark = matchMedia('(prefers-color-scheme: dark)').matches
    return {
      time: now.toISOString(),
      local_time: now.toLocaleString('sv'),
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      languages: navigator.languages,
      window: `${innerWidth}x${innerHeight}`,
      screen: `${screen.width}x${screen.height}`,
      colours: dark ? 'dark' : 'light',
      touch: matchMedia('(pointer: coarse)').matches,
      online: navigator.onLine,
      visible: !document.hidden,
      browser: navigator.userAgent,
    }
  }

  /** @param {{text: string}} args */
  async function copy({ text }) {
    if (await clipboard.copy(text)) return `${text.length} characters are on the clipboard`
    if (!navigator.userActivation?.isActive) throw gestureNeeded()
    throw new Error('The browser did not allow it.')
  }

  /** @param {{accept?: string}} args @param {{signal: AbortSignal}} context */
  async function pickFile({ accept }, { signal }) {
    const input = document.createElement('input')
    input.type = 'file'
    if (accept) input.accept = accept
    const file = await new Promise((resolve, reject) => {
      input.addEventListener('change', () => resolve(input.files?.[0]))
      input.addEventListener('cancel', () => resolve(null))
      signal.addEventListener('abort', () => reject(new Error('Nobody waits for it any more.')))
      input.click()
    })
    if (!file) throw new Error('The user chose no file.')
    const about = { name: file.name, type: file.type || 'unknown', size: file.size }
    const text = textOf(new Uint8Array(await file.slice(0, MAX_FILE).arrayBuffer()), file.size > MAX_FILE)
    if (text === null) return { ...about, note: 'This is not text; its content is not given.' }
    return { ...about, text, ...(file.size > MAX_FILE ? { note: `Only the first ${MAX_FILE} bytes are given.` } : {}) }
  }

  /** @param {Uint8Array} bytes @param {boolean} more are left out @returns {string | null} null for what is no UTF-8 text */
  function textOf(bytes, more) {
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: more })
      return text.includes('\0') ? null : text
    } catch {
      return null
    }
  }

  /** @param {{code: string, timeout_s?: number}} args @param {{signal: AbortSignal}} context */
  async function runJavascript({ code, timeout_s: seconds = 5 }, { signal }) {
    const frame = document.createElement('iframe')
    frame.setAttribute('sandbox', 'allow-scripts')
    frame.setAttribute('title', SANDBOX)
    frame.hidden = true
    /** @type {string[]} */ const lines = []
    try {
      const said = await spoken(frame, { code, ms: Math.min(seconds, MAX_RUN_S) * 1000 }, lines, signal)
      if (said.late) throw failed(`It ran longer than ${seconds} s and was ended.`, lines)
      if (said.error) throw failed(`${said.error.name}: ${said.error.message}`, lines, said.error.stack)
      return { result: said.result, ...(lines.length ? { console: lines } : {}) }
    } finally {
      frame.remove()
    }
  }

  /**
   * The frame's last word. It is a stranger's: whatever it is, it is only read.
   * @param {HTMLIFrameElement} frame @param {{code: string, ms: number}} job @param {string[]} lines filled with what it prints
   * @param {AbortSignal} signal @returns {Promise<any>}
   */
  function spoken(frame, job, lines, signal) {
    const over = new AbortController()
    return new Promise((resolve, reject) => {
      const dead = setTimeout(() => reject(failed('The sandbox did not answer.', lines)), job.ms + 3000)
      over.signal.addEventListener('abort', () => clearTimeout(dead))
      signal.addEventListener('abort', () => reject(failed('It was stopped.', lines)), { signal: over.signal })
      addEventListener('message', ({ source, data }) => {
        if (!frame.contentWindow || source !== frame.contentWindow || !data) return
        if (data.ready) frame.contentWindow.postMessage(job, '*')
        else if ('line' in data) lines.push(String(data.line))
        else resolve(data)
      }, { signal: over.signal })
      frame.src = SANDBOX
      document.body.append(frame)
    }).finally(() => over.abort())
  }

  /** @param {string} message @param {string[]} lines @param {string} [stack] */
  function failed(message, lines, stack) {
    const content = { error: message, ...(stack ? { stack } : {}), ...(lines.length ? { console: lines } : {}) }
    return Object.assign(new Error(message), { content })
  }

  for (const tool of TOOLS) {
    register({ ...tool, about: () => t(`page.${tool.name}`), label: () => t(tool.name === 'pick_file' ? 'page.choose' : tool.name === 'clipboard_write' ? 'page.copy' : 'page.run') })
  }
  return {}
})
