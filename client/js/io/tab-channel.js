// Short messages between the tabs of this client. Where BroadcastChannel is missing or forbidden (no cookies), they go
// nowhere.

yaa.define('io/tab-channel', [], () => {
  /** @param {string} [name] */
  function open(name = 'yaa') {
    const channel = made(name)
    return {
      /** @param {any} message */
      send: (message) => channel?.postMessage(message),
      /** @param {(message: any) => void} callback */
      listen(callback) {
        const heard = (/** @type {MessageEvent} */ event) => callback(event.data)
        channel?.addEventListener('message', heard)
        return () => channel?.removeEventListener('message', heard)
      },
      close: () => channel?.close(),
    }
  }

  /** Where site data is forbidden Firefox refuses it. @param {string} name */
  function made(name) {
    try {
      return new BroadcastChannel(name)
    } catch {
      return null
    }
  }

  return { open }
})
