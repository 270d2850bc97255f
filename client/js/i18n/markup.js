// Titles of alerts and names of notes in answers, in both languages.

yaa.define('i18n/markup', ['ui/i18n'], ({ extend }) => {
  const en = {
    'alert.note': 'Note',
    'alert.tip': 'Tip',
    'alert.important': 'Important',
    'alert.warning': 'Warning',
    'alert.caution': 'Caution',
    'diagram.source': 'Source',
    'diagram.label': 'Diagram; its source is behind the button “Source”.',
    'note.go': 'Note {n}',
    'note.back': 'Back from note {n}',
  }
  const zh = {
    'alert.note': '注意',
    'alert.tip': '提示',
    'alert.important': '重要',
    'alert.warning': '警告',
    'alert.caution': '小心',
    'diagram.source': '源文本',
    'diagram.label': '图表；点击“源文本”按钮可查看其源文本。',
    'note.go': '脚注 {n}',
    'note.back': '从脚注 {n} 返回',
  }
  extend({ en, zh })
  return { en, zh }
})
