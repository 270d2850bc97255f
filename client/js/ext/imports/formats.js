// What other programs export, told by what is in it.

yaa.define('ext/imports/formats', ['core/patch', 'core/message-pieces', 'ext/imports/message-trees', 'ext/imports/chat-apps'], ({ isObject }, { arrayOf }, trees, apps) => {
  /** Programs whose files are known by what is in them, and are not read yet. @type {[string, (lines: any[]) => boolean][]} */
  const UNREAD = [
    ['Claude Code', (all) => all.some((one) => typeof one.sessionId === 'string' && 'parentUuid' in one && 'cwd' in one)],
    ['Codex', (all) => all.some((one) => one.type === 'session_meta' || one.type === 'response_item')],
    ['Gemini CLI', (all) => all.some((one) => typeof one.sessionId === 'string' && arrayOf(one.messages).some(({ type }) => type === 'gemini' || type === 'user'))],
  ]
  /** By what is in it, a conversation is told from that of another program. @type {[string, (one: any) => any, (one: any) => any][]} */
  const FORMS = [
    ['chatgpt', (one) => isObject(one.mapping), trees.chatgpt],
    ['claude', (one) => Array.isArray(one.chat_messages), apps.claude],
    ['llama', (one) => isObject(one.conv) && Array.isArray(one.messages), trees.llama],
    ['openwebui', (one) => isObject((one.chat ?? one).history?.messages) || Array.isArray(one.chat?.messages), apps.openWebUi],
    ['librechat', (one) => 'conversationId' in one && Array.isArray(one.messages ?? one.messagesTree), apps.libreChat],
    ['lmstudio', (one) => Array.isArray(one.messages) && one.messages.some((/** @type {any} */ each) => Array.isArray(each?.versions)), apps.lmStudio],
  ]

  /** What lines of JSON are of pi or llama.cpp: `make` makes a session of each. @param {any[]} lines */
  function ofLines(lines) {
    if (lines[0]?.type !== 'session') return null
    const isLlama = lines.some((line) => line?.harness || line?.message?.convId)
    return isLlama ? { kind: 'llama', all: trees.llamaLines(lines), make: trees.llama } : { kind: 'pi', all: [lines], make: trees.pi }
  }

  /** @param {any} one a conversation */
  function formOf(one) {
    const form = FORMS.find(([, fits]) => fits(one))
    return form && { kind: form[0], make: form[2] }
  }

  /** The program whose files are not read yet. @param {any[]} all */
  const programOf = (all) => UNREAD.find(([, fits]) => fits(all))?.[0]

  return { ofLines, formOf, programOf }
})
