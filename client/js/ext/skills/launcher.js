// The commands of skills: their dialog, and saving a session as one. The dialog comes when it is opened.

yaa.define('ext/skills/launcher', ['ui/i18n', 'ui/commands', 'ui/popup', 'ext/skills/texts'], ({ t }, commands, { toast }) => {
  /** @typedef {import('../../ui/types').CommandContext} CommandContext */

  /** @param {CommandContext} context */
  function start(context) {
    const { app } = context
    const tools = () => (app.server.info()?.tools ?? []).map((/** @type {{name: string}} */ { name }) => name)
    commands.register({ id: 'skills', title: 'skills.title', icon: 'spark', keys: 'g k', slash: 'skills', run: () => open(context) })
    commands.register({
      id: 'skills.save', title: 'skills.save', icon: 'spark', slash: 'skill-save',
      when: () => app.current.session.messages.length > 0 && tools().includes('skill_save'),
      run: () => ask(context),
    })
    context.actions.draw()
  }

  /** @param {CommandContext} context */
  async function open(context) {
    try {
      await yaa.load('skills-panel')
      yaa.use('ext/skills/panel').openSkills(context, () => ask(context))
    } catch (error) {
      toast(t('skills.failed', { detail: String(/** @type {any} */ (error)?.message ?? error) }), { bad: true })
    }
  }

  /** The model writes the skill, and its call asks: the person sends the words. @param {CommandContext} context */
  function ask({ app }) {
    app.views.composer.write(t('skills.ask'))
    app.views.composer.focus()
  }

  return { start }
})
