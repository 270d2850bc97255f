// Texts of the mode picker and of what the server remarks on; they come with the scripts that need them.

yaa.define('i18n/modes', ['ui/i18n'], ({ extend, t }) => {
  const en = {
    'mode.label': 'Mode',
    'mode.is': 'Mode: {name}. {about}',
    'mode.choose': 'Choose how tools are used',
    'mode.agent': 'As the agent says',
    'mode.agentNow': 'Now: {name}',
    'mode.busy': 'A run keeps the mode it began with.',
    'mode.free': 'As needed',
    'mode.free.about': 'Any number of tools, round after round.',
    'mode.plain': 'Plain',
    'mode.plain.about': 'One tool at most, then the answer.',
    'mode.react': 'Step by step',
    'mode.react.about': 'One tool at a time: think, act, look.',
    'mode.plan_execute': 'With a plan',
    'mode.plan_execute.about': 'A plan that is kept; tools strictly one after another.',
    'agent.default.about': 'Does what it is asked, with every tool there is.',
    'agent.coder.about': 'Reads, writes and runs code in the session\'s folder.',
    'agent.planner.about': 'Makes a plan first, then works through it task by task.',
    'agent.researcher.about': 'Finds things out on the web and in files, with sources; changes nothing.',
    'warn.lead': '{n, plural, one {The server has a remark about this session.} other {The server has # remarks about this session.}}',
    'warn.version': 'This page is of version {page}, the server of {server}. Load it again from the server.',
    'warn.placeholder': 'The template “{section}” names {placeholders}, which means nothing and stays as it is. Known: {known}.',
    'warn.section': '“{section}” is no section of the prompt and is left out. There are: {known}.',
    'warn.cut': 'The model counted {counted} tokens of the about {sent} that it was sent: what is too long for it seems to be dropped. Give it a larger context (Ollama: OLLAMA_CONTEXT_LENGTH), or set max_context to what it has.',
    'warn.home': 'The last run was cut on a server that shares no records with this one: a call that was running there may run again, or you are asked about it.',
    'warn.agent': 'The agent “{agent}” comes with this session and is not one of the server’s, so it cannot allow more than the server does. Left out: {left_out}.',
    'warn.key': '“{key}” in the settings of this session means nothing here. “{nearest}” is nearest.',
    'warn.skillChanged': 'The skill “{skill}” has changed since this session loaded it. The session keeps its own; see Skills.',
    'warn.skillsLeftOut': 'Only the last {most} skills that this session used were compared with those of this server; {count} earlier ones stay as the session has them. Begin a new session to have all as they are now.',
    'warn.skillMissing': 'This server has no skill “{skill}”. The run goes on with the text in the session.',
    'warn.close': 'Dismiss',
  }
  const zh = {
    'mode.label': '模式',
    'mode.is': '模式：{name}。{about}',
    'mode.choose': '选择工具的使用方式',
    'mode.agent': '由智能体决定',
    'mode.agentNow': '当前：{name}',
    'mode.busy': '运行中的会话保持开始时的模式。',
    'mode.free': '按需使用',
    'mode.free.about': '每轮可用任意多个工具，轮数不限。',
    'mode.plain': '直接回答',
    'mode.plain.about': '最多使用一个工具，然后回答。',
    'mode.react': '逐步进行',
    'mode.react.about': '每次只用一个工具：思考、行动、观察。',
    'mode.plan_execute': '按计划执行',
    'mode.plan_execute.about': '先定计划并遵照执行；工具严格逐个运行。',
    'agent.default.about': '使用所有工具，完成交给它的事。',
    'agent.coder.about': '在会话的文件夹中阅读、编写和运行代码。',
    'agent.planner.about': '先制定计划，再逐项完成。',
    'agent.researcher.about': '在网络和文件中查找并给出来源；不做任何改动。',
    'warn.lead': '{n, plural, other {服务器对本会话有 # 条提示。}}',
    'warn.version': '本页面的版本是 {page}，服务器的版本是 {server}。请从服务器重新加载页面。',
    'warn.placeholder': '模板“{section}”中的 {placeholders} 没有含义，会原样保留。可用的有：{known}。',
    'warn.section': '“{section}”不是提示词的组成部分，会被忽略。可用的有：{known}。',
    'warn.cut': '约发送了 {sent} 个 token，模型只计入 {counted} 个：过长的部分似乎被丢弃了。请为模型设置更大的上下文（Ollama：OLLAMA_CONTEXT_LENGTH），或把 max_context 设为其实际大小。',
    'warn.home': '上一次运行中断于另一台服务器，它与本服务器不共享记录：当时正在运行的调用可能会再次运行，或会先询问你。',
    'warn.agent': '智能体“{agent}”来自本会话，服务器上并没有它，因此它不能比服务器允许得更多。已忽略：{left_out}。',
    'warn.key': '此会话的设置“{key}”在这里没有含义。最接近的是“{nearest}”。',
    'warn.skillChanged': '技能“{skill}”在本会话加载之后有改动。会话保留原来的版本；见“技能”。',
    'warn.skillsLeftOut': '只比较了此会话最后使用的 {most} 个技能与服务器上的版本；更早的 {count} 个保持会话中的内容。要全部使用当前版本，请新建会话。',
    'warn.skillMissing': '此服务器没有技能“{skill}”。运行会继续使用会话中的文本。',
    'warn.close': '知道了',
  }
  extend({ en, zh })

  /** What an agent is for: the server says it in English, of its own agents it is said here too. @param {string} said */
  function aboutOf(said) {
    const key = Object.entries(en).find(([key, words]) => key.startsWith('agent.') && words === said)?.[0]
    return key ? t(key) : said
  }

  return { aboutOf }
})
