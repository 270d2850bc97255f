// The chat for pages that were written for AutoAi's: import { AutoAiChatWidget } from '/auto-ai/autoai-chat.js'. The only module
// of this folder, since pages import it; index.html and sidebar-demo.html name the same scripts, and so work from disk.

import '../js/kernel.js'
import '../js/core/canonical-json.js'
import '../js/core/crc32.js'
import '../js/core/fold.js'
import '../js/core/message-format.js'
import '../js/core/ids.js'
import '../js/core/markdown-blocks.js'
import '../js/core/markdown-inline.js'
import '../js/core/markdown-links.js'
import '../js/core/markdown-nodes.js'
import '../js/core/markdown-reconcile.js'
import '../js/core/markdown.js'
import '../js/core/patch.js'
import '../js/core/session.js'
import '../js/core/typed-answer.js'
import '../js/core/sse.js'
import '../js/core/safe-urls.js'
import '../js/io/api.js'
import '../js/io/run-stream.js'
import '../js/widget/texts.js'
import '../js/widget/style.js'
import '../js/widget/dom.js'
import '../js/widget/interrupt-cards.js'
import '../js/widget/session.js'
import '../js/widget/view.js'
import '../js/widget/autoai.js'

export const { AutoAiChatWidget } = yaa.use('widget/autoai')

/** The page says itself which tools it has: none of them may read cookies or storage unless it says so. @type {AutoAiTool[]} */
export const BUILTIN_FRONTEND_TOOLS = []
