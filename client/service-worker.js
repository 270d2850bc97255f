// Keeps the page for when there is no server, and takes what other apps share with it. The server writes a first line,
// `self.page = {version, files}`, which says what to keep. Without that line, or once the server says that it wants no worker
// (`Yaa-Page: none`), everything kept is deleted and the worker goes. A page that does not say it is somebody else's.
//
// It answers three kinds of requests: the page itself, files of a version of the page (docs/reference/http.md), and forms of
// the share menu. All others go to the network as if it were not there. So no answer of the API is kept, and no key passes.

(() => {
  const KEPT = 'yaa-page-'
  const SHARED = 'yaa-shared'
  /** A server that has not answered by then has the page opened without it. */
  const PATIENCE_MS = 5000
  /** Of what is shared: characters, files, and bytes of all files. */
  const LIMITS = { text: 100_000, files: 10, bytes: 64 * 1024 * 1024 }
  /** A server that cannot send its page now, or a proxy in front of it. @param {number} status */
  const isAway = (status) => status === 429 || status >= 500

  const { page } = self
  const scope = self.registration.scope

  async function install() {
    if (page) await keep().catch(async (error) => {
      await caches.delete(KEPT + page.version)
      throw error
    })
    await self.skipWaiting()
  }

  /** Throws where the server has another version by now: that one's worker comes next. */
  async function keep() {
    const cache = await caches.open(KEPT + page.version)
    const index = await fetch(scope, { cache: 'no-cache' })
    if (!index.ok || index.redirected || index.headers.get('yaa-page') !== page.version) throw new Error('The page has another version')
    await cache.put(scope, index)
    await cache.addAll(page.files.map((file) => scope + file))
  }

  /** Delete what is older than the version before this one, of which pages may be open. */
  async function activate() {
    if (!page) return remove()
    const others = (await versions()).filter((name) => name !== KEPT + page.version)
    await Promise.all(others.slice(0, -1).map((name) => caches.delete(name)))
  }

  async function remove() {
    await Promise.all([...await versions(), SHARED].map((name) => caches.delete(name)))
    await self.registration.unregister()
  }

  const versions = async () => (await caches.keys()).filter((name) => name.startsWith(KEPT))

  /** @returns {((event: any) => Promise<Response>) | null} what answers a request; null leaves it to the network */
  function handlerOf({ url, method, mode, destination, headers }) {
    const [address] = url.split(/[?#]/)
    if (!page || !address.startsWith(scope) || headers.has('authorization')) return null
    const name = address.slice(scope.length)
    // not in a frame: a foreign page could have one that nobody sees
    const opens = mode === 'navigate' && destination === 'document'
    if (method === 'POST') return opens && name === 'share' ? take : null
    if (method !== 'GET') return null
    if (opens && (name === '' || name === 'index.html')) return open
    return name.startsWith('v/') ? part : null
  }

  /** The page as the server has it; where there is none, as it was kept. */
  async function open(event) {
    const { request } = event
    const kept = () => caches.match(scope, { cacheName: KEPT + page.version, ignoreVary: true })
    const coming = fetch(request)
    let late = 0
    const patience = new Promise((resolve) => { late = setTimeout(resolve, PATIENCE_MS) })
    const answer = await Promise.race([coming, patience]).catch(() => null)
    clearTimeout(late)
    if (!answer || isAway(answer.status)) return await kept() ?? answer ?? coming
    if (answer.ok && answer.headers.get('yaa-page') === 'none') event.waitUntil(remove())
    return answer
  }

  /** A file of a version never changes. */
  const part = async ({ request }) => await caches.match(request.url, { ignoreVary: true }) ?? fetch(request)

  /** Store what is shared until the page has it in a draft. The last one counts. It is never sent from here. */
  async function take({ request }) {
    const id = crypto.randomUUID()
    try {
      await store(id, await request.formData())
    } catch {
      return Response.redirect(`${scope}#shared=failed`, 303) // a broken form, or no room
    }
    return Response.redirect(`${scope}#shared=${id}`, 303)
  }

  /** @param {string} id @param {FormData} form */
  async function store(id, form) {
    await caches.delete(SHARED)
    const cache = await caches.open(SHARED)
    const texts = ['title', 'text', 'url'].map((name) => form.get(name)).filter((text) => typeof text === 'string').map((text) => text.slice(0, LIMITS.text))
    const given = form.getAll('files').filter((file) => typeof file !== 'string' && file.size)
    let room = LIMITS.bytes
    const files = given.slice(0, LIMITS.files).filter((file) => file.size <= room && (room -= file.size, true))
    const names = files.map(({ name, type }) => ({ name: name.slice(0, 200), type: type.slice(0, 100) }))
    const put = (/** @type {string} */ name, /** @type {any} */ body) => cache.put(`${scope}share/${id}/${name}`, new Response(body))
    await Promise.all(files.map((file, index) => put(String(index), file)))
    await put('form', JSON.stringify({ texts, files: names, left: given.length - files.length }))
  }

  self.addEventListener('install', (event) => event.waitUntil(install()))
  self.addEventListener('activate', (event) => event.waitUntil(activate()))
  self.addEventListener('fetch', (event) => {
    const answer = handlerOf(event.request)
    if (answer) event.respondWith(answer(event))
  })
})()
