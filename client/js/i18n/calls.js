// Texts of the cards of calls; they come with the first of them.

yaa.define('i18n/calls', ['ui/i18n'], ({ extend }) => {
  const en = {
    'ask.rule': 'Allow “{what}”',
    'ask.ruleHint': 'In this session, calls that match {pattern} run without asking.',
    'ask.edits_run': 'Allow all edits here',
    'ask.looks': 'Allow looking and edits here',
    'ask.copy_runs': 'Allow all commands here',
    'tool.stopped': 'stopped after {time}{n, plural, =0 {} one {, # line} other {, # lines}}',
  }
  const zh = {
    'ask.rule': '允许“{what}”',
    'ask.ruleHint': '在此会话中，符合 {pattern} 的调用不再询问。',
    'ask.edits_run': '此处的编辑全部允许',
    'ask.looks': '此处的查看和编辑全部允许',
    'ask.copy_runs': '此处的命令全部允许',
    'tool.stopped': '{time} 后停止{n, plural, =0 {} other {，# 行}}',
  }
  extend({ en, zh })
  return { en, zh }
})
