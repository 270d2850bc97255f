// One file that holds a session and the whole client: how it is put together, and how the session is taken out again
// as text, without running anything in the file.

yaa.define('ext/saved/page-file', ['core/sha256'], ({ sha256 }) => {
  const ID = 'yaa-session'
  const OPEN = `<script type="application/json" id="${ID}">`
  const CLOSE = `</${'script'}>`

  /**
   * @param {{source: string, session: Session, objects?: Record<string, string>, sprite?: string, language?: string, theme?: string, saved?: string}} given
   *   `source`: the client as one script; `objects`: contents of files by their SHA-256, in base64; `sprite`: its icons, as markup
   */
  function page({ source, session, objects = {}, sprite = '', language = 'en', theme = '', saved = '' }) {
    const script = scriptOf(source)
    const data = { format: 'yaa.page', version: 1, saved, language, theme, session, ...(Object.keys(objects).length ? { objects } : {}) }
    return [
      '<!doctype html>',
      `<html lang="${escape(language)}"><head><meta charset="utf-8">`,
      `<meta http-equiv="Content-Security-Policy" content="${policy(script)}">`,
      '<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">',
      '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark"><meta name="generator" content="yaa">',
      `<title>${escape(String(session.title || 'yaa'))}</title></head>`,
      `<body><noscript>yaa</noscript>${sprite}`,
      '<div id="app" class="app"></div>',
      '<div id="status" class="sr-only" role="status" aria-live="polite" aria-atomic="true"></div>',
      '<div id="alarm" class="sr-only" role="alert" aria-atomic="true"></div>',
      `${OPEN}${jsonText(data)}${CLOSE}`,
      `<script>${script}${CLOSE}`,
      '</body></html>\n',
    ].join('\n')
  }

  /**
   * What the parser of HTML would take for its own is written in another way; both mean the same to the script.
   * @param {string} source
   */
  function scriptOf(source) {
    const safe = source.replace(/\r\n?/g, '\n').replaceAll('<!--', '<\\x21--').replace(/<(?=\/?script)/gi, '\\x3c')
    return `\n${safe}\nyaa.use('main').main()\n`
  }

  /** Only this one script runs, and nothing is loaded; the person may connect the page to a server. @param {string} script */
  function policy(script) {
    const bytes = sha256(script).match(/../g)?.map((pair) => parseInt(pair, 16)) ?? []
    return [
      "default-src 'none'", `script-src 'sha256-${btoa(String.fromCharCode(...bytes))}'`, "style-src 'none'", 'img-src data: blob:',
      'media-src data:', 'connect-src http: https:', "form-action 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].join('; ')
  }

  /** JSON that is safe between tags, and in a script of its own. @param {any} value */
  function jsonText(value) {
    return JSON.stringify(value).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
  }

  /** @param {string} text */
  const escape = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)

  /**
   * The session in such a file, read as text; null where there is none.
   * @param {string} html @returns {any}
   */
  function extract(html) {
    const from = html.indexOf(OPEN)
    if (from < 0) return null
    const to = html.indexOf('<', from + OPEN.length)
    try {
      const data = JSON.parse(html.slice(from + OPEN.length, to))
      return data?.format === 'yaa.page' ? data : null
    } catch {
      return null
    }
  }

  return { page, extract, ID }
})
