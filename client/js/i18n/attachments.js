// Texts of files beside a message; they come with the scripts that need them.

yaa.define('i18n/attachments', ['ui/i18n'], ({ extend }) => {
  const en = {
    'attach.label': 'Attached files',
    'attach.remove': 'Remove {name}',
    'attach.removed': 'Removed {name}.',
    'attach.many': 'At most {n} files go with a message.',
    'attach.large': '{name} is larger than {max}.',
    'attach.binary': '{name} is neither text nor an image.',
    'attach.broken': '{name} is not an image this browser can read.',
    'attach.unread': '{name} cannot be read.',
    'attach.more': '{n, plural, one {# more was} other {# more were}} left out.',
    'attach.pasted': 'pasted image',
    'attach.unplaced': 'Not sent, because a file could not be stored: {detail}',
    'attach.goesUp': 'The files go up first. The message is kept as a draft until they are there.',
    'attach.enlarge': 'Show larger',
    'attach.bytes': '{n} B',
    'attach.kilobytes': '{n} KB',
  }
  const zh = {
    'attach.label': '附件',
    'attach.remove': '移除 {name}',
    'attach.removed': '已移除 {name}。',
    'attach.many': '一条消息最多附带 {n} 个文件。',
    'attach.large': '{name} 超过了 {max}。',
    'attach.binary': '{name} 既不是文本，也不是图片。',
    'attach.broken': '{name} 不是浏览器能识别的图片。',
    'attach.unread': '无法读取 {name}。',
    'attach.more': '另有 {n} 个未添加。',
    'attach.pasted': '粘贴的图片',
    'attach.unplaced': '未发送：有文件无法保存：{detail}',
    'attach.goesUp': '正在先上传文件；上传完成前，消息会作为草稿保留。',
    'attach.enlarge': '放大显示',
    'attach.bytes': '{n} B',
    'attach.kilobytes': '{n} KB',
  }
  extend({ en, zh })
  return { en, zh }
})
