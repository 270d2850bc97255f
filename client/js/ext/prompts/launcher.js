// The commands of the prompt library.

yaa.define('ext/prompts/launcher', ['ui/commands', 'ext/prompts/library'], ({ register }, { open, saveFromComposer }) => {
  function start() {
    register({ id: 'prompts', title: 'prompts.title', icon: 'book', keys: 'p', slash: 'prompts', run: open })
    register({ id: 'prompts.keep', title: 'prompts.keep', icon: 'book', when: ({ app }) => Boolean(app.views.composer.read().trim()), run: saveFromComposer })
  }

  return { start }
})
