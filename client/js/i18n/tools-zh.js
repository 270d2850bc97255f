// 工具调用卡片的中文文本，与卡片一起加载。

yaa.define('i18n/tools-zh', [], () => {
  return {
    'tool.more': '再显示 {n} 行',
    'tool.asJson': '显示 JSON',
    'tool.asPicture': '显示视图',
    'tool.wereEdited': '运行之前，你修改过参数。',
    'tool.repairs': '参数的自动修正',

    'shell.command': '命令',
    'shell.code': 'Python 代码',
    'shell.stderr': '标准错误',
    'shell.exit': '退出码 {code}',
    'shell.signal': '被信号 {n} 终止',
    'shell.leftOut': '输出中有 {n} {unit, select, bytes {字节} other {个字符}}没有保留，只留下开头和结尾。',
    'shell.rest': '输出的结尾',

    'diff.label': '{path} 的改动',
    'diff.count': '新增 {added} 行，删除 {removed} 行',
    'diff.created': '新文件',
    'diff.replaced': '替换了整个文件',
    'diff.places': '{n} 处',
    'diff.none': '没有任何一行改动。',
    'diff.unended': ' 末尾没有换行',
    'diff.gap': '{n} 行未改动',

    'search.title': '搜索结果',
    'found.count': '{n} 处匹配，搜索了 {files} 个文件',
    'search.none': '没有找到。',
    'search.incomplete': '可能还有更多：搜索到达上限后停止。',
    'search.passedOver': '因过大或不是文本而跳过：{n}。',
    'tree.title': '文件',
    'tree.count': '{n} 项',
    'tree.none': '文件夹是空的。',
    'tree.incomplete': '列表到此为止，文件夹里还有更多。',
    'table.title': '表格',
    'table.count': '{n} 行',
    'file.lines': '第 {from}–{to} 行，共 {all} 行',
    'page.text': '网页文本',
    'page.chars': '{n} 个字符',
    'page.more': '网页从第 {n} 个字符处继续。',

    'attached.title': '附件',
    'attached.save': '保存',
    'attached.unnamed': '附件',
    'attached.elsewhere': '在服务器上的会话文件夹里',

    'breach.text': '到达上限后被停止。{name}（{limit}）：允许 {allowed}，实际 {observed}。',
    'breach.wall_s': '时间（秒）',
    'breach.cpu_s': '处理器时间（秒）',
    'breach.memory_mb': '内存（MB）',
    'breach.file_mb': '单个文件大小（MB）',
    'breach.disk_mb': '磁盘空间（MB）',
    'breach.output_kb': '输出（KB）',
    'breach.processes': '进程数',
    'breach.open_files': '打开的文件数',

    'unit.bytes': '{n} B',
    'unit.kb': '{n} KB',
    'unit.mb': '{n} MB',
  }
})
