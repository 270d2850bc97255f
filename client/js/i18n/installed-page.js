// Texts of the installed page, in both languages.

yaa.define('i18n/installed-page', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'share.label': 'Shared:',
    'share.taken': 'What was shared is in the draft. Nothing was sent.',
    'share.left': '{n, plural, one {# shared file was} other {# shared files were}} left out: too many, or too large.',
    'share.gone': 'What was shared could not be kept. Share it again, or paste it here.',
  },
  zh: {
    'share.label': '分享内容：',
    'share.taken': '分享的内容已放入草稿，尚未发送。',
    'share.left': '{n, plural, other {有 # 个分享的文件}}未收入：数量过多或过大。',
    'share.gone': '分享的内容未能保存。请重新分享，或粘贴到此处。',
  },
}))
