// Texts of the tools of this page; they come with the scripts that need them.

yaa.define('i18n/client-tools', ['ui/i18n'], ({ extend }) => {
  const en = {
    'page.title': '{tool} wants to run in this page',
    'page.running': 'It is running.',
    'page.waiting': 'It waits for you.',
    'page.click': 'The browser allows this only when you press a button.',
    'page.begun': 'It was begun, but its result was lost. Running it again could do the same thing twice.',
    'page.run': 'Run',
    'page.copy': 'Copy',
    'page.choose': 'Choose a file',
    'page.again': 'Run it again',
    'page.stop': 'Stop',
    'page.actionFailed': '{tool} did not work: {detail}',
    'page.tools': 'Tools of this page',
    'page.toolsLead': 'These run in your browser, not on the server. A model can use the ones you switch on.',
    'page.taken': 'the server has its own',
    'page.notify': 'Show you notifications',
    'page.page_info': 'Tell your local time, time zone, languages, screen and browser',
    'page.clipboard_write': 'Put text on your clipboard',
    'page.pick_file': 'Ask you for a file and read it',
    'page.run_javascript': 'Run JavaScript in a sandbox without network',
  }
  const zh = {
    'page.title': '{tool} 想在此页面中运行',
    'page.running': '正在运行。',
    'page.waiting': '正在等待你。',
    'page.click': '浏览器只允许在你按下按钮时执行此操作。',
    'page.begun': '它已经开始，但结果丢失了。再次运行可能会重复同样的操作。',
    'page.run': '运行',
    'page.copy': '复制',
    'page.choose': '选择文件',
    'page.again': '再次运行',
    'page.stop': '停止',
    'page.actionFailed': '{tool} 未能执行：{detail}',
    'page.tools': '此页面的工具',
    'page.toolsLead': '这些工具在你的浏览器中运行，而不是在服务器上。模型只能使用你开启的工具。',
    'page.taken': '服务器已有同名工具',
    'page.notify': '向你显示通知',
    'page.page_info': '告知你的本地时间、时区、语言、屏幕和浏览器',
    'page.clipboard_write': '将文本放入你的剪贴板',
    'page.pick_file': '请你选择一个文件并读取',
    'page.run_javascript': '在没有网络的沙箱中运行 JavaScript',
  }
  extend({ en, zh })
  return { en, zh }
})
