// yaa on any web page. One script tag, then:
//
//   const widget = new YaaWidget({ server: 'https://agents.example.org', headers: { Authorization: 'Bearer …' } })
//
// Without `container` it is a button in the corner that opens a panel at the side; with one it fills that element. What it
// needs it loads from the folder of this script. Options and methods: docs/howto/embed.md.

globalThis.YaaWidget = (function widget() {
  const FOLDER = new URL('.', /** @type {HTMLScriptElement | null} */ (document.currentScript)?.src || location.href).href
  const SCRIPTS = [
    'kernel', 'core/canonical-json', 'core/crc32', 'core/fold', 'core/message-format', 'core/ids', 'core/markdown-blocks', 'core/markdown-inline', 'core/markdown-links',
    'core/markdown-nodes', 'core/markdown-reconcile', 'core/markdown', 'core/patch', 'core/session', 'core/typed-answer', 'core/sse', 'core/safe-urls', 'io/api', 'io/run-stream',
    'widget/texts', 'widget/style', 'widget/dom', 'widget/interrupt-cards', 'widget/session', 'widget/view',
  ]
  /** @type {Promise<void> | null} */
  let loading = null

  /** A page may have the scripts already: with a strict policy they are tags of its own. */
  function load() {
    loading ??= document.querySelector('script[src$="widget/view.js"]') ? Promise.resolve() : inOrder()
    return loading
  }

  async function inOrder() {
    await Promise.all(SCRIPTS.map((name) => new Promise((resolve, reject) => {
      const script = document.createElement('script')
      script.async = false // the kernel runs first
      script.addEventListener('load', () => resolve(undefined))
      script.addEventListener('error', () => reject(new Error(`${name}.js could not be loaded from ${FOLDER}`)))
      script.src = `${FOLDER}js/${name}.js`
      document.head.append(script)
    })))
  }

  return class YaaWidget {
    /** @type {any} */ #view = null
    /** @type {WidgetOptions} */ #options
    #gone = false

    /** @param {WidgetOptions} [options] */
    constructor(options = {}) {
      this.#options = { ...options }
      this.#options.server ??= FOLDER.replace(/\/$/, '')
      /** Settles when it can be used; rejects where a script did not come. */
      this.ready = load().then(() => {
        if (!this.#gone) this.#view = yaa.use('widget/view').open(this.#options)
      })
    }

    /** Takes it off the page. A run that is on is stopped. */
    destroy() {
      this.#gone = true
      this.#view?.destroy()
      this.#view = null
    }

    /** @param {WidgetOptions['headers']} headers an object, or a function that is asked before each request */
    setHeaders(headers) {
      this.#options.headers = headers
    }

    /** @param {WidgetOptions['environment']} environment facts for the model: an array, or a function asked before each run */
    setEnvironment(environment) {
      this.#options.environment = environment
    }

    /** A new session; the old one is gone from the page. */
    reset() {
      this.#view?.reset()
    }
  }
})()
