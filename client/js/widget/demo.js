// What a page does to have yaa on it: client/widget-demo.html.

;(function demo() {
  const field = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (document.getElementById(id))
  const heading = /** @type {HTMLElement} */ (document.querySelector('h1'))
  /** @type {any[]} */
  let widgets = []

  /** A tool of the page: the model may call it, and it runs here. */
  const setHeading = {
    name: 'set_heading',
    description: 'Set the heading of the page the user looks at.',
    parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run({ text = '' }) {
      heading.textContent = text
      return `The heading is now “${text}”.`
    },
  }

  function connect() {
    for (const widget of widgets) widget.destroy()
    const options = {
      server: field('server').value.replace(/\/+$/, ''),
      headers: () => (field('key').value ? { Authorization: `Bearer ${field('key').value}` } : {}),
      environment: () => [`The heading of the page is “${heading.textContent}”.`],
      tools: [setHeading],
    }
    widgets = [new YaaWidget(options), new YaaWidget({ ...options, container: '#inside', title: 'Inside the page' })]
  }

  field('server').value = location.protocol === 'file:' ? 'http://127.0.0.1:12345' : location.origin
  document.getElementById('sign')?.addEventListener('submit', (event) => {
    event.preventDefault()
    connect()
  })
  connect()
})()
