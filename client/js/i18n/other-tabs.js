// Texts of what is said when somebody leaves the page in the middle of something, in both languages.

yaa.define('i18n/other-tabs', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'gone.said': 'This session was deleted in another tab. A message you send here brings it back.',
    'gone.restore': 'Restore',
    'language.elsewhere': 'Another language was chosen in another tab. This page follows when you are done writing.',
    'language.follow': 'Change it now',
    'leave.run': 'If this page is closed, {n, plural, one {its run is} other {its # runs are}} stopped after a few seconds, commands too. What is there by then is kept, and can be resumed. After a reload it goes on.',
    'leave.temporary': 'If this page is closed, its temporary {n, plural, one {session is} other {sessions are}} gone.',
    'leave.queued': 'If this page is closed, {n, plural, one {a message that waits} other {# messages that wait}} for the end of a run {n, plural, one {stays in its session and is} other {stay in their sessions and are}} not sent before that is open again.',
    'leave.memory': 'This browser stores nothing here: if this page is closed, its sessions are gone.',
  },
  zh: {
    'gone.said': '这个会话已在另一个标签页中删除。在这里发送消息会恢复它。',
    'gone.restore': '恢复',
    'language.elsewhere': '已在另一个标签页中选择了其他语言。写完后，此页面可以切换过去。',
    'language.follow': '现在切换',
    'leave.run': '关闭此页面后，{n, plural, other {正在进行的 # 个运行}}会在几秒后停止，命令也会停止。届时已有的内容会保留，可以继续运行。重新加载页面则会自动继续。',
    'leave.temporary': '关闭此页面后，{n, plural, other {# 个临时会话}}将会丢失。',
    'leave.queued': '关闭此页面后，{n, plural, other {# 条等待发送的消息}}会留在会话中，重新打开会话之前不会发送。',
    'leave.memory': '此浏览器不在这里保存任何内容：关闭此页面后，会话将会丢失。',
  },
}))
