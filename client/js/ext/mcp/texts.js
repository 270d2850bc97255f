// Texts of resources and prompts of MCP servers.

yaa.define('ext/mcp/texts', ['ui/i18n'], ({ extend }) => extend({
  en: {
    'mcp.reading': 'Reading {name} …',
    'mcp.failed': '{name} could not be used: {why}',
    'mcp.large': '{name} is larger than {max} kB.',
    'mcp.binary': '{name} is neither a text nor a picture ({type}).',
    'mcp.follows': 'The picture is in the next part.',
    'mcp.read': 'Read',
    'mcp.insert': 'Insert',
    'mcp.required': '{name} (needed)',
    'mcp.of': 'Prompt of {server}',
    'mcp.user': 'User:',
    'mcp.assistant': 'Assistant:',
  },
  zh: {
    'mcp.reading': '正在读取 {name} …',
    'mcp.failed': '无法使用 {name}：{why}',
    'mcp.large': '{name} 超过 {max} kB。',
    'mcp.binary': '{name} 既不是文本也不是图片（{type}）。',
    'mcp.follows': '图片在下一部分。',
    'mcp.read': '读取',
    'mcp.insert': '插入',
    'mcp.required': '{name}（必填）',
    'mcp.of': '{server} 的提示词',
    'mcp.user': '用户：',
    'mcp.assistant': '助手：',
  },
}))
