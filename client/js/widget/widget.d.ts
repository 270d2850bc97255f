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
