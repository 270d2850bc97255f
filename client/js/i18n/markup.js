// Titles of alerts and names of notes in answers, in both languages.

yaa.define('i18n/markup', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'alert.note': 'Note',
    'alert.tip': 'Tip',
    'alert.important': 'Important',
    'alert.warning': 'Warning',
    'alert.caution': 'Caution',
    'diagram.source': 'Source',
    'diagram.label': 'Diagram; its source is behind the button “Source”.',
    'note.go': 'Note {n}',
    'note.back': 'Back from note {n}',
    'image.load': 'Load image from {host}',
    'image.why': 'Not loaded by itself: its address can tell {host} what is said here.',
    'link.file': 'Open this file',
    'link.noFiles': 'The files are not at hand: the server does not answer, or has none.',
  },
  zh: {
    'alert.note': '注意',
    'alert.tip': '提示',
    'alert.important': '重要',
    'alert.warning': '警告',
    'alert.caution': '小心',
    'diagram.source': '源文本',
    'diagram.label': '图表；点击“源文本”按钮可查看其源文本。',
    'note.go': '脚注 {n}',
    'note.back': '从脚注 {n} 返回',
    'image.load': '加载来自 {host} 的图片',
    'image.why': '不会自动加载：图片地址可能向 {host} 泄露这里的内容。',
    'link.file': '打开此文件',
    'link.noFiles': '暂时无法打开文件：服务器没有应答，或不提供文件。',
  },
}))
