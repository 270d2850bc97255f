// Texts of finding, in both languages.

yaa.define('ext/search/texts', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'search.count': '{n, plural, =0 {Nothing found} one {# session} other {# sessions}}',
    'search.more': 'Show {n} more',
    'search.branch': 'other branch',
    'find.label': 'Find in this session',
    'find.next': 'Next match',
    'find.previous': 'Previous match',
    'find.close': 'Close',
    'find.found': '{n, plural, =0 {nothing found} one {# message} other {# messages}}',
    'find.at': '{n} of {of}',
  },
  zh: {
    'search.count': '{n, plural, =0 {没有找到} other {找到 # 个会话}}',
    'search.more': '再显示 {n} 个',
    'search.branch': '其他分支',
    'find.label': '在此会话中查找',
    'find.next': '下一处',
    'find.previous': '上一处',
    'find.close': '关闭',
    'find.found': '{n, plural, =0 {没有找到} other {# 条消息}}',
    'find.at': '第 {n} 条，共 {of} 条',
  },
}))
