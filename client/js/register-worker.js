// The only script of worker.html: registers the service worker of the page around it, then takes its own frame away.

navigator.serviceWorker.register('service-worker.js', { updateViaCache: 'none' })
  .catch(() => {}) // site data is forbidden, or the server wants no worker: the page works without one
  .finally(() => frameElement?.remove())
