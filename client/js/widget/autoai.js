// The widget under the name and with the options that AutoAi's pages use: client/auto-ai/autoai-chat.js.

yaa.define('widget/autoai', ['widget/view'], (views) => {
  /** Where the server is: AutoAi's addresses begin with the folder of these files. @param {string} baseUrl */
  function serverOf(baseUrl) {
    const url = new URL(baseUrl || '/', location.href)
    return `${url.origin}${url.pathname}`.replace(/\/(auto-ai\/?)?$/, '')
  }

  /** @param {any} tool */
  const isTool = (tool) => Boolean(tool?.name) && typeof tool.fn === 'function'

  class AutoAiChatWidget {
    /** @type {any} */ #view
    /** @type {WidgetOptions} */ #options

    /** @param {AutoAiOptions} [options] without `container` it is a button in the corner and a panel at the side */
    constructor({ container, baseUrl = '', headers = {}, environmentContext = [], title, frontendTools = [] } = {}) {
      this.#options = { container, server: serverOf(baseUrl), headers, environment: environmentContext, ...(title ? { title } : {}), tools: [] }
      this.registerFrontendTools(frontendTools)
      this.#view = views.open(this.#options)
    }

    /** Tools of the page, from the next message on; one with the name of an earlier one takes its place. @param {AutoAiTool[]} tools */
    registerFrontendTools(tools) {
      const added = tools.filter(isTool).map(({ fn, ...about }) => ({ ...about, run: fn }))
      const names = new Set(added.map(({ name }) => name))
      this.#options.tools = [...(this.#options.tools ?? []).filter(({ name }) => !names.has(name)), ...added]
    }

    /** @param {WidgetOptions['environment']} context facts for the model: an array, or a function asked before each run */
    setEnvironmentContext(context) {
      this.#options.environment = context
    }

    /** The facts as they are now: an array, or a promise of one where the page's function gives that. */
    getEnvironmentContext() {
      const { environment } = this.#options
      return typeof environment === 'function' ? environment() : environment
    }

    /** Headers that are sent beside those there are. @param {Record<string, string>} headers */
    setHeaders(headers) {
      const before = this.#options.headers
      this.#options.headers = async () => ({ ...(typeof before === 'function' ? await before() : before), ...headers })
    }

    openSidebar() {
      this.#view.show(true)
    }

    closeSidebar() {
      this.#view.show(false)
    }

    /** Takes it off the page. A run that is on is stopped. */
    destroy() {
      this.#view.destroy()
    }
  }

  return { AutoAiChatWidget, serverOf }
})
