/** What `new YaaWidget(options)` takes. */
interface WidgetOptions {
  /** An element or a selector to fill; without it the widget is a button in the corner. */
  container?: Element | string | null
  /** Address of the yaa server; without it the one this script came from. */
  server?: string
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>)
  environment?: string[] | (() => string[] | Promise<string[]>)
  title?: string
  language?: string
  tools?: { name: string; description?: string; parameters?: any; run: (args: any) => any }[]
}
declare var YaaWidget: any

/** A tool of a page, as AutoAi's pages declare it. */
interface AutoAiTool { name: string; description?: string; parameters?: any; fn: (args: any) => any }

/** What `new AutoAiChatWidget(options)` takes. AutoAi's `subtitle` and `healthCheckInterval` mean nothing here. */
interface AutoAiOptions {
  container?: Element | string | null
  /** Address of the server's `/auto-ai`; without it the server is at this page's origin. */
  baseUrl?: string
  headers?: WidgetOptions['headers']
  environmentContext?: WidgetOptions['environment']
  title?: string | null
  frontendTools?: AutoAiTool[]
  subtitle?: string | null
  healthCheckInterval?: number
}
