/** Settings of a session as fields. */

/** One key of `session.config`, as it is edited: `rest` for what its schema leaves open, `none` where null may stand. */
interface ConfigField {
  pointer: string; parts: string[]; schema: Json; rest: boolean; none: boolean; group: string
  kind: 'choice' | 'flag' | 'number' | 'text' | 'template' | 'secret' | 'lines' | 'json'
}

interface Modules {
  'ext/config/form': {
    fields(schema: Json): ConfigField[]
    groups(schema: Json): { name: string; fields: ConfigField[] }[]
    read(config: Json, field: ConfigField): Json
    change(config: Json, field: ConfigField, value: Json): Json
    prune(value: Json): Json
    parse(raw: string, field: ConfigField): { value?: Json; problem?: string; facts?: Json }
    formatValue(value: Json, field: ConfigField): string
    preview(template: string, known: string[], facts: Record<string, string>): { text: string; unknown: string[] }
    settingsFile(values: Record<string, Json>, config: Json, prompts: Json[]): Json
    readSettingsFile(value: Json): { config: Json; page: Record<string, Json>; prompts: Json[]; risks: { provider: Json; allowed: string[]; tool: Json; prompt: Json } } | null
  }
}
